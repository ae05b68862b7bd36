// What was not stated and what was taken in its place, as every answer shows it.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "report/table.hpp"

namespace trunkline::report {

using Assumptions = std::vector<std::pair<std::string, std::string>>;

Table assumed_list(const Assumptions& assumed, const std::string& title);

}  // namespace trunkline::report
