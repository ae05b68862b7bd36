// Any text as flows, a matrix and forwarding tables: an error or demands that the fabric has room for, never a crash or an endless loop.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "network/switch_graph.hpp"
#include "network/traffic.hpp"

using namespace trunkline;

namespace {

void check(const Result<std::vector<network::Demand>>& demands, int hosts) {
  if (!demands) {
    if (demands.error().message.empty()) std::abort();
    return;
  }
  for (const auto& demand : *demands) {
    if (demand.source < 0 || demand.source >= hosts || demand.destination < 0 || demand.destination >= hosts) std::abort();
    if (demand.size.count() <= 0 || !(demand.start.si() >= 0)) std::abort();
  }
}

// Four hosts on a circle of four switches.
network::SwitchGraph circle() {
  network::SwitchGraph graph;
  for (const char* name : {"a", "b", "c", "d"}) (void)graph.add_host(name);
  for (const char* name : {"s", "t", "u", "v"}) (void)graph.add_switch(name);
  for (network::NodeId i = 0; i < 4; ++i) {
    graph.join(i, 4 + i, gbyte_per_s(1), microseconds(1));
    graph.join(4 + i, 4 + (i + 1) % 4, gbyte_per_s(1), microseconds(1));
  }
  return graph;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static const network::SwitchGraph graph = circle();
  static const network::GraphFabric fabric = *network::GraphFabric::build(graph);
  check(network::flows_from(text, "fuzz.flows", 16), 16);
  check(network::flows_from(text, "fuzz.flows", {4, &fabric}), 4);
  check(network::matrix_from(text, "fuzz.csv", 4), 4);
  auto table = network::ForwardingTable::from(text, "fuzz.routes", graph);
  if (!table) return 0;
  const auto routed = network::GraphFabric::build(graph, std::move(*table));
  if (!routed) std::abort();
  std::vector<network::Hop> hops;
  for (int from = 0; from < 4; ++from) {
    for (int to = 0; to < 4; ++to) {
      if (routed->route({from, to, 0}, {}, hops) && from != to && hops.size() > graph.nodes()) std::abort();
    }
  }
  return 0;
}
