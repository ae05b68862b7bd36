// The backend that measures host memory.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::host {

measure::Backend backend();

}  // namespace trunkline::backends::host
