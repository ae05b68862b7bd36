// The commands: each is defined in its own cmd_NAME.cpp and listed in commands.cpp.
#pragma once

#include "cli/command.hpp"

namespace trunkline::cli {

Command predict_command();
Command validate_command();
Command topo_command();
Command fabric_command();
Command measure_command();
Command compare_command();
Command calibrate_command();
Command catalog_command();
Command schema_command();
Command doctor_command();
Command help_command();

}  // namespace trunkline::cli
