#include "network/switch_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace trunkline::network {
namespace {

constexpr std::size_t kLongestName = 64;
constexpr std::string_view kBlank = " \t\r\n";

}  // namespace

// --- graph -----------------------------------------------------------------------------------------------------------------

Result<void> SwitchGraph::add_node(const std::string& name, bool host) {
  if (name.empty() || name.size() > kLongestName || name.find_first_of(std::string(kBlank) + "#") != std::string::npos || name == "*")
    return bad_input({}, fmt::format("\"{}\" as a name of a host or switch", excerpt(name)), "a word without blanks, of at most 64 bytes");
  if (names_.size() >= kMostNodes)
    return bad_input({}, fmt::format("more than {} hosts and switches", kMostNodes), "describe a Clos by its counts");
  if (!ids_.emplace(name, NodeId(names_.size())).second)
    return bad_input({}, fmt::format("\"{}\" stands twice among hosts and switches", excerpt(name)), "give every one a name of its own");
  names_.push_back(name);
  if (host) hosts_ = names_.size();
  return {};
}

void SwitchGraph::join(NodeId a, NodeId b, Bandwidth rate, Seconds latency, int count) {
  std::uint32_t& before = parallel_[std::minmax(a, b)];
  for (int i = 0; i < count; ++i) {
    links_.push_back({a, b, rate.si(), latency.si(), before});
    links_.push_back({b, a, rate.si(), latency.si(), before});
    ++before;
  }
}

std::optional<NodeId> SwitchGraph::find(std::string_view name) const {
  const auto at = ids_.find(std::string(name));
  if (at == ids_.end()) return std::nullopt;
  return at->second;
}

std::string SwitchGraph::name(LinkId link) const {
  const GraphLink& l = links_[link];
  const bool several = parallel_.at(std::minmax(l.from, l.to)) > 1;
  return fmt::format("{} → {}{}", names_[l.from], names_[l.to], several ? fmt::format(" ({})", l.parallel) : "");
}

std::vector<int> SwitchGraph::degrees() const {
  std::vector<int> out(nodes(), 0);
  for (const GraphLink& link : links_) ++out[link.from];
  return out;
}

// --- forwarding tables -----------------------------------------------------------------------------------------------------

const ForwardingTable::Entry* ForwardingTable::find(NodeId at, NodeId destination) const {
  auto entry = entries_.find({at, destination});
  if (entry == entries_.end()) entry = entries_.find({at, kAny});
  return entry == entries_.end() ? nullptr : &entry->second;
}

std::span<const NodeId> ForwardingTable::next(NodeId at, NodeId destination) const {
  const Entry* entry = find(at, destination);
  return entry ? std::span<const NodeId>(entry->next) : std::span<const NodeId>();
}

Result<ForwardingTable> ForwardingTable::from(std::string_view text, const std::string& file, const SwitchGraph& graph) {
  ForwardingTable table;
  std::set<std::pair<NodeId, NodeId>> neighbours;
  for (const GraphLink& link : graph.links()) neighbours.emplace(link.from, link.to);
  const auto node = [&](std::string_view word, const Where& where) -> Result<NodeId> {
    if (const auto id = graph.find(word)) return *id;
    return bad_input(where, fmt::format("no host or switch is called \"{}\"", excerpt(word)), "a line is: node destination next …");
  };
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    const Where where{file, ++number};
    line = line.substr(0, line.find('#'));
    std::vector<std::string_view> words;
    for (std::size_t at = line.find_first_not_of(kBlank); at != std::string_view::npos; at = line.find_first_not_of(kBlank)) {
      line.remove_prefix(at);
      words.push_back(line.substr(0, line.find_first_of(kBlank)));
      line.remove_prefix(words.back().size());
    }
    if (words.empty()) continue;
    if (words.size() < 3) return bad_input(where, fmt::format("found {} words", words.size()), "a line is: node destination next …");
    TRUNKLINE_ASSIGN(at, node(words[0], where));
    NodeId destination = kAny;
    if (words[1] != "*") {
      TRUNKLINE_ASSIGN(host, node(words[1], where));
      if (!graph.is_host(host))
        return bad_input(where, fmt::format("the destination {} is a switch", words[1]), "name a host, or * for all");
      destination = host;
    }
    Entry entry{{}, number};
    for (std::size_t i = 2; i < words.size(); ++i) {
      TRUNKLINE_ASSIGN(next, node(words[i], where));
      if (!neighbours.contains({at, next}))
        return bad_input(where, fmt::format("{} has no link to {}", words[0], words[i]), "the next node is a neighbour");
      entry.next.push_back(next);
    }
    if (!table.entries_.emplace(std::pair(at, destination), std::move(entry)).second)
      return bad_input(where, fmt::format("a second entry of {} for {}", words[0], words[1]), "write all next nodes into one line");
  }
  if (table.entries_.empty()) return bad_input({file, 0}, "no entries", "a line is: node destination next …");
  TRUNKLINE_TRY(table.check_circles(file, graph));
  return table;
}

// Follows the entries from every node; what is met again while it is still being followed closes a circle. The line of that entry.
std::optional<int> ForwardingTable::circle_to(NodeId destination, const SwitchGraph& graph, std::vector<NodeId>& round) const {
  enum class State : std::uint8_t { fresh, open, done };
  struct Visit {
    NodeId node;
    std::size_t next = 0;
  };
  std::vector<State> state(graph.nodes(), State::fresh);
  for (const auto& [key, ignored] : entries_) {
    if (state[key.first] != State::fresh) continue;
    std::vector<Visit> stack = {{key.first}};
    state[key.first] = State::open;
    while (!stack.empty()) {
      const NodeId at = stack.back().node;
      const auto choices = at == destination ? std::span<const NodeId>() : next(at, destination);
      if (stack.back().next == choices.size()) {
        state[at] = State::done;
        stack.pop_back();
        continue;
      }
      const NodeId to = choices[stack.back().next++];
      if (state[to] == State::open) {
        const auto begin = std::find_if(stack.begin(), stack.end(), [&](const Visit& v) { return v.node == to; });
        for (auto v = begin; v != stack.end(); ++v) round.push_back(v->node);
        return find(at, destination)->line;
      }
      if (state[to] != State::fresh) continue;
      state[to] = State::open;
      stack.push_back({to});
    }
  }
  return std::nullopt;
}

Result<void> ForwardingTable::check_circles(const std::string& file, const SwitchGraph& graph) const {
  std::set<NodeId> destinations;
  for (const auto& [key, ignored] : entries_) {
    if (key.second != kAny) destinations.insert(key.second);
  }
  for (NodeId host = 0; host < graph.hosts(); ++host) {  // one that only * serves stands for all others like it
    if (destinations.contains(host)) continue;
    destinations.insert(host);
    break;
  }
  for (const NodeId destination : destinations) {
    std::vector<NodeId> round;
    const auto line = circle_to(destination, graph, round);
    if (!line) continue;
    std::string way;
    for (const NodeId node : round) way += graph.name_of(node) + " → ";
    return bad_input(
        {file, *line},
        fmt::format("entries for {} lead round in a circle: {}{}", graph.name_of(destination), way, graph.name_of(round.front())),
        "every entry has to lead nearer to the destination");
  }
  return {};
}

}  // namespace trunkline::network
