// Properties of any fabric: graphs drawn at random, and the traffic over them.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "base/rng.hpp"
#include "network/fabric_run.hpp"
#include "network/switch_graph.hpp"

namespace trunkline::network {
namespace {

using topology::Routing;

// A chain of switches with hosts, so that nobody is parted, and further links anywhere.
SwitchGraph any_graph(std::uint64_t seed, double factor = 1) {
  Rng rng(seed);
  const auto hosts = NodeId(2 + rng.below(10)), switches = NodeId(1 + rng.below(8));
  SwitchGraph graph;
  for (NodeId i = 0; i < hosts; ++i) EXPECT_TRUE(graph.add_host("h" + std::to_string(i)));
  for (NodeId i = 0; i < switches; ++i) EXPECT_TRUE(graph.add_switch("s" + std::to_string(i)));
  const auto rate = [&] { return gbyte_per_s(factor * double(1 + rng.below(4))); };
  const auto latency = [&] { return microseconds(double(rng.below(3))); };
  for (NodeId i = 0; i < hosts; ++i) graph.join(i, hosts + NodeId(rng.below(switches)), rate(), latency());
  for (NodeId i = 1; i < switches; ++i) graph.join(hosts + i - 1, hosts + i, rate(), latency());
  for (std::uint64_t i = rng.below(12); i > 0; --i) {
    const auto a = NodeId(hosts + rng.below(switches)), b = NodeId(hosts + rng.below(switches));
    if (a != b) graph.join(a, b, rate(), latency(), int(1 + rng.below(2)));
  }
  return graph;
}

std::vector<Demand> any_demands(std::uint64_t seed, int hosts) { return random_pairs(hosts, 30, Bytes(1'000'000), seed); }

RunOptions routed(Routing policy, std::uint64_t seed) {
  RunOptions options;
  options.routing.policy = policy;
  options.routing.seed = seed;
  return options;
}

constexpr Routing kPolicies[] = {Routing::ecmp, Routing::pinned, Routing::flowlet, Routing::spray, Routing::adaptive, Routing::ideal};

// What enters a node leaves it: shares sum to 1 at the source and the destination, and to zero in between; no way is longer than the
// shortest.
TEST(FabricProperty, WaysConserveWhatFlows) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    const auto fabric = *GraphFabric::build(any_graph(seed));
    for (const auto& demand : any_demands(seed, fabric.hosts())) {
      for (const Routing policy : kPolicies) {
        RoutingOptions options = routed(policy, seed).routing;
        options.flowlets = 3;
        std::vector<Hop> hops;
        ASSERT_TRUE(fabric.route({demand.source, demand.destination, 0}, options, hops));
        std::map<NodeId, double> net;
        double length = 0;
        for (const Hop& hop : hops) {
          const GraphLink& link = fabric.graph().links()[hop.link];
          net[link.from] += hop.share;
          net[link.to] -= hop.share;
          length += hop.share;
        }
        for (const auto& [node, flow] : net) {
          const double expected = node == NodeId(demand.source) ? 1 : node == NodeId(demand.destination) ? -1 : 0;
          ASSERT_NEAR(flow, expected, 1e-9) << "case " << seed << ", " << topology::name_of(policy);
        }
        ASSERT_NEAR(length, fabric.switches(demand.source, demand.destination) + 1, 1e-9);
      }
    }
  }
}

// Twice the bandwidth everywhere is half the time; no link is over its capacity; nobody beats his own links; the order of the flows
// does not matter.
TEST(FabricProperty, RunsScaleAndStayWithinBounds) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    const auto fabric = *GraphFabric::build(any_graph(seed)), fast = *GraphFabric::build(any_graph(seed, 2));
    auto demands = any_demands(seed, fabric.hosts());
    for (const Routing policy : kPolicies) {
      const auto options = routed(policy, seed);
      const auto run = run_traffic(fabric, demands, options), twice = run_traffic(fast, demands, options);
      ASSERT_NEAR(twice.rate.mean / run.rate.mean, 2, 1e-9);
      ASSERT_NEAR(twice.rate.min / run.rate.min, 2, 1e-9);
      ASSERT_LE(run.max_utilisation, 1 + 1e-9);
      ASSERT_LE(run.core_utilisation, run.max_utilisation + 1e-9);
      ASSERT_GE(run.finish.si(), run.ideal.si() * (1 - 1e-6));
      ASSERT_EQ(run.unserved, 0U);
      auto reversed = demands;
      std::reverse(reversed.begin(), reversed.end());
      const auto again = run_traffic(fabric, reversed, options);
      ASSERT_NEAR(again.completion.max / run.completion.max, 1, 1e-9);
      ASSERT_NEAR(again.completion.mean / run.completion.mean, 1, 1e-9);
    }
  }
}

// A link out of service cuts off the flows that have no other way, no others, and carries nothing.
TEST(FabricProperty, ACutLinkCutsOffOnlyWhatItParts) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    SwitchGraph graph = any_graph(seed);
    Rng rng(seed + 77);
    const auto cut = LinkId(rng.below(graph.wires()));
    graph.scale(cut, 0);
    const auto fabric = *GraphFabric::build(graph);
    const auto demands = any_demands(seed, fabric.hosts());
    const auto run = run_traffic(fabric, demands, routed(Routing::ecmp, seed));
    std::vector<std::size_t> parted;
    std::vector<Hop> hops;
    for (std::size_t d = 0; d < demands.size(); ++d) {
      const bool way = fabric.route({demands[d].source, demands[d].destination, 0}, routed(Routing::spray, seed).routing, hops);
      if (!way) parted.push_back(d);
      if (way) {
        ASSERT_TRUE(std::none_of(hops.begin(), hops.end(), [&](const Hop& hop) { return hop.link == cut; }));
      }
    }
    ASSERT_EQ(run.cut_off, parted) << "case " << seed;
  }
}

}  // namespace
}  // namespace trunkline::network
