#include "cli/run.hpp"

int main(int count, char** arguments) { return trunkline::cli::run(count, arguments); }
