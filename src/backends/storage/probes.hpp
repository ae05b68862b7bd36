// The probes of this folder, one file each. Internal to this folder.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::storage {

std::unique_ptr<measure::Probe> write_probe();
std::unique_ptr<measure::Probe> read_probe();
std::unique_ptr<measure::Probe> random_read_probe();
std::unique_ptr<measure::Probe> checkpoint_probe();

}  // namespace trunkline::backends::storage
