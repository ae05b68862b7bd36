// All-reduce in three steps (reduce-scatter inside the node, all-reduce across, all-gather inside), and what it is compared
// with: a flat ring and a network without any links inside the nodes.
#pragma once

#include "collectives/collective.hpp"

namespace trunkline::collectives {

struct HierarchicalCost {
  Seconds reduce_scatter, across, all_gather;
  Seconds time;  // their sum: the steps follow each other
};

// What one group sees that has only the ranks of one node, or one rank on each node (rank i of every node forms group i, and
// all these groups share the NICs).
Domain inside_of(const Domain& domain);
Domain across_of(const Domain& domain);

// time = reduce-scatter(size, inside) + all-reduce(size / ranks a node, across, all groups at once) + all-gather(size, inside).
// In the limit of large sizes: 2·(r−1)/r·size/ring + 2·(N−1)/N·size/network, with r ranks on each of N nodes.
// Latency steps: 2(r−1) + 2(N−1) against 2(rN−1) of a flat ring.
// Ignored: overlap of the three steps by cutting the buffer into pieces. Cost: three time_of.
HierarchicalCost hierarchical_all_reduce(const Domain& domain, Bytes size, const Options& options = {});

// All-reduce as if the GPUs of a node had no links: a ring through all ranks whose every hop uses the NICs, each rank with
// its share of them. Limit: 2·(n−1)/n·size·ranks a node/network. For one node: the ring of the node.
Cost network_only_all_reduce(const Domain& domain, Bytes size, const Options& options = {});

}  // namespace trunkline::collectives
