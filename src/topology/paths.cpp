// Routes through a node's graph.
#include <algorithm>
#include <limits>

#include "topology/graph.hpp"

namespace trunkline::topology {
namespace {

// Data passes through switches and sockets; everything else is an end.
bool passes(VertexKind kind) { return kind == VertexKind::pcie_switch || kind == VertexKind::socket; }

// Breadth-first over everything but GPU links, until `to` is reached (-1: everywhere): the edge by which each vertex is
// reached first, -1 where it is not. A NIC is passed only on the way to or from the fabric.
std::vector<int> flood(const Graph& graph, int from, int to) {
  const auto kind_of = [&](int v) { return graph.vertices[std::size_t(v)].kind; };
  const bool network = kind_of(from) == VertexKind::fabric || (to >= 0 && kind_of(to) == VertexKind::fabric);
  std::vector<int> arrived(graph.vertices.size(), -1);
  std::vector<int> queue{from};
  for (std::size_t head = 0; head < queue.size() && (to < 0 || arrived[std::size_t(to)] < 0); ++head) {
    const int v = queue[head];
    if (v != from && !passes(kind_of(v)) && !(network && kind_of(v) == VertexKind::nic)) continue;
    for (int e : graph.out[std::size_t(v)]) {
      const Edge& edge = graph.edges[std::size_t(e)];
      if (edge.kind == EdgeKind::link || edge.to == from || arrived[std::size_t(edge.to)] >= 0) continue;
      arrived[std::size_t(edge.to)] = e;
      queue.push_back(edge.to);
    }
  }
  return arrived;
}

// The edges from `from` to `to` after a flood; empty where there is no way.
std::vector<int> trace(const Graph& graph, const std::vector<int>& arrived, int from, int to) {
  std::vector<int> edges;
  if (arrived[std::size_t(to)] < 0) return edges;
  for (int v = to; v != from; v = graph.edges[std::size_t(edges.back())].from) edges.push_back(arrived[std::size_t(v)]);
  std::reverse(edges.begin(), edges.end());
  return edges;
}

std::vector<int> route(const Graph& graph, int from, int to) { return trace(graph, flood(graph, from, to), from, to); }

// One edge between two joined GPUs, or two through the NVSwitch; empty where they share none.
std::vector<int> link_route(const Graph& graph, int from, int to) {
  for (int e : graph.out[std::size_t(from)]) {
    const Edge& first = graph.edges[std::size_t(e)];
    if (first.kind != EdgeKind::link) continue;
    if (first.to == to) return {e};
    if (graph.vertices[std::size_t(first.to)].kind != VertexKind::nvswitch) continue;
    for (int f : graph.out[std::size_t(first.to)]) {
      if (graph.edges[std::size_t(f)].to == to) return {e, f};
    }
  }
  return {};
}

// Two switches of one socket hang off different host bridges (NODE), cards directly on a socket off one (PHB): so the
// captured machines print it.
PathKind kind_of(const Graph& graph, const std::vector<int>& edges) {
  int switches = 0;
  bool socket = false, between = false, network = false, link = false;
  for (std::size_t i = 0; i < edges.size(); ++i) {
    const Edge& edge = graph.edges[std::size_t(edges[i])];
    link = link || edge.kind == EdgeKind::link;
    between = between || edge.kind == EdgeKind::socket;
    network = network || edge.kind == EdgeKind::network;
    const VertexKind to = graph.vertices[std::size_t(edge.to)].kind;
    switches += to == VertexKind::pcie_switch && i + 1 < edges.size();
    socket = socket || to == VertexKind::socket || graph.vertices[std::size_t(edge.from)].kind == VertexKind::socket;
  }
  if (edges.empty()) return PathKind::self;
  if (link) return PathKind::link;
  if (network) return PathKind::network;
  if (between) return PathKind::sys;
  if (socket) return switches > 1 ? PathKind::node : PathKind::phb;
  return switches > 1 ? PathKind::pxb : PathKind::pix;
}

// Narrowest edge or pool, loads counted: a staged path takes its memory twice.
void measure(const Graph& graph, Path& path) {
  double narrowest = std::numeric_limits<double>::infinity();
  path.links = std::numeric_limits<int>::max();
  for (int e : path.edges) {
    const Edge& edge = graph.edges[std::size_t(e)];
    path.latency += edge.latency;
    if (edge.kind == EdgeKind::link) path.links = std::min(path.links, edge.links);
    double capacity = edge.capacity.si() / double(std::count(path.edges.begin(), path.edges.end(), e));
    if (edge.pool >= 0) {
      const auto uses =
          std::count_if(path.edges.begin(), path.edges.end(), [&](int other) { return graph.edges[std::size_t(other)].pool == edge.pool; });
      capacity = std::min(capacity, graph.pools[std::size_t(edge.pool)].si() / double(uses));
    }
    if (capacity < narrowest) {
      narrowest = capacity;
      path.bottleneck = e;
    }
  }
  if (path.kind != PathKind::link) path.links = 0;
  path.capacity = path.edges.empty() ? Bandwidth{} : byte_per_s(narrowest);
}

bool is_peer(VertexKind kind) { return kind == VertexKind::gpu || kind == VertexKind::nic || kind == VertexKind::fabric; }

}  // namespace

Path path_between(const Graph& graph, int from, int to) {
  Path path;
  if (from == to) return path;
  const Vertex& a = graph.vertices[std::size_t(from)];
  const Vertex& b = graph.vertices[std::size_t(to)];
  if (a.kind == VertexKind::gpu && (b.kind == VertexKind::gpu || b.kind == VertexKind::nvswitch)) path.edges = link_route(graph, from, to);
  if (path.edges.empty()) path.edges = route(graph, from, to);
  path.kind = kind_of(graph, path.edges);
  const bool between_peers = is_peer(a.kind) && is_peer(b.kind) && (a.kind == VertexKind::gpu || b.kind == VertexKind::gpu);
  if (between_peers && path.kind != PathKind::link && !graph.pcie_p2p && !path.edges.empty()) {
    const int socket = b.kind == VertexKind::gpu ? b.socket : a.socket;  // NCCL's buffer stands with the receiving GPU
    const int memory = graph.find(VertexKind::memory, socket);
    path.edges = route(graph, from, memory);
    const auto second = route(graph, memory, to);
    path.edges.insert(path.edges.end(), second.begin(), second.end());
    path.staged = true;
  }
  measure(graph, path);
  return path;
}

std::string label(const Graph& graph, const Path& path) {
  switch (path.kind) {
    case PathKind::self: return "X";
    case PathKind::link: return graph.xgmi ? "XGMI" : "NV" + std::to_string(path.links);
    case PathKind::pix: return "PIX";
    case PathKind::pxb: return "PXB";
    case PathKind::phb: return "PHB";
    case PathKind::node: return "NODE";
    case PathKind::sys: return "SYS";
    case PathKind::network: return "NET";
  }
  return {};
}

std::vector<int> nearest(const Graph& graph, int from, VertexKind kind) {
  const auto arrived = flood(graph, from, -1);
  std::vector<int> found;
  double best = std::numeric_limits<double>::infinity();
  for (int v = 0; v < int(graph.vertices.size()); ++v) {
    if (graph.vertices[std::size_t(v)].kind != kind || arrived[std::size_t(v)] < 0) continue;
    double latency = 0;
    for (int e : trace(graph, arrived, from, v)) latency += graph.edges[std::size_t(e)].latency.si();
    if (latency < best * (1 - 1e-9)) {
      best = latency;
      found.clear();
    }
    if (latency <= best * (1 + 1e-9)) found.push_back(v);
  }
  return found;
}

}  // namespace trunkline::topology
