// How long a collective takes: NCCL's algorithms and protocols over the limits of a real topology.
#pragma once

#include <optional>
#include <string>

#include "base/units.hpp"
#include "topology/platform.hpp"

namespace trunkline::collectives {

enum class Collective { all_reduce, all_gather, reduce_scatter, broadcast, reduce, all_to_all, send_recv };
enum class Algorithm { ring, tree, nvls, nvls_tree, collnet, pat, direct };
enum class Protocol { ll, ll128, simple };

std::string name_of(Collective collective);  // "all_reduce", "nvls_tree", "ll128": as in JSON and tables
std::string name_of(Algorithm algorithm);
std::string name_of(Protocol protocol);

// Which GPUs form a group: `ranks_per_node` of each of `nodes` nodes take part; `sharing` groups of the same shape
// communicate at the same time and share each node's NICs (8 data-parallel groups of a tensor-parallel-8 job).
struct GroupLayout {
  int ranks_per_node = 1;
  int nodes = 1;
  int sharing = 1;
};

// What one group sees of the platform. A value: build once, ask many times.
struct Domain {
  int ranks_per_node = 1;
  int nodes = 1;
  int sharing = 1;
  catalog::Generation generation = catalog::Generation::other;
  int compute_capability = 0;
  bool links = false;           // NVLink/xGMI inside the node, else PCIe
  bool switched = false;        // NVSwitch (NVLS possible from Hopper on)
  int link_count = 0;
  Bandwidth link_bandwidth;     // one GPU's links, one direction
  Bandwidth ring;               // intra-node ring, per GPU, one direction
  Bandwidth pair;               // one GPU to one other inside the node, as kernels copy
  Bandwidth network;            // the group's share of one node's NICs, one direction, at RDMA efficiency
  Seconds network_latency;
  int nics = 0;                 // the group's share, at least 1 where nodes > 1
  catalog::NicKind fabric = catalog::NicKind::infiniband;

  int ranks() const { return ranks_per_node * nodes; }
};

Domain domain_of(const topology::Platform& platform, const GroupLayout& layout);

struct Options {
  std::string nccl_version;              // "2.21"; empty = the newest modelled
  bool nvls = true;                      // allowed where the hardware has it
  std::optional<Algorithm> algorithm;    // forced
  std::optional<Protocol> protocol;      // forced
};

struct Cost {
  Seconds time;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 0;  // thread blocks that the collective occupies on each GPU
};

// `size` as nccl-tests counts it: the largest buffer of a rank (all-reduce: the buffer; all-gather: the receive buffer;
// reduce-scatter: the send buffer; all-to-all: the send buffer).
Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options = {});

// busbw = algbw × this (nccl-tests' definition; the only place where it stands).
double bus_factor(Collective collective, int ranks);

}  // namespace trunkline::collectives
