// The backend that reads GPUs and their links from NVIDIA's driver.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::nvml {

measure::Backend backend();

}  // namespace trunkline::backends::nvml
