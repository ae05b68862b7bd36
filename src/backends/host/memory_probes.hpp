// Internal to this folder.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::host {

measure::Probes memory_probes();

}  // namespace trunkline::backends::host
