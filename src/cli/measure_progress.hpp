// What a person sees of a running measurement: on a terminal one line that is rewritten, with the time left; elsewhere a line
// for each probe that ended. All of it on standard error.
#pragma once

#include <memory>

#include "cli/output.hpp"
#include "measure/runner.hpp"

namespace trunkline::cli {

std::unique_ptr<measure::Observer> measure_progress(const Output& output);

}  // namespace trunkline::cli
