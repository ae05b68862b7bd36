// Where in a fabric the nodes of one job stand.
#pragma once

#include <cstdint>
#include <vector>

#include "topology/platform.hpp"

namespace trunkline::network {

struct PlacementNeed {
  topology::Placement placement = topology::Placement::packed;
  int nodes = 0;
  int island = 1;          // nodes that cannot be parted: those of one NVLink domain (NVL72: 18)
  int nodes_per_leaf = 1;  // how long a run of neighbours is at most, when fragmented
  std::uint64_t seed = 0;
};

// The place of each node, a permutation of 0 … nodes − 1; nodes that follow each other in rank order stand
//   packed       side by side,
//   fragmented   in runs of 1 … nodes_per_leaf, drawn evenly, the runs anywhere: what a scheduler leaves after other jobs came and went,
//   scattered    anywhere, each island by itself.
// Drawn by the seed; the same on every machine. Ignored: other jobs in between (add their traffic as background). Cost: O(nodes).
std::vector<int> place_nodes(const PlacementNeed& need);

}  // namespace trunkline::network
