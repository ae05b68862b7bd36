// A platform: nodes × node type + fabric + ingest + storage + price, as a platform file states it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "catalog/catalog.hpp"
#include "io/spec.hpp"

namespace trunkline::topology {

// How the GPUs of one node reach each other.
enum class GpuLinks {
  none,           // PCIe only
  nvswitch,       // every GPU at full rate to every other
  nvlink_mesh,    // direct links, no switch (DGX-1V, 4-GPU boards)
  nvlink_bridge,  // pairs of cards
  xgmi,           // AMD, all-to-all links
};

enum class NicPlace { pcie_switch, socket };

struct Nics {
  std::string part;
  catalog::NicKind kind = catalog::NicKind::infiniband;
  int count = 0;
  Bandwidth rate;         // of one, one direction, line rate
  double efficiency = 0;  // share of the line rate that large RDMA messages reach
  NicPlace near = NicPlace::pcie_switch;
  Seconds latency;  // of one adapter
  Bandwidth slot;   // what the PCIe slot of one NIC carries, one direction
};

// NVLinks (or xGMI links) between two GPUs of a node without a switch.
struct MeshLink {
  int a = 0, b = 0;
  int links = 1;
};

struct Disk {
  Bandwidth read, write;
  Bytes capacity;
  double iops = 0;
};

struct NodeType {
  std::string id;  // the catalogued type it is or was derived from; empty = spelt out
  std::string name;
  catalog::Gpu gpu;
  int gpus = 8;
  GpuLinks gpu_links = GpuLinks::none;
  int link_generation = 0;
  Bandwidth link_bandwidth;    // a GPU's links together, one direction, line rate
  int links = 0;               // links of one GPU in use
  double link_share = 0;       // of the line rate: what collective kernels (NCCL, RCCL) move over the links
  double link_copy_share = 0;  // of the line rate: what copies between two GPUs reach
  std::vector<MeshLink> mesh;  // nvlink_mesh, nvlink_bridge, xgmi: who is joined to whom; empty with a switch
  int link_domain = 0;         // GPUs that reach each other over NVLink; larger than `gpus` for NVL72
  int sockets = 2;
  int pcie_switches = 0;  // 0: GPUs hang directly off the sockets
  int pcie_generation = 4;
  Bandwidth pcie_bandwidth;    // one GPU's slot, one direction, what copies reach
  Bandwidth pcie_line;         // its line rate
  Bandwidth uplink_bandwidth;  // one PCIe switch to its socket, one direction, what copies reach
  Bandwidth socket_bandwidth;  // between sockets, one direction
  bool pcie_p2p = true;        // GPUs and NICs may reach GPU memory over PCIe (GeForce cards may not: data goes through host memory)
  Bandwidth host_link;         // GPU to host where it is not PCIe (NVLink-C2C); zero = the PCIe slot
  Bandwidth memory_bandwidth;  // host memory of one socket, reads and writes together
  Nics nics;
  std::optional<Disk> local_disk;
  Bytes host_memory;
};

enum class Routing { ideal, ecmp, pinned, flowlet, spray, adaptive };
enum class Placement { packed, scattered, fragmented };

struct Fabric {
  bool present = false;
  catalog::NicKind kind = catalog::NicKind::infiniband;
  int tiers = 2;
  int ports = 64;
  double oversubscription = 1;
  Routing routing = Routing::ideal;
  Placement placement = Placement::packed;
  bool rail_optimised = false;
  bool rail_only = false;  // as rail_optimised, but nothing joins the rails
  int queue_pairs = 0;     // into which the traffic of one card to one other is cut, each routed by itself; 0 = not stated
  std::uint64_t seed = 0;  // of what is drawn: hashes of the switches, places of the nodes
};

struct Ingest {
  Bandwidth line;
  double efficiency = 0.94;
};

struct Volume {
  Bandwidth read, write;
  double iops = 0;
  std::optional<Money> price_per_gb_month;
};

struct Price {
  Money amount;
  bool per_gpu = true;  // per GPU-hour, else per node-hour
};

struct Reliability {
  std::optional<Seconds> node_mtbf;
  std::optional<Seconds> restart;
};

struct Platform {
  std::string name;
  std::string file;
  NodeType node;
  int nodes = 1;
  Fabric fabric;
  std::optional<Ingest> ingest;
  std::optional<Volume> volume;
  std::optional<Price> price;
  Reliability reliability;
  std::string measured;                                      // result file of what was measured there
  std::vector<std::pair<std::string, std::string>> assumed;  // what the file left open and what was taken, in words

  int gpus() const { return node.gpus * nodes; }
};

std::string name_of(GpuLinks links);  // as written in a platform file
std::string name_of(NicPlace place);
std::string name_of(Routing routing);
std::string name_of(Placement placement);

const io::ObjectSpec& platform_spec();
Result<Platform> platform_from(const io::Value& value);
Result<Platform> read_platform(const std::string& path);

// A ready-made node ("hgx-a100-80"), by catalogue id. The error names the nearest ids.
Result<NodeType> node_type(const std::string& id);

// The ready-made nodes, with where their description comes from.
struct NodeEntry {
  std::string id, name, source, notes;
  std::vector<std::string> aliases;
  catalog::Confidence confidence = catalog::Confidence::unsourced;
  NodeType node;
};
const std::vector<NodeEntry>& node_catalog();

// Throughput and latency limits of a node, read off its graph (graph.hpp) by counting the load on every edge. All are
// rates that real transfers reach (the parts' practical shares are applied), not line rates.
struct NodeLimits {
  Bandwidth gpu_to_gpu;          // a copy between the slowest pair, one pair alone
  Bandwidth ring;                // per GPU, one direction, when all GPUs of the node pass data round their rings, as collective kernels do
  bool ring_over_links = false;  // that ring runs over NVLink/xGMI, not PCIe
  Bandwidth nic_to_gpu;          // one GPU to its nearest NIC, NIC rate and PCIe path considered (the worst GPU)
  Bandwidth node_to_network;     // all NICs together as the GPUs can use them at once
  Bandwidth host_to_gpu;         // all GPUs at once, per GPU
  bool nic_across_socket = false;
};
NodeLimits limits_of(const NodeType& node);

// The ring of the first `gpus` GPUs of a node, the others idle (a tensor-parallel group of 2 on a node of 8).
struct Ring {
  Bandwidth per_gpu;        // practical, one direction
  bool over_links = false;  // every hop is NVLink or xGMI
};
Ring ring_of(const NodeType& node, int gpus);

}  // namespace trunkline::topology
