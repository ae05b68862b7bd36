// A platform: nodes × node type + fabric + ingest + storage + price, as a platform file states it.
#pragma once

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
};

struct Disk {
  Bandwidth read, write;
  Bytes capacity;
  double iops = 0;
};

struct NodeType {
  std::string id;
  catalog::Gpu gpu;
  int gpus = 8;
  GpuLinks gpu_links = GpuLinks::none;
  int link_generation = 0;
  Bandwidth link_bandwidth;    // a GPU's links together, one direction
  int link_domain = 0;         // GPUs that reach each other over NVLink; larger than `gpus` for NVL72
  int sockets = 2;
  int pcie_switches = 0;       // 0: GPUs hang directly off the sockets
  int pcie_generation = 4;
  Bandwidth pcie_bandwidth;    // one ×16 slot, one direction, what copies reach
  Bandwidth socket_bandwidth;  // between sockets, one direction
  bool pcie_p2p = true;        // GPUs may read each other over PCIe (consumer cards may not)
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
  std::string measured;              // result file of what was measured there
  std::vector<std::pair<std::string, std::string>> assumed;  // what the file left open and what was taken, in words

  int gpus() const { return node.gpus * nodes; }
};

const io::ObjectSpec& platform_spec();
Result<Platform> platform_from(const io::Value& value);
Result<Platform> read_platform(const std::string& path);

// A ready-made node ("hgx-a100-80"), by catalogue id.
Result<NodeType> node_type(const std::string& id);

// Throughput and latency limits of a node, read off its graph; what collectives and copies are bound by.
struct NodeLimits {
  Bandwidth gpu_to_gpu;         // the slowest pair, one pair alone
  Bandwidth ring;               // per GPU, one direction, when all GPUs of the node pass data round one ring
  bool ring_over_links = false; // that ring runs over NVLink/xGMI, not PCIe
  Bandwidth nic_to_gpu;         // one GPU to its nearest NIC, NIC rate and PCIe path considered
  Bandwidth node_to_network;    // all NICs together as the GPUs can use them at once
  Bandwidth host_to_gpu;        // all GPUs at once, per GPU
  bool nic_across_socket = false;
};
NodeLimits limits_of(const NodeType& node);

}  // namespace trunkline::topology
