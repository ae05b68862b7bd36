// What `trunkline topo PLATFORM` answers.
#pragma once

#include <string>

#include "report/context.hpp"
#include "report/document.hpp"
#include "topology/describe.hpp"

namespace trunkline::report {

Document topo_document(const topology::Description& description, const Context& context);
std::string topo_json(const topology::Description& description, const Context& context);

}  // namespace trunkline::report
