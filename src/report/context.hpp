// What every JSON answer says about its own origin.
#pragma once

#include <string>

namespace trunkline::report {

constexpr int kSchemaVersion = 1;  // of the JSON that commands write; keys are added, never renamed

struct Context {
  std::string tool_version;
  std::string command_line;
};

}  // namespace trunkline::report
