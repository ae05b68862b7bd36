// The limits that collectives and copies are bound by, read off a node's graph.
#include <algorithm>
#include <limits>

#include "topology/graph.hpp"

namespace trunkline::topology {
namespace {

Bandwidth least(const std::vector<Bandwidth>& rates) { return rates.empty() ? Bandwidth{} : *std::min_element(rates.begin(), rates.end()); }

Bandwidth slowest_pair(const Graph& graph, int gpus) {
  Bandwidth slowest;
  for (int a = 0; a < gpus; ++a) {
    for (int b = 0; b < gpus; ++b) {
      if (a == b) continue;
      const Path path = path_between(graph, graph.find(VertexKind::gpu, a), graph.find(VertexKind::gpu, b));
      if (slowest.si() <= 0 || path.capacity < slowest) slowest = path.capacity;
    }
  }
  return slowest;
}

// The ring 0 → 1 → … → 0 with every hop on its best path: GPUs stand in the order of their switches and sockets, so
// neighbours are near.
Ring neighbour_ring(const Graph& graph, int gpus) {
  std::vector<Path> hops;
  Ring ring;
  ring.over_links = true;
  for (int a = 0; a < gpus; ++a) {
    hops.push_back(path_between(graph, graph.find(VertexKind::gpu, a), graph.find(VertexKind::gpu, (a + 1) % gpus)));
    ring.over_links = ring.over_links && hops.back().kind == PathKind::link;
  }
  ring.per_gpu = least(shared_rates(graph, hops, true));
  return ring;
}

Ring ring_on(const Graph& graph, const NodeType& node, int gpus) {
  gpus = std::min(gpus, node.gpus);
  if (gpus < 2) return {};
  Ring ring = neighbour_ring(graph, gpus);
  if (node.mesh.empty()) return ring;
  const int rings = link_rings(node.mesh, gpus);
  const Bandwidth over_links = node.link_bandwidth * (node.link_share * rings / node.links);
  if (rings > 0 && over_links > ring.per_gpu) ring = {over_links, true};
  return ring;
}

// Each NIC serves the GPUs nearest to it; with GPU links the others hand their data to those, as NCCL does.
Bandwidth all_nics(const Graph& graph) {
  const int fabric = graph.find(VertexKind::fabric, 0);
  if (fabric < 0) return {};
  std::vector<Path> flows;
  for (int n = 0; n < graph.count(VertexKind::nic); ++n) {
    const int nic = graph.find(VertexKind::nic, n);
    for (int gpu : nearest(graph, nic, VertexKind::gpu)) {
      Path path = path_between(graph, gpu, nic);
      path.edges.push_back(path_between(graph, nic, fabric).edges.front());
      flows.push_back(std::move(path));
    }
  }
  Bandwidth sum;
  for (const auto rate : shared_rates(graph, flows)) sum += rate;
  return sum;
}

void read_nics(const Graph& graph, int gpus, NodeLimits& limits) {
  const int fabric = graph.find(VertexKind::fabric, 0);
  if (fabric < 0) return;
  for (int g = 0; g < gpus; ++g) {
    const int gpu = graph.find(VertexKind::gpu, g);
    Bandwidth best;
    for (int nic : nearest(graph, gpu, VertexKind::nic)) {
      const Path path = path_between(graph, gpu, nic);
      limits.nic_across_socket = limits.nic_across_socket || path.kind == PathKind::sys;
      best = std::max(best, std::min(path.capacity, path_between(graph, nic, fabric).capacity));
    }
    if (g == 0 || best < limits.nic_to_gpu) limits.nic_to_gpu = best;
  }
  limits.node_to_network = all_nics(graph);
}

Bandwidth all_from_host(const Graph& graph, int gpus) {
  std::vector<Path> flows;
  for (int g = 0; g < gpus; ++g) {
    const int gpu = graph.find(VertexKind::gpu, g);
    flows.push_back(path_between(graph, graph.find(VertexKind::memory, graph.vertices[std::size_t(gpu)].socket), gpu));
  }
  return least(shared_rates(graph, flows));
}

}  // namespace

NodeLimits limits_of(const NodeType& node) {
  const Graph graph = build_graph(node);
  NodeLimits limits;
  limits.gpu_to_gpu = slowest_pair(graph, node.gpus);
  const Ring ring = ring_on(graph, node, node.gpus);
  limits.ring = ring.per_gpu;
  limits.ring_over_links = ring.over_links;
  limits.host_to_gpu = all_from_host(graph, node.gpus);
  read_nics(graph, node.gpus, limits);
  return limits;
}

Ring ring_of(const NodeType& node, int gpus) { return ring_on(build_graph(node), node, gpus); }

}  // namespace trunkline::topology
