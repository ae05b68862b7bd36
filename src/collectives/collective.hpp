// How long a collective takes: NCCL's algorithms and protocols over the limits of a real topology.
#pragma once

#include <optional>
#include <string>
#include <vector>

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
  int node_stride = 1;  // from one of the group's nodes to its next: how few of them stand in one NVLink domain (NVL72)
};

// What one group sees of the platform. A value: build once, ask many times.
struct Domain {
  int ranks_per_node = 1;
  int nodes = 1;
  int sharing = 1;
  catalog::Generation generation = catalog::Generation::other;
  int compute_capability = 0;
  bool links = false;     // NVLink/xGMI inside the node, else PCIe
  bool switched = false;  // NVSwitch (NVLS possible from Hopper on)
  int link_count = 0;
  Bandwidth link_bandwidth;  // one GPU's links, one direction
  Bandwidth ring;            // intra-node ring, per GPU, one direction
  Bandwidth pair;            // one GPU to one other inside the node, as kernels copy
  Bandwidth network;         // the group's share of one node's NICs, one direction, at RDMA efficiency
  Seconds network_latency;
  Bandwidth nic;  // one NIC alone; 0 = not known
  int nics = 0;   // the group's share, at least 1 where nodes > 1
  catalog::NicKind fabric = catalog::NicKind::infiniband;

  int ranks() const { return ranks_per_node * nodes; }
};

// What a node's graph says about collectives, read once (some 80 µs) for any number of groups on it.
struct NodeRates {
  Bandwidth network;                  // all NICs together, one direction, for data in GPU memory
  Bandwidth nic;                      // one NIC alone
  std::vector<topology::Ring> rings;  // by number of GPUs in the ring
};
NodeRates rates_of(const topology::NodeType& node);

// What a group of ranks has to communicate with. Where nodes share one NVLink domain (NVL72) they count as one node.
// Ignored: the fabric beyond the NICs (oversubscription, routing: scale `network` by what the network model says); other groups'
// traffic on a node's PCIe. Cost: rates_of, or with ready rates a fraction of a microsecond.
Domain domain_of(const topology::Platform& platform, const GroupLayout& layout);
Domain domain_of(const topology::Platform& platform, const GroupLayout& layout, const NodeRates& rates);

struct Options {
  std::string nccl_version;            // "2.21"; empty = the newest modelled
  bool nvls = true;                    // allowed where the hardware has it
  std::optional<Algorithm> algorithm;  // forced
  std::optional<Protocol> protocol;    // forced
};

struct Cost {
  Seconds time;
  Algorithm algorithm = Algorithm::ring;
  Protocol protocol = Protocol::simple;
  int channels = 0;  // thread blocks that the collective occupies on each GPU
};

// `size` as nccl-tests counts it: the largest buffer of a rank (all-reduce: the buffer; all-gather: the receive buffer;
// reduce-scatter: the send buffer; all-to-all: the send buffer).
//
// Every algorithm and protocol that NCCL would consider there is timed (ring.cpp, tree.cpp, point_to_point.cpp), the fastest is
// taken; what is forced but impossible falls back to a ring, as in NCCL. Time rises with size and never rises with bandwidth.
// One rank or no bytes: zero. Several nodes without NICs: infinite.
// Ignored: what the GPUs compute meanwhile; ranks that arrive late; the host's own launch (a few µs, hidden in a queue).
// Sources: NCCL 2.18 to 2.30 src/graph/tuning.cc, constants.hpp; validated by validate/nccl_table on 34 published systems.
// Cost: about 0.1 µs, no allocation.
Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options = {});

// busbw = algbw × this (nccl-tests' definition; the only place where it stands).
double bus_factor(Collective collective, int ranks);

}  // namespace trunkline::collectives
