// The backend that measures collectives between the GPUs of this machine.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::nccl {

measure::Backend backend();

}  // namespace trunkline::backends::nccl
