// The backends that measure this machine, in the order in which their probes run.
#pragma once

#include <vector>

#include "measure/probe.hpp"

namespace trunkline::cli {

const std::vector<measure::Backend>& machine_backends();

}  // namespace trunkline::cli
