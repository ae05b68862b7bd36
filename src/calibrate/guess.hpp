// A platform for results whose user names none: no more than what the results themselves say of their machine.
#pragma once

#include <string>
#include <vector>

#include "measure/result.hpp"
#include "topology/platform.hpp"

namespace trunkline::calibrate {

// The ready-made node with the GPUs that the first result lists (or that GPU in a node without links), a local disk and a line whose
// rates stand for nothing but the place of what was measured. What was taken is said in the platform's `assumed`. Network cards are
// not in it: no result says how many a node has.
topology::Platform platform_of(const std::vector<measure::Measurement>& results);

}  // namespace trunkline::calibrate
