#include <algorithm>

#include "collectives/constants.hpp"

namespace trunkline::collectives {

namespace {

// A NIC and its switches, one way, small message. InfiniBand and RoCE: adapter 0.6 µs and one to three switches of
// 0.13 µs (InfiniBand) or about 0.5 µs. EFA: fitted; its NCCL plugin itself plans 75 µs for the first generation (four
// 100 Gb/s adapters a node), 35 µs for later ones, handshake included. Sockets: two passes through the kernel.
Seconds latency_of(const topology::Nics& nics) {
  switch (nics.kind) {
    case catalog::NicKind::infiniband: return microseconds(1.5);
    case catalog::NicKind::roce: return microseconds(3);
    case catalog::NicKind::efa: return nics.rate * nics.count <= gbit_per_s(400) ? microseconds(58) : microseconds(27);
    case catalog::NicKind::omnipath: return microseconds(3);
    case catalog::NicKind::ethernet: return microseconds(20);
  }
  return microseconds(20);
}

double socket_rate(double line) { return kTcpBelow * std::min(line, kTcpKnee) + kTcpAbove * std::max(0.0, line - kTcpKnee); }

double nic_bandwidth(const topology::Nics& nics) {
  const double line = nics.rate.si();
  double rate = line * nics.efficiency;
  if (nics.kind == catalog::NicKind::ethernet) rate = std::min(rate, socket_rate(line));
  if (nics.kind == catalog::NicKind::omnipath) rate = std::min(rate, line * kOmnipathShare);
  return rate;
}

double node_bandwidth(const topology::NodeType& node) {
  const double all = nic_bandwidth(node.nics) * node.nics.count;
  const double reachable = topology::limits_of(node).node_to_network.si();
  return reachable > 0 ? std::min(all, reachable) : all;
}

// NICs of one node that the group's ranks can use: its share among `sharing` groups, and no more than stand beside its GPUs.
double nics_of_group(const topology::NodeType& node, const GroupLayout& layout) {
  const double all = node.nics.count;
  const double beside = layout.ranks_per_node * std::max(1.0, all / std::max(1, node.gpus));
  return std::min(all / std::max(1, layout.sharing), beside);
}

}  // namespace

NodeRates rates_of(const topology::NodeType& node) {
  NodeRates rates;
  rates.network = byte_per_s(node_bandwidth(node));
  rates.nic = byte_per_s(nic_bandwidth(node.nics));
  rates.rings.resize(std::size_t(std::max(1, node.gpus)) + 1);
  for (int gpus = 2; gpus <= node.gpus; ++gpus) {
    topology::Ring ring = topology::ring_of(node, gpus);
    if (!ring.over_links && !node.pcie_p2p) ring.per_gpu = ring.per_gpu * kStagedShare;
    rates.rings[std::size_t(gpus)] = ring;
  }
  return rates;
}

Domain domain_of(const topology::Platform& platform, const GroupLayout& layout) {
  return domain_of(platform, layout, rates_of(platform.node));
}

Domain domain_of(const topology::Platform& platform, const GroupLayout& layout, const NodeRates& rates) {
  const topology::NodeType& node = platform.node;
  Domain d;
  d.sharing = std::max(1, layout.sharing);
  d.generation = node.gpu.generation;
  d.compute_capability = node.gpu.compute_capability;
  d.switched = node.gpu_links == topology::GpuLinks::nvswitch;
  d.link_count = node.links;
  d.link_bandwidth = node.link_bandwidth;

  // Nodes whose GPUs share one NVLink domain (NVL72) count as one; a group spreads evenly over as few domains as it needs.
  const int here = std::max(1, layout.ranks_per_node), nodes = std::max(1, layout.nodes);
  const int in_domain = std::max(1, node.link_domain / std::max(1, node.gpus) / std::max(1, layout.node_stride));
  d.nodes = (nodes + in_domain - 1) / in_domain;
  const int joined = (nodes + d.nodes - 1) / d.nodes;
  d.ranks_per_node = here * joined;

  const topology::Ring over_rack = {node.link_bandwidth * node.link_share, true};
  const auto ring_of = [&](int ranks) { return joined > 1 ? over_rack : rates.rings[std::size_t(std::min(ranks, node.gpus))]; };
  const topology::Ring ring = ring_of(std::max(here, 2));
  d.ring = ring.per_gpu;
  d.links = ring.over_links;
  d.pair = d.switched ? d.ring : ring_of(2).per_gpu;

  d.fabric = node.nics.kind;
  d.network_latency = latency_of(node.nics);
  if (d.nodes > 1) {
    const double nics = nics_of_group(node, layout);
    d.network = rates.network * (nics / std::max(1, node.nics.count) * joined);
    d.nics = std::max(1, int(nics * joined));
    d.nic = rates.nic;
  }
  return d;
}

}  // namespace trunkline::collectives
