// What nccl-tests' flags say. Internal; needs no CUDA.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "measure/settings.hpp"

namespace trunkline::backends::nccl {

std::vector<measure::Option> options();

// "8", "32M", "1G" as nccl-tests reads them (K, M, G are binary there), or a size with a unit.
Result<Bytes> size_from(const std::string& text, const std::string& option);

// The sizes that -b, -e, -f and -i ask for, rising; without them, those that tell most about a link.
Result<std::vector<Bytes>> sizes_from(const measure::Settings& settings);

}  // namespace trunkline::backends::nccl
