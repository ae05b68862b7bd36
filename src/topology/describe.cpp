#include "topology/describe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "topology/node_reader.hpp"
#include "topology/warnings.hpp"

namespace trunkline::topology {
namespace {

std::string line_rate(const Nics& nics) { return fmt::format("{:.0f} Gb/s", as_gbit_per_s(nics.rate)); }

std::string title_of(const Platform& platform) {
  const NodeType& node = platform.node;
  std::string text = fmt::format("{}: {} node{} of {} x {} = {} GPUs", platform.name, platform.nodes, platform.nodes == 1 ? "" : "s",
                                 node.gpus, node.gpu.name, platform.gpus());
  if (!platform.fabric.present) return text;
  const Fabric& f = platform.fabric;
  return text + fmt::format("; {} {}, {} tier{} of {}-port switches{}, {} routing", name_of(f.kind), line_rate(node.nics), f.tiers,
                            f.tiers == 1 ? "" : "s", f.ports,
                            f.oversubscription > 1 ? fmt::format(", {:g}:1 oversubscribed", f.oversubscription) : ", non-blocking",
                            name_of(f.routing));
}

std::string links_text(const NodeType& node) {
  if (node.gpu_links == GpuLinks::none) return "GPU links: none";
  const std::string family = node.gpu_links == GpuLinks::xgmi ? "Infinity Fabric" : "NVLink";
  std::string text = fmt::format("GPU links: {} {}, {} links a GPU, {} one direction", family, node.link_generation, node.links,
                                 to_text(node.link_bandwidth));
  if (node.gpu_links == GpuLinks::nvswitch)
    text += node.link_domain > node.gpus
                ? fmt::format(", NVSwitch over {} GPUs of {} nodes", node.link_domain, node.link_domain / node.gpus)
                : ", NVSwitch";
  if (node.gpu_links == GpuLinks::nvlink_mesh || node.gpu_links == GpuLinks::xgmi) text += ", direct, no switch";
  if (node.gpu_links == GpuLinks::nvlink_bridge) text += fmt::format(", bridges of {} cards", node.link_domain);
  return text;
}

std::string part_text(const NodeType& node, const Vertex& vertex) {
  const Nics& nics = node.nics;
  switch (vertex.kind) {
    case VertexKind::gpu:
      return node.host_link.si() > 0 ? fmt::format("{} {}, own link to the host {}", vertex.name, node.gpu.name, to_text(node.host_link))
                                     : fmt::format("{} {}, slot {}", vertex.name, node.gpu.name, to_text(node.pcie_bandwidth));
    case VertexKind::pcie_switch: return fmt::format("{}, uplink {}", vertex.name, to_text(node.uplink_bandwidth));
    case VertexKind::nic: return fmt::format("{} {} {}", vertex.name, nics.part.empty() ? name_of(nics.kind) : nics.part, line_rate(nics));
    case VertexKind::disk:
      return fmt::format("{}, read {}, write {}", vertex.name, to_text(node.local_disk->read / node.sockets),
                         to_text(node.local_disk->write / node.sockets));
    default: return vertex.name;
  }
}

// Everything below `root` over PCIe, host links and disks.
void add_below(const Graph& graph, const NodeType& node, int root, int depth, std::vector<TreeRow>& rows) {
  for (const auto& edge : graph.edges) {
    if (edge.to != root || edge.from == root) continue;
    if (edge.kind != EdgeKind::pcie && edge.kind != EdgeKind::host_link && edge.kind != EdgeKind::disk) continue;
    const Vertex& child = graph.vertices[std::size_t(edge.from)];
    const VertexKind above = graph.vertices[std::size_t(root)].kind;
    if (child.kind == VertexKind::socket || (child.kind == VertexKind::pcie_switch && above != VertexKind::socket)) continue;
    rows.push_back({depth, part_text(node, child)});
    if (child.kind == VertexKind::pcie_switch) add_below(graph, node, edge.from, depth + 1, rows);
  }
}

std::vector<TreeRow> tree_of(const Graph& graph, const NodeType& node) {
  std::vector<TreeRow> rows{{0, fmt::format("node ({})", node.name)}};
  rows.push_back({1, links_text(node)});
  for (int s = 0; s < node.sockets; ++s) {
    std::string text = fmt::format("socket {}", s);
    if (node.sockets > 1) text += fmt::format(", {} to the other{}", to_text(node.socket_bandwidth), node.sockets > 2 ? "s" : "");
    rows.push_back({1, text});
    add_below(graph, node, graph.find(VertexKind::socket, s), 2, rows);
  }
  return rows;
}

// Paths from every GPU to every GPU and NIC: one row a GPU, GPUs first.
using PathTable = std::vector<std::vector<Path>>;

PathTable paths_from_gpus(const Graph& graph) {
  std::vector<int> ends;
  for (int g = 0; g < graph.count(VertexKind::gpu); ++g) ends.push_back(graph.find(VertexKind::gpu, g));
  const std::size_t gpus = ends.size();
  for (int n = 0; n < graph.count(VertexKind::nic); ++n) ends.push_back(graph.find(VertexKind::nic, n));
  PathTable table(gpus);
  for (std::size_t g = 0; g < gpus; ++g) {
    for (int end : ends) table[g].push_back(path_between(graph, ends[g], end));
  }
  return table;
}

void add_matrix(const Graph& graph, const PathTable& table, Description& out) {
  const std::size_t gpus = table.size();
  const std::size_t columns = table.front().size();
  out.matrix.resize(gpus);
  const auto same = [&](std::size_t a, std::size_t b) {
    return std::all_of(table.begin(), table.end(), [&](const std::vector<Path>& row) { return row[a].kind == row[b].kind; });
  };
  for (std::size_t first = 0; first < columns;) {
    std::size_t last = first;
    while (first >= gpus && last + 1 < columns && same(first, last + 1)) ++last;
    if (first < gpus)
      out.columns.push_back(fmt::format("GPU{}", first));
    else
      out.columns.push_back(first == last ? fmt::format("NIC{}", first - gpus) : fmt::format("NIC{}-{}", first - gpus, last - gpus));
    for (std::size_t g = 0; g < gpus; ++g) out.matrix[g].push_back(label(graph, table[g][first]));
    first = last + 1;
  }
}

std::string edge_text(const Graph& graph, int index) {
  const Edge& edge = graph.edges[std::size_t(index)];
  const auto kind_at = [&](int v) { return graph.vertices[std::size_t(v)].kind; };
  switch (edge.kind) {
    case EdgeKind::link: return graph.xgmi ? "Infinity Fabric" : "NVLink";
    case EdgeKind::host_link: return "NVLink-C2C";
    case EdgeKind::socket: return "link between sockets";
    case EdgeKind::memory: return "host memory";
    case EdgeKind::disk: return "disks";
    case EdgeKind::network: return "NIC rate";
    case EdgeKind::pcie: break;
  }
  if (kind_at(edge.from) == VertexKind::nic || kind_at(edge.to) == VertexKind::nic) return "NIC slot";
  if (kind_at(edge.from) == VertexKind::gpu || kind_at(edge.to) == VertexKind::gpu) return "GPU slot";
  return "PCIe switch uplink";
}

void add_group(const Graph& graph, const Path& path, const std::string& between, std::vector<PathGroup>& groups) {
  if (path.edges.empty()) return;
  const std::string name = label(graph, path) + (path.staged ? " via host memory" : "");
  auto group = std::find_if(groups.begin(), groups.end(), [&](const PathGroup& g) { return g.label == name && g.between == between; });
  if (group == groups.end()) {
    groups.push_back({name, between, 0, path.capacity, path.latency, edge_text(graph, path.bottleneck)});
    group = groups.end() - 1;
  }
  ++group->pairs;
  group->latency = std::max(group->latency, path.latency);
  if (path.capacity < group->capacity) {
    group->capacity = path.capacity;
    group->narrowest = edge_text(graph, path.bottleneck);
  }
}

std::vector<PathGroup> path_groups(const Graph& graph, const PathTable& table) {
  std::vector<PathGroup> groups;
  const std::size_t gpus = table.size();
  for (const auto& row : table) {
    for (std::size_t b = 0; b < gpus; ++b) add_group(graph, row[b], "GPU-GPU", groups);
  }
  for (const auto& row : table) {
    for (std::size_t n = gpus; n < row.size(); ++n) add_group(graph, row[n], "GPU-NIC", groups);
  }
  for (std::size_t g = 0; g < gpus; ++g) {
    const int gpu = graph.find(VertexKind::gpu, int(g));
    add_group(graph, path_between(graph, graph.find(VertexKind::memory, graph.vertices[std::size_t(gpu)].socket), gpu), "host-GPU", groups);
  }
  return groups;
}

void append_limits(const NodeLimits& limits, std::vector<std::string>& rows) {
  const auto row = [&](const char* name, Bandwidth rate, const char* what) {
    if (rate.si() > 0) rows.push_back(fmt::format("  {:<18}{:>11}  {}", name, to_text(rate), what));
  };
  rows.push_back("limits, one direction");
  row("GPU to GPU", limits.gpu_to_gpu, "a copy between the slowest pair, alone");
  row("ring", limits.ring,
      limits.ring_over_links ? "per GPU, all GPUs at once, over the GPU links" : "per GPU, all GPUs at once, over PCIe");
  row("host to GPU", limits.host_to_gpu, "per GPU, all GPUs at once");
  row("GPU to NIC", limits.nic_to_gpu,
      limits.nic_across_socket ? "to the nearest NIC; for some GPUs across the socket link" : "to the nearest NIC");
  row("node to network", limits.node_to_network, "all NICs at once");
}

void append_matrix(const Description& d, std::vector<std::string>& rows) {
  std::size_t width = 5;
  for (const auto& name : d.columns) width = std::max(width, name.size());
  std::string head = fmt::format("{:<7}", "");
  for (const auto& name : d.columns) head += fmt::format("{:<{}}", name, width + 1);
  rows.push_back(std::string(head.begin(), head.begin() + std::ptrdiff_t(head.find_last_not_of(' ') + 1)));
  for (std::size_t g = 0; g < d.matrix.size(); ++g) {
    std::string row = fmt::format("{:<7}", fmt::format("GPU{}", g));
    for (const auto& cell : d.matrix[g]) row += fmt::format("{:<{}}", cell, width + 1);
    rows.push_back(row.substr(0, row.find_last_not_of(' ') + 1));
  }
}

}  // namespace

Description describe(const Platform& platform) {
  const Graph graph = build_graph(platform.node);
  Description out;
  out.title = title_of(platform);
  out.tree = tree_of(graph, platform.node);
  const PathTable table = paths_from_gpus(graph);
  add_matrix(graph, table, out);
  out.paths = path_groups(graph, table);
  out.limits = limits_of(platform.node);
  out.warnings = warnings_of(platform, graph, out.limits);
  out.assumed = platform.assumed;
  return out;
}

std::vector<std::string> text_rows(const Description& d) {
  std::vector<std::string> rows{d.title, ""};
  for (const auto& row : d.tree) rows.push_back(std::string(std::size_t(row.depth) * 2, ' ') + row.text);
  rows.emplace_back();
  append_matrix(d, rows);
  rows.emplace_back();
  rows.push_back(fmt::format("{:<24}{:<10}{:>6}{:>12}{:>10}  {}", "path", "between", "pairs", "one alone", "latency", "narrowest part"));
  for (const auto& p : d.paths)
    rows.push_back(fmt::format("{:<24}{:<10}{:>6}{:>12}{:>10}  {}", p.label, p.between, p.pairs, to_text(p.capacity), to_text(p.latency),
                               p.narrowest));
  rows.emplace_back();
  append_limits(d.limits, rows);
  for (const auto& w : d.warnings) {
    rows.push_back(fmt::format("warning: {}", w.text));
    if (!w.fix.empty()) rows.push_back(fmt::format("         {}", w.fix));
  }
  if (!d.assumed.empty()) rows.emplace_back("assumed, as the file does not say");
  for (const auto& [key, words] : d.assumed) rows.push_back(fmt::format("  {}: {}", key, words));
  return rows;
}

}  // namespace trunkline::topology
