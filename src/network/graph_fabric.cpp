// Ways through a SwitchGraph.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <queue>

#include "base/rng.hpp"
#include "network/switch_graph.hpp"

namespace trunkline::network {
namespace {

// What a switch hashes of a packet. Each switch has a hash function of its own unless all hash alike.
std::uint64_t hash_of(const QueuePair& pair, const RoutingOptions& options, std::uint64_t draw, NodeId at) {
  std::uint64_t h = Rng(options.seed).next();
  h = Rng(h ^ (std::uint64_t(std::uint32_t(pair.source)) << 32 | std::uint32_t(pair.destination))).next();
  h = Rng(h + std::uint64_t(std::uint32_t(pair.index)) + (draw << 32)).next();
  return options.same_hash ? h : Rng(h + 0xD1B54A32D192ED03ULL * (at + 1)).next();
}

}  // namespace

Result<GraphFabric> GraphFabric::build(SwitchGraph graph, std::optional<ForwardingTable> table, const GraphTimes& times) {
  const auto degrees = graph.degrees();
  for (NodeId host = 0; host < graph.hosts(); ++host) {
    if (degrees[host] == 0) return bad_input({}, fmt::format("host {} has no link", graph.name_of(host)), "join it to a switch");
  }
  GraphFabric fabric(std::move(graph), std::move(table), times);
  if (fabric.gates_.size() * fabric.graph_.nodes() > kMostDistances)
    return bad_input({}, fmt::format("{} nodes with {} places where hosts are attached", fabric.graph_.nodes(), fabric.gates_.size()),
                     "a graph of that size is not simulated; describe a Clos by its counts");
  for (Gate& gate : fabric.gates_) fabric.measure(gate);
  return fabric;
}

GraphFabric::GraphFabric(SwitchGraph graph, std::optional<ForwardingTable> table, const GraphTimes& times)
    : graph_(std::move(graph)), table_(std::move(table)), times_(times) {
  for (const GraphLink& link : graph_.links()) capacities_.push_back(link.capacity);
  index_links();
  attach_hosts();
}

void GraphFabric::index_links() {
  const auto sorted = [&](auto end, std::vector<std::uint32_t>& begin, std::vector<LinkId>& list) {
    begin.assign(graph_.nodes() + 1, 0);
    for (const GraphLink& link : graph_.links()) ++begin[end(link) + 1];
    for (std::size_t i = 1; i < begin.size(); ++i) begin[i] += begin[i - 1];
    list.resize(graph_.wires());
    auto at = begin;
    for (LinkId id = 0; id < graph_.wires(); ++id) list[at[end(graph_.links()[id])]++] = id;
  };
  sorted([](const GraphLink& link) { return link.from; }, out_begin_, out_);
  sorted([](const GraphLink& link) { return link.to; }, in_begin_, in_);
}

void GraphFabric::attach_hosts() {
  std::map<NodeId, int> leaves;
  std::map<NodeId, std::uint32_t> gates;
  for (NodeId host = 0; host < graph_.hosts(); ++host) {
    const NodeId first = graph_.links()[into(host).front()].from;
    leaf_.push_back(leaves.emplace(first, int(leaves.size())).first->second);
    const bool alone = std::all_of(into(host).begin(), into(host).end(), [&](LinkId l) { return graph_.links()[l].from == first; });
    const NodeId gate = alone && !graph_.is_host(first) ? first : host;
    const auto [at, fresh] = gates.emplace(gate, std::uint32_t(gates_.size()));
    if (fresh) gates_.push_back({gate, {}, {}});
    gate_of_.push_back(at->second);
  }
  leaves_ = int(leaves.size());
}

// Breadth first from the gate against the links; hosts pass nothing on.
void GraphFabric::measure(Gate& gate) const {
  gate.distance.assign(graph_.nodes(), kFar);
  gate.latency.assign(graph_.nodes(), 0);
  gate.distance[gate.node] = 0;
  std::queue<NodeId> waiting;
  waiting.push(gate.node);
  while (!waiting.empty()) {
    const NodeId at = waiting.front();
    waiting.pop();
    if (graph_.is_host(at) && at != gate.node) continue;
    for (const LinkId id : into(at)) {
      if (!(capacities_[id] > 0)) continue;
      const NodeId from = graph_.links()[id].from;
      const auto latency = float(gate.latency[at] + latency_of(id));
      if (gate.distance[from] == kFar) {
        gate.distance[from] = std::uint16_t(gate.distance[at] + 1);
        gate.latency[from] = latency;
        waiting.push(from);
      } else if (gate.distance[from] == gate.distance[at] + 1) {
        gate.latency[from] = std::min(gate.latency[from], latency);
      }
    }
  }
}

double GraphFabric::latency_of(LinkId id) const {
  const GraphLink& link = graph_.links()[id];
  if (graph_.is_host(link.from) || !(link.capacity > 0)) return link.latency;
  return link.latency + times_.switching.si() + double(times_.packet.count()) / link.capacity;
}

std::optional<std::pair<int, int>> GraphFabric::parted() const {
  for (int host = 1; host < hosts(); ++host) {
    if (distance(0, host) < 0) return std::pair(0, host);
    if (distance(NodeId(host), 0) < 0) return std::pair(host, 0);
  }
  return std::nullopt;
}

std::optional<int> GraphFabric::host_named(std::string_view name) const {
  const auto node = graph_.find(name);
  if (!node || !graph_.is_host(*node)) return std::nullopt;
  return int(*node);
}

Bandwidth GraphFabric::host_rate(int host, Direction direction) const {
  double sum = 0;
  for (const LinkId id : direction == Direction::up ? out_of(NodeId(host)) : into(NodeId(host))) sum += capacities_[id];
  return byte_per_s(sum);
}

int GraphFabric::distance(NodeId from, int to) const {
  if (from == NodeId(to)) return 0;
  const Gate& gate = gates_[gate_of_[std::size_t(to)]];
  if (gate.distance[from] == kFar) return -1;
  if (gate.node == NodeId(to)) return gate.distance[from];
  const auto open = [&](LinkId id) { return capacities_[id] > 0; };
  return std::any_of(into(NodeId(to)).begin(), into(NodeId(to)).end(), open) ? gate.distance[from] + 1 : -1;
}

int GraphFabric::switches(int from, int to) const { return std::max(0, distance(NodeId(from), to) - 1); }

Seconds GraphFabric::latency(int from, int to) const {
  if (distance(NodeId(from), to) <= 0) return seconds(0);
  const Gate& gate = gates_[gate_of_[std::size_t(to)]];
  double last = kUnlimited;
  if (gate.node == NodeId(to)) last = 0;
  for (const LinkId id : into(NodeId(to))) {
    if (gate.node != NodeId(to) && capacities_[id] > 0) last = std::min(last, latency_of(id));
  }
  return times_.ends + seconds(double(gate.latency[std::size_t(from)]) + last);
}

// --- ways ------------------------------------------------------------------------------------------------------------------

void GraphFabric::next_links(NodeId at, int to, std::vector<LinkId>& out) const {
  out.clear();
  const auto allowed = table_ ? table_->next(at, NodeId(to)) : std::span<const NodeId>();
  const int here = distance(at, to);
  for (const LinkId id : out_of(at)) {
    const NodeId next = graph_.links()[id].to;
    if (!(capacities_[id] > 0) || (graph_.is_host(next) && next != NodeId(to))) continue;
    if (table_ ? std::find(allowed.begin(), allowed.end(), next) != allowed.end() : distance(next, to) == here - 1 && here > 0)
      out.push_back(id);
  }
}

bool GraphFabric::one_way(const QueuePair& pair, const RoutingOptions& options, std::uint64_t draw, double share,
                          std::vector<Hop>& hops) const {
  std::vector<LinkId> choices;
  NodeId at = NodeId(pair.source);
  while (at != NodeId(pair.destination)) {
    next_links(at, pair.destination, choices);
    if (choices.empty()) return false;
    std::size_t chosen = std::size_t(pair.destination) % choices.size();
    if (options.policy != topology::Routing::pinned) chosen = Rng(hash_of(pair, options, draw, at)).below(choices.size());
    hops.push_back({choices[chosen], share});
    at = graph_.links()[choices[chosen]].to;
  }
  return true;
}

// The links that lead on from every node of all ways between two hosts; nodes in an order in which each stands before those behind it.
struct GraphFabric::Ways {
  std::vector<NodeId> nodes;
  std::unordered_map<NodeId, std::size_t> place;
  std::vector<std::vector<Step>> steps;  // by place

  std::size_t place_of(NodeId node) {
    const auto [at, fresh] = place.emplace(node, nodes.size());
    if (fresh) nodes.push_back(node);
    return at->second;
  }
};

bool GraphFabric::all_ways(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const {
  const bool alike = options.policy == topology::Routing::spray;
  const auto target = NodeId(pair.destination);
  Ways ways;
  ways.place_of(NodeId(pair.source));
  std::vector<LinkId> choices;
  for (std::size_t i = 0; i < ways.nodes.size(); ++i) {
    ways.steps.emplace_back();
    if (ways.nodes[i] == target) continue;
    next_links(ways.nodes[i], pair.destination, choices);
    for (const LinkId id : choices) {
      ways.place_of(graph_.links()[id].to);
      ways.steps[i].push_back({id, 0});
    }
  }
  // From the far end: what each step leads to.
  std::vector<double> behind(ways.nodes.size(), 0), share(ways.nodes.size(), 0);
  for (std::size_t i = ways.nodes.size(); i-- > 0;) {
    if (ways.nodes[i] == target) behind[i] = alike ? 1 : kUnlimited;
    for (Step& step : ways.steps[i]) {
      const double further = behind[ways.place[graph_.links()[step.link].to]];
      const double taken = options.busy && step.link < options.busy->size() ? (*options.busy)[step.link] : 0;
      step.weight = alike ? further : std::min(further, std::max(0.0, capacities_[step.link] - taken));
      behind[i] += step.weight;
    }
  }
  if (!(behind[0] > 0)) return false;
  const double load = options.policy == topology::Routing::ideal ? 1 : 1 / options.efficiency;
  share[0] = 1;
  for (std::size_t i = 0; i < ways.nodes.size(); ++i) {
    for (const Step& step : ways.steps[i]) {
      if (!(step.weight > 0)) continue;
      const GraphLink& link = graph_.links()[step.link];
      const double part = share[i] * step.weight / behind[i];
      share[ways.place[link.to]] += part;
      hops.push_back({step.link, graph_.is_host(link.from) || graph_.is_host(link.to) ? part : part * load});
    }
  }
  return true;
}

bool GraphFabric::route(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const {
  using topology::Routing;
  hops.clear();
  if (pair.source == pair.destination) return true;
  if (!table_ && distance(NodeId(pair.source), pair.destination) < 0) return false;
  if (!table_ && (options.policy == Routing::spray || options.policy == Routing::adaptive || options.policy == Routing::ideal))
    return all_ways(pair, options, hops);
  const int draws = options.policy == Routing::flowlet ? std::max(1, options.flowlets) : 1;
  for (int draw = 0; draw < draws; ++draw) {
    if (one_way(pair, options, std::uint64_t(draw), 1.0 / draws, hops)) continue;
    hops.clear();
    return false;
  }
  return true;
}

}  // namespace trunkline::network
