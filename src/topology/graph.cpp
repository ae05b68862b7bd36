#include "topology/graph.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

Seconds latency_of(std::string_view id) { return microseconds(constant(id)); }

struct Builder {
  const NodeType& node;
  Graph graph;

  int add(VertexKind kind, int index, std::string name, int socket) {
    graph.vertices.push_back({kind, index, std::move(name), socket});
    graph.out.emplace_back();
    return int(graph.vertices.size()) - 1;
  }

  // Both directions of one wire.
  void join(int a, int b, Edge edge) {
    edge.from = a;
    edge.to = b;
    for (int way = 0; way < 2; ++way) {
      graph.out[std::size_t(edge.from)].push_back(int(graph.edges.size()));
      graph.edges.push_back(edge);
      std::swap(edge.from, edge.to);
    }
  }

  Edge links(int count, double share_of_gpu) const {
    Edge edge;
    edge.kind = EdgeKind::link;
    edge.line = node.link_bandwidth * share_of_gpu;
    edge.capacity = edge.line * node.link_copy_share;
    edge.kernel = edge.line * node.link_share;
    edge.links = count;
    return edge;
  }

  static Edge wire(EdgeKind kind, Bandwidth line, Bandwidth capacity, Bandwidth kernel, Seconds latency) {
    Edge edge;
    edge.kind = kind;
    edge.line = line;
    edge.capacity = capacity;
    edge.kernel = kernel;
    edge.latency = latency;
    return edge;
  }

  static Edge plain(EdgeKind kind, Bandwidth rate, Seconds latency) { return wire(kind, rate, rate, rate, latency); }

  void add_sockets() {
    for (int s = 0; s < node.sockets; ++s) {
      const int socket = add(VertexKind::socket, s, fmt::format("socket {}", s), s);
      const int memory = add(VertexKind::memory, s, fmt::format("memory {}", s), s);
      graph.pools.push_back(node.memory_bandwidth);
      Edge edge = plain(EdgeKind::memory, node.memory_bandwidth, latency_of("memory-latency"));
      edge.pool = s;
      join(socket, memory, edge);
    }
    for (int a = 0; a < node.sockets; ++a) {
      for (int b = a + 1; b < node.sockets; ++b) {
        join(graph.find(VertexKind::socket, a), graph.find(VertexKind::socket, b),
             plain(EdgeKind::socket, node.socket_bandwidth, latency_of("socket-latency")));
      }
    }
  }

  void add_pcie_switches() {
    for (int s = 0; s < node.pcie_switches; ++s) {
      const int socket = s * node.sockets / node.pcie_switches;
      const int v = add(VertexKind::pcie_switch, s, fmt::format("PCIe switch {}", s), socket);
      join(v, graph.find(VertexKind::socket, socket), plain(EdgeKind::pcie, node.uplink_bandwidth, latency_of("pcie-switch-latency")));
    }
  }

  // The switch or socket that part `index` of `count` hangs off.
  int parent(int index, int count, bool below_switch) const {
    if (below_switch && node.pcie_switches > 0) return graph.find(VertexKind::pcie_switch, index * node.pcie_switches / count);
    return graph.find(VertexKind::socket, index * node.sockets / count);
  }

  void add_gpus() {
    for (int g = 0; g < node.gpus; ++g) {
      const bool own_link = node.host_link.si() > 0;
      const int up = parent(g, node.gpus, !own_link);
      const int v = add(VertexKind::gpu, g, fmt::format("GPU{}", g), graph.vertices[std::size_t(up)].socket);
      const Bandwidth kernel = std::min(node.pcie_bandwidth, node.pcie_line * constant("pcie-kernel"));
      join(v, up,
           own_link ? plain(EdgeKind::host_link, node.host_link, latency_of("pcie-latency"))
                    : wire(EdgeKind::pcie, node.pcie_line, node.pcie_bandwidth, kernel, latency_of("pcie-latency")));
    }
  }

  void add_links() {
    if (node.gpu_links == GpuLinks::none) return;
    if (node.gpu_links == GpuLinks::nvswitch) {
      const int fabric = add(VertexKind::nvswitch, 0, "NVSwitch", -1);
      for (int g = 0; g < node.gpus; ++g) {
        Edge edge = links(node.links, 1);
        edge.latency = latency_of("link-latency") / 2;  // in and out are one hop
        join(graph.find(VertexKind::gpu, g), fabric, edge);
      }
      return;
    }
    for (const auto& link : node.mesh) {
      if (std::max(link.a, link.b) >= node.gpus) continue;  // of a part of a node (`--baseline 2`): that GPU is not there
      Edge edge = links(link.links, double(link.links) / node.links);
      edge.latency = latency_of("link-latency");
      join(graph.find(VertexKind::gpu, link.a), graph.find(VertexKind::gpu, link.b), edge);
    }
  }

  void add_nics() {
    const Nics& nics = node.nics;
    if (nics.count == 0) return;
    const int fabric = add(VertexKind::fabric, 0, "fabric", -1);
    for (int n = 0; n < nics.count; ++n) {
      const int up = parent(n, nics.count, nics.near == NicPlace::pcie_switch);
      const int v = add(VertexKind::nic, n, fmt::format("NIC{}", n), graph.vertices[std::size_t(up)].socket);
      const Bandwidth slot = nics.slot.si() > 0 ? nics.slot : node.uplink_bandwidth;
      join(v, up, plain(EdgeKind::pcie, slot, latency_of("pcie-switch-latency")));  // an adapter's latency counts its own slot
      join(v, fabric, wire(EdgeKind::network, nics.rate, nics.rate * nics.efficiency, nics.rate * nics.efficiency, nics.latency));
    }
  }

  // The node's disks, shared out over the sockets.
  void add_disks() {
    if (!node.local_disk) return;
    for (int s = 0; s < node.sockets; ++s) {
      const int v = add(VertexKind::disk, s, fmt::format("disks {}", s), s);
      const int socket = graph.find(VertexKind::socket, s);
      join(v, socket, plain(EdgeKind::disk, node.local_disk->read / node.sockets, latency_of("disk-latency")));
      graph.edges.back().line = graph.edges.back().capacity = graph.edges.back().kernel = node.local_disk->write / node.sockets;
    }
  }
};

}  // namespace

int Graph::find(VertexKind kind, int index) const {
  for (std::size_t v = 0; v < vertices.size(); ++v) {
    if (vertices[v].kind == kind && vertices[v].index == index) return int(v);
  }
  return -1;
}

int Graph::count(VertexKind kind) const {
  return int(std::count_if(vertices.begin(), vertices.end(), [&](const Vertex& v) { return v.kind == kind; }));
}

Graph build_graph(const NodeType& node) {
  Builder builder{node, {}};
  builder.graph.pcie_p2p = node.pcie_p2p;
  builder.graph.xgmi = node.gpu_links == GpuLinks::xgmi;
  builder.add_sockets();
  builder.add_pcie_switches();
  builder.add_gpus();
  builder.add_links();
  builder.add_nics();
  builder.add_disks();
  return std::move(builder.graph);
}

}  // namespace trunkline::topology
