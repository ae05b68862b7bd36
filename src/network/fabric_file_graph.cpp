// A network of any shape in a fabric file.
#include <fmt/format.h>

#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/files.hpp"
#include "io/spec.hpp"
#include "network/fabric_file_parts.hpp"
#include "network/switch_graph.hpp"

namespace trunkline::network {
namespace {

constexpr std::int64_t kMostLinks = 5'000'000;

// "a[0-3]" → a0, a1, a2, a3; any other word stands for itself.
Result<std::vector<std::string>> names_in(const io::Value& value) {
  if (!value.is_scalar())
    return bad_input(value.where(), fmt::format("found {}, expected a name", value.describe()), "for example a0, or \"a[0-15]\"");
  const std::string& text = value.text();
  const auto open = text.find('[');
  if (open == std::string::npos) return std::vector<std::string>{text};
  const auto dash = text.find('-', open), close = text.find(']', open);
  const auto refuse = [&] {
    return bad_input(value.where(), fmt::format("found \"{}\" where a range was expected", excerpt(text)), "for example a[0-15]");
  };
  if (dash == std::string::npos || close == std::string::npos || dash > close) return refuse();
  const auto first = parse_integer(text.substr(open + 1, dash - open - 1)), last = parse_integer(text.substr(dash + 1, close - dash - 1));
  if (!first || !last || *first < 0 || *last < *first || *last - *first >= std::int64_t(SwitchGraph::kMostNodes)) return refuse();
  std::vector<std::string> out;
  for (std::int64_t i = *first; i <= *last; ++i) out.push_back(fmt::format("{}{}{}", text.substr(0, open), i, text.substr(close + 1)));
  return out;
}

Result<void> add_nodes(const io::Value& list, bool hosts, SwitchGraph& graph) {
  for (const auto& item : list.items()) {
    TRUNKLINE_ASSIGN(names, names_in(item));
    for (const auto& name : names) TRUNKLINE_TRY(placed(hosts ? graph.add_host(name) : graph.add_switch(name), item));
  }
  return {};
}

Result<std::vector<NodeId>> ends_in(const io::Value& value, const SwitchGraph& graph) {
  TRUNKLINE_ASSIGN(names, names_in(value));
  std::vector<NodeId> out;
  for (const auto& name : names) {
    const auto node = graph.find(name);
    if (!node)
      return bad_input(value.where(), fmt::format("no host or switch is called \"{}\"", excerpt(name)), "add it to hosts or switches");
    out.push_back(*node);
  }
  return out;
}

// What every link of the file has unless it says otherwise.
struct Defaults {
  std::optional<Bandwidth> rate;
  double share = 1;
  Seconds latency;
};

Result<void> add_links(const io::Value& link, const Defaults& defaults, SwitchGraph& graph) {
  const io::Value& between = *present(link, "between");
  if (between.items().size() != 2)
    return bad_input(between.where(), fmt::format("a link between {} names", between.items().size()), "two names: [a0, s0]");
  TRUNKLINE_ASSIGN(a, ends_in(between.items()[0], graph));
  TRUNKLINE_ASSIGN(b, ends_in(between.items()[1], graph));
  TRUNKLINE_ASSIGN(line, rate_in(link, "rate", defaults.rate));
  TRUNKLINE_ASSIGN(wire, time_in(link, "latency", defaults.latency));
  const Bandwidth rate = line * defaults.share;
  const int count = int(io::get_integer(link, "count").value_or(1));
  const bool every = io::get_bool(link, "every").value_or(false);
  if (!every && a.size() != b.size() && a.size() != 1 && b.size() != 1)
    return bad_input(between.where(), fmt::format("{} names in pairs with {}", a.size(), b.size()),
                     "as many on both sides, or every: true");
  if (std::int64_t(graph.wires()) + std::int64_t(every ? a.size() * b.size() : std::max(a.size(), b.size())) * count > kMostLinks)
    return bad_input(link.where(), fmt::format("more than {} links", kMostLinks), "describe a Clos by its counts");
  const auto join = [&](NodeId x, NodeId y) -> Result<void> {
    if (x == y) return bad_input(between.where(), fmt::format("a link from {} to itself", graph.name_of(x)), "join two different nodes");
    graph.join(x, y, rate, wire, count);
    return {};
  };
  if (every) {
    for (const NodeId x : a) {
      for (const NodeId y : b) TRUNKLINE_TRY(join(x, y));
    }
    return {};
  }
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) TRUNKLINE_TRY(join(a[a.size() == 1 ? 0 : i], b[b.size() == 1 ? 0 : i]));
  return {};
}

Result<void> check_ports(const io::Value& topology, const SwitchGraph& graph) {
  const auto ports = io::get_integer(topology, "ports");
  if (!ports) return {};
  const auto used = graph.degrees();
  for (NodeId node = NodeId(graph.hosts()); node < graph.nodes(); ++node) {
    if (used[node] > *ports)
      return wrong_field(topology, "ports", fmt::format("{} has {} links and {} ports", graph.name_of(node), used[node], *ports),
                         "use a larger switch or fewer links");
  }
  return {};
}

Result<SwitchGraph> graph_from(const io::Value& file) {
  const io::Value& topology = *present(file, "topology");
  const io::Value& block = *present(topology, "graph");
  Defaults defaults;
  if (present(file, "rate")) {
    TRUNKLINE_ASSIGN(rate, rate_in(file, "rate", std::nullopt));
    defaults.rate = rate;
  }
  defaults.share = io::get_number(file, "efficiency").value_or(1);
  TRUNKLINE_ASSIGN(latency, time_in(file, "latency"));
  defaults.latency = latency;
  SwitchGraph graph;
  TRUNKLINE_TRY(add_nodes(*present(block, "hosts"), true, graph));
  TRUNKLINE_TRY(add_nodes(*present(block, "switches"), false, graph));
  if (graph.hosts() == 0) return bad_input(block.where(), "a graph without hosts", "name them: hosts: [a0, a1]");
  for (const auto& link : present(block, "links")->items()) TRUNKLINE_TRY(add_links(link, defaults, graph));
  TRUNKLINE_TRY(check_ports(topology, graph));
  return graph;
}

Result<std::optional<ForwardingTable>> table_of(const io::Value& file, const std::string& folder, const SwitchGraph& graph) {
  const io::Value* routing = present(file, "routing");
  const auto name = routing && routing->is_map() ? io::get_text(*routing, "table") : std::nullopt;
  if (!name) return std::optional<ForwardingTable>();
  const std::string path = (std::filesystem::path(folder) / *name).string();
  TRUNKLINE_ASSIGN(text, io::read_file(path));
  TRUNKLINE_ASSIGN(table, ForwardingTable::from(text, path, graph));
  return std::optional(std::move(table));
}

}  // namespace

Result<Shape> shape_of_graph(const io::Value& file, const std::string& folder) {
  const io::Value& topology = *present(file, "topology");
  for (const auto& [key, value] : topology.fields()) {
    if (key != "graph" && key != "ports" && !value.is_null())
      return bad_input(value.where(), fmt::format("topology.{} beside a graph", key), "a graph says all by its hosts, switches and links");
  }
  TRUNKLINE_ASSIGN(graph, graph_from(file));
  TRUNKLINE_ASSIGN(whole, placed(GraphFabric::build(graph), *present(topology, "graph")));
  if (const auto pair = whole.parted()) {
    return bad_input(present(topology, "graph")->where(),
                     fmt::format("no way leads from {} to {}", whole.host_name(pair->first), whole.host_name(pair->second)),
                     "add the links that join them");
  }
  Shape shape;
  shape.graph = true;
  shape.words =
      fmt::format("{} hosts, {} switches, {} links of its own shape", graph.hosts(), graph.nodes() - graph.hosts(), graph.wires() / 2);
  for (int host = 0; host < whole.hosts(); ++host) shape.host_rate = std::max(shape.host_rate, whole.host_rate(host, Direction::up));
  TRUNKLINE_ASSIGN(table, table_of(file, folder, graph));
  shape.table = table.has_value();
  TRUNKLINE_ASSIGN(
      faults, apply_faults(file, {graph.wires(), [&](LinkId l) { return graph.name(l); }, [&](LinkId l, double k) { graph.scale(l, k); }}));
  shape.faults = std::move(faults);
  GraphTimes times;
  TRUNKLINE_ASSIGN(switching, time_in(file, "switch_latency"));
  TRUNKLINE_ASSIGN(ends, time_in(file, "end_latency"));
  times.switching = switching;
  times.ends = ends;
  TRUNKLINE_ASSIGN(packet, packet_in(file));
  times.packet = packet;
  TRUNKLINE_ASSIGN(fabric, placed(GraphFabric::build(std::move(graph), std::move(table), times), *present(topology, "graph")));
  shape.fabric = std::make_shared<GraphFabric>(std::move(fabric));
  return shape;
}

}  // namespace trunkline::network
