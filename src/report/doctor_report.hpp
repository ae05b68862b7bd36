// What `trunkline doctor` answers.
#pragma once

#include <string>
#include <vector>

#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

struct Check {
  std::string name;
  std::string needed_for;  // command, or "nothing yet"
  bool present = false;
  bool optional = false;  // its absence stops no command
  std::string found;      // what is there, or what is missing
  std::string fix;
};

Document doctor_document(const std::vector<Check>& checks, const Context& context);
std::string doctor_json(const std::vector<Check>& checks, const Context& context);

}  // namespace trunkline::report
