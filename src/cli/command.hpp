// What a command is: a name, what it answers, its options, and what it does.
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "cli/output.hpp"
#include "report/context.hpp"

namespace trunkline::cli {

// What a running command knows about its call.
struct Session {
  report::Context context;
  Output& output;
};

// Does the work and returns the exit status where it went well.
using Action = std::function<Result<int>(Session&)>;

struct Example {
  std::string line, shows;
};

struct Command {
  std::string name;
  std::string arguments;  // as the usage line shows them: "JOB --platform FILE…"
  std::string answers;    // the question it answers, one line
  std::vector<Example> examples;
  std::string notes;       // below the options; empty = none
  bool has_output = true;  // takes --json, -o and --color
  bool has_yaml = false;   // -o takes .yaml as well

  // Adds options to the parser's subcommand and returns what to do after parsing. Nothing is marked as required there: the
  // action says itself what is missing, so that a misspelt option is reported before the option it was meant to be.
  std::function<Action(CLI::App&)> declare;
};

// Every command in the order of `trunkline --help` (commands.cpp).
const std::vector<Command>& commands();

// An error of the command line: what was found, what to do next.
tl::unexpected<Error> usage_error(std::string message, std::string hint);

}  // namespace trunkline::cli
