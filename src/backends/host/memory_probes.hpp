// Internal to this folder.
#pragma once

#include <string>
#include <vector>

#include "backends/host/places.hpp"
#include "measure/probe.hpp"

namespace trunkline::backends::host {

measure::Probes memory_probes();

// One way to use memory: threads on these CPUs, each with a buffer on the node at the same place in `nodes`.
struct Placement {
  std::string metric;
  std::vector<int> cpus, nodes;
  std::string cpu_node, memory_node;  // as conditions; "all" and "local" where every CPU uses its own node
};

// Every core on its own node; one core alone; and where there are several nodes, the cores of each on the memory of each.
std::vector<Placement> placements_of(const std::vector<Node>& nodes);

}  // namespace trunkline::backends::host
