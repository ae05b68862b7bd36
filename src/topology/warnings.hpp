// What a reader of a platform should be told before renting it. Internal to this folder.
#pragma once

#include "topology/describe.hpp"

namespace trunkline::topology {

std::vector<TopologyWarning> warnings_of(const Platform& platform, const Graph& graph, const NodeLimits& limits);

}  // namespace trunkline::topology
