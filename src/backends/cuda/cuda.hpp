// The backend that measures NVIDIA GPUs through CUDA.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::cuda {

measure::Backend backend();

}  // namespace trunkline::backends::cuda
