// A job's groups as flows between NICs: one for every ring neighbour of every collective, every pair of an all-to-all, every copy between
// pipeline stages, each where its ranks really stand. What stays inside an NVLink domain is left out.
#pragma once

#include <span>
#include <vector>

#include "network/contention.hpp"
#include "predict/groups.hpp"
#include "topology/platform.hpp"

namespace trunkline::predict {

// Rank r is GPU r mod gpus of node r / gpus; its NICs are those beside it (with fewer NICs than GPUs, neighbours share one).
class JobFlows {
 public:
  // `places`: of the nodes in the fabric (network::place_nodes). All arguments are copied.
  JobFlows(const topology::NodeType& node, int ranks, std::vector<int> places);

  // Collectives of groups: as many rings as a group has NICs on an NVLink domain, domains in rank order, ring c over NIC c of each. Each
  // ring is one strand and carries the same part of the group's bytes.
  network::TrafficKind rings(std::string name, GroupShape shape, int queue_pairs) const;

  // All-to-all of groups: from every rank to every rank of another domain; a rank's flows together weigh as much as one ring.
  network::TrafficKind exchanges(std::string name, GroupShape shape) const;

  // Pipelines: from every rank to its next stage (activations) and back (gradients); `wraps`: interleaved schedules pass from the last
  // stage to the first too. The copies of one pipeline form a chain.
  network::TrafficKind pipelines(std::string name, GroupShape shape, bool wraps, int queue_pairs) const;

 private:
  int domain_of(int rank) const { return rank / domain_; }
  // Hosts of the fabric beside a rank's GPU, appended; each once.
  void append_hosts(int rank, std::vector<int>& hosts) const;
  int host_of(int rank) const;

  int gpus_, nics_, domain_, ranks_;  // domain_: GPUs of an NVLink domain
  std::vector<int> places_;
};

}  // namespace trunkline::predict
