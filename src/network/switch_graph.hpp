// Networks of any shape: hosts and switches by name, links between any two of them, shortest ways or forwarding tables.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "network/fabric.hpp"

namespace trunkline::network {

using NodeId = std::uint32_t;

// One directed link.
struct GraphLink {
  NodeId from = 0, to = 0;
  double capacity = 0;         // bytes per second; 0 = out of service
  double latency = 0;          // seconds
  std::uint32_t parallel = 0;  // which of several between the same two
};

// Nodes and links as they are described; hosts are the first nodes.
class SwitchGraph {
 public:
  static constexpr std::size_t kMostNodes = 200'000;

  // Hosts come first: no host may be added after a switch. Errors: a name twice.
  Result<void> add_host(const std::string& name) { return add_node(name, true); }
  Result<void> add_switch(const std::string& name) { return add_node(name, false); }
  // Both directions, `count` parallel links each.
  void join(NodeId a, NodeId b, Bandwidth rate, Seconds latency, int count = 1);

  std::optional<NodeId> find(std::string_view name) const;
  std::size_t hosts() const { return hosts_; }
  std::size_t nodes() const { return names_.size(); }
  bool is_host(NodeId node) const { return node < hosts_; }
  const std::string& name_of(NodeId node) const { return names_[node]; }

  std::size_t wires() const { return links_.size(); }
  std::span<const GraphLink> links() const { return links_; }
  std::string name(LinkId link) const;  // "leaf 3 → spine 7"
  void scale(LinkId link, double factor) { links_[link].capacity *= factor; }
  std::vector<int> degrees() const;  // of every node: links, both directions counted once

 private:
  Result<void> add_node(const std::string& name, bool host);

  std::vector<std::string> names_;
  std::unordered_map<std::string, NodeId> ids_;
  std::size_t hosts_ = 0;
  std::vector<GraphLink> links_;
  std::map<std::pair<NodeId, NodeId>, std::uint32_t> parallel_;  // links so far between two nodes
};

// What forwarding tables say: at a node, for a destination, the nodes that come next.
class ForwardingTable {
 public:
  // A routing file: a line an entry, `node destination next [next …]`; the destination * stands for all that have no entry of their own;
  // # begins a comment. Refused with its line: unknown names, a next node that is no neighbour, entries that lead round in a circle.
  static Result<ForwardingTable> from(std::string_view text, const std::string& file, const SwitchGraph& graph);

  // Empty where there is no entry.
  std::span<const NodeId> next(NodeId at, NodeId destination) const;

 private:
  struct Entry {
    std::vector<NodeId> next;
    int line = 0;
  };
  static constexpr NodeId kAny = std::numeric_limits<NodeId>::max();

  const Entry* find(NodeId at, NodeId destination) const;
  Result<void> check_circles(const std::string& file, const SwitchGraph& graph) const;
  std::optional<int> circle_to(NodeId destination, const SwitchGraph& graph, std::vector<NodeId>& round) const;

  std::map<std::pair<NodeId, NodeId>, Entry> entries_;
};

struct GraphTimes {
  Seconds switching;        // each switch
  Seconds ends;             // both ends of a way together
  Bytes packet = Bytes(0);  // what a switch receives whole before it sends it on; 0 = cut-through
};

// Ways through a graph. Without a table, those with the fewest links in service; hosts pass nothing on. ecmp and flowlet hash at each node
// over its next links, pinned takes the destination's number modulo their count, spray gives every shortest way the same share,
// adaptive and ideal share by what each next link and all behind it can carry. With a table: its next nodes, hashed over (ecmp, flowlet)
// or by the destination's number (pinned).
// Ignored: longer ways. Latency is that of the quickest shortest way. Cost: memory nodes × attachment points, a way O(links seen on it).
class GraphFabric final : public Fabric {
 public:
  static constexpr std::size_t kMostDistances = 100'000'000;

  // An error where there are more distances than that.
  static Result<GraphFabric> build(SwitchGraph graph, std::optional<ForwardingTable> table = std::nullopt, const GraphTimes& times = {});

  const SwitchGraph& graph() const { return graph_; }
  // Two hosts between which no way is in service, if there are any.
  std::optional<std::pair<int, int>> parted() const;

  int hosts() const override { return int(graph_.hosts()); }
  int leaves() const override { return leaves_; }
  int leaf_of(int host) const override { return leaf_[std::size_t(host)]; }
  std::string host_name(int host) const override { return graph_.name_of(NodeId(host)); }
  std::optional<int> host_named(std::string_view name) const override;
  Bandwidth host_rate(int host, Direction direction) const override;
  std::span<const double> capacities() const override { return capacities_; }
  std::size_t wires() const override { return graph_.wires(); }
  std::string name(LinkId link) const override { return graph_.name(link); }
  bool between_switches(LinkId link) const override {
    return !graph_.is_host(graph_.links()[link].from) && !graph_.is_host(graph_.links()[link].to);
  }
  void spread_groups(std::span<double>) const override {}
  int switches(int from, int to) const override;
  Seconds latency(int from, int to) const override;
  bool route(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const override;
  int sender(const QueuePair& pair, const RoutingOptions&) const override { return pair.source; }

 private:
  static constexpr std::uint16_t kFar = std::numeric_limits<std::uint16_t>::max();

  GraphFabric(SwitchGraph graph, std::optional<ForwardingTable> table, const GraphTimes& times);

  // Distances to one gate: a switch, for all hosts that are joined to it alone; or a host that has several neighbours.
  struct Gate {
    NodeId node = 0;
    std::vector<std::uint16_t> distance;  // by node, in links
    std::vector<float> latency;           // by node: of the quickest shortest way
  };
  struct Step {  // a link on the way and the weight of all that lies behind it
    LinkId link = 0;
    double weight = 0;
  };
  struct Ways;

  void index_links();
  void attach_hosts();
  void measure(Gate& gate) const;
  std::span<const LinkId> out_of(NodeId node) const { return {out_.data() + out_begin_[node], out_begin_[node + 1] - out_begin_[node]}; }
  std::span<const LinkId> into(NodeId node) const { return {in_.data() + in_begin_[node], in_begin_[node + 1] - in_begin_[node]}; }
  double latency_of(LinkId link) const;     // seconds, with the switch that sends
  int distance(NodeId from, int to) const;  // in links; -1 where there is no way
  void next_links(NodeId at, int to, std::vector<LinkId>& out) const;
  bool one_way(const QueuePair& pair, const RoutingOptions& options, std::uint64_t draw, double share, std::vector<Hop>& hops) const;
  bool all_ways(const QueuePair& pair, const RoutingOptions& options, std::vector<Hop>& hops) const;

  SwitchGraph graph_;
  std::optional<ForwardingTable> table_;
  GraphTimes times_;
  std::vector<double> capacities_;
  std::vector<std::uint32_t> out_begin_, in_begin_;  // by node, in out_ and in_
  std::vector<LinkId> out_, in_;
  std::vector<int> leaf_;  // by host
  int leaves_ = 0;
  std::vector<std::uint32_t> gate_of_;  // by host
  std::vector<Gate> gates_;
};

}  // namespace trunkline::network
