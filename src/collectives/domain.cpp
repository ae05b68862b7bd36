#include <algorithm>

#include "collectives/collective.hpp"

namespace trunkline::collectives {

namespace {

// What NCCL reaches of a link's payload rate, as its tuner counts it per NVLink generation (18/20, 20/25, 20/25,
// 20.6/25, 40.1/50 GB/s a link); xGMI as measured on MI300X (47.7 of 64 GB/s).
double link_share(const topology::NodeType& node) {
  if (node.gpu_links == topology::GpuLinks::xgmi) return 0.74;
  switch (node.link_generation) {
    case 1: return 0.9;
    case 4: return 20.6 / 25;
    case 5: return 40.1 / 50;
    default: return 0.8;
  }
}

Seconds network_latency_of(catalog::NicKind kind) {
  switch (kind) {
    case catalog::NicKind::infiniband: return microseconds(2);
    case catalog::NicKind::roce: return microseconds(3);
    case catalog::NicKind::efa: return microseconds(15);
    case catalog::NicKind::omnipath: return microseconds(3);
    case catalog::NicKind::ethernet: return microseconds(25);
  }
  return microseconds(5);
}

}  // namespace

Domain domain_of(const topology::Platform& platform, const GroupLayout& layout) {
  const topology::NodeType& node = platform.node;
  Domain d;
  d.ranks_per_node = std::max(1, layout.ranks_per_node);
  d.nodes = std::max(1, layout.nodes);
  d.sharing = std::max(1, layout.sharing);
  d.generation = node.gpu.generation;
  d.compute_capability = node.gpu.compute_capability;
  d.links = node.gpu_links != topology::GpuLinks::none;
  d.switched = node.gpu_links == topology::GpuLinks::nvswitch;
  d.link_count = node.gpu.links;
  d.link_bandwidth = node.link_bandwidth;
  const int folded = node.gpus > 0 ? std::max(1, node.link_domain / node.gpus) : 1;
  const int joined = std::min(folded, d.nodes);  // nodes of one NVLink domain count as one
  d.ranks_per_node *= joined;
  d.nodes = (d.nodes + joined - 1) / joined;
  d.ring = d.links ? node.link_bandwidth * link_share(node) : node.pcie_bandwidth * 0.8;
  d.fabric = node.nics.kind;
  d.network_latency = network_latency_of(node.nics.kind);
  if (d.nodes > 1) {
    const double share = double(node.nics.count) * joined / d.sharing;
    const double reachable = std::min(share, double(d.ranks_per_node) * std::max(1.0, double(node.nics.count) / std::max(1, node.gpus)));
    d.network = node.nics.rate * node.nics.efficiency * reachable;
    d.nics = std::max(1, int(reachable));
  }
  return d;
}

}  // namespace trunkline::collectives
