// The backend that measures disks and file systems.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::storage {

measure::Backend backend();

}  // namespace trunkline::backends::storage
