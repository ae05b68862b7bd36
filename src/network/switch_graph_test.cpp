#include "network/switch_graph.hpp"

#include <gtest/gtest.h>

#include <set>

#include "network/fabric_run.hpp"

namespace trunkline::network {
namespace {

using topology::Routing;

// Two hosts, two ways between them: over t (fast) and over u (slow).
SwitchGraph diamond(Bandwidth slow = gbyte_per_s(10)) {
  SwitchGraph g;
  for (const char* name : {"a", "b"}) EXPECT_TRUE(g.add_host(name));
  for (const char* name : {"s", "t", "u", "z"}) EXPECT_TRUE(g.add_switch(name));
  const auto join = [&](const char* x, const char* y, Bandwidth rate) { g.join(*g.find(x), *g.find(y), rate, microseconds(1)); };
  join("a", "s", gbyte_per_s(40));
  join("b", "z", gbyte_per_s(40));
  join("s", "t", gbyte_per_s(10));
  join("t", "z", gbyte_per_s(10));
  join("s", "u", slow);
  join("u", "z", gbyte_per_s(10));
  return g;
}

double rate_by(const GraphFabric& fabric, Routing policy) {
  RunOptions options;
  options.routing.policy = policy;
  return as_gbyte_per_s(run_traffic(fabric, std::vector<Demand>{{0, 1, Bytes(1'000'000), {}}}, options).rate.mean);
}

TEST(GraphFabric, HostsAndDistances) {
  const auto fabric = *GraphFabric::build(diamond(), std::nullopt, {microseconds(1), microseconds(2), Bytes(0)});
  EXPECT_EQ(fabric.hosts(), 2);
  EXPECT_EQ(fabric.leaves(), 2);
  EXPECT_EQ(fabric.switches(0, 1), 3);
  EXPECT_NEAR(as_microseconds(fabric.latency(0, 1)), 2 + 4 + 3, 1e-3);
  EXPECT_EQ(*fabric.host_named("b"), 1);
  EXPECT_FALSE(fabric.host_named("s"));
  EXPECT_FALSE(fabric.parted());
}

// One way carries 10; both alike 20; with one of half the rate an equal split is held up by it (2 x 5), a split by capacity is not.
TEST(GraphFabric, OneWayOrAll) {
  EXPECT_NEAR(rate_by(*GraphFabric::build(diamond()), Routing::ecmp), 10, 1e-9);
  EXPECT_NEAR(rate_by(*GraphFabric::build(diamond()), Routing::spray), 20, 1e-9);
  const auto uneven = *GraphFabric::build(diamond(gbyte_per_s(5)));
  EXPECT_NEAR(rate_by(uneven, Routing::spray), 10, 1e-9);
  EXPECT_NEAR(rate_by(uneven, Routing::adaptive), 15, 1e-9);
}

TEST(GraphFabric, SharesAddUpOnEveryCut) {
  const auto fabric = *GraphFabric::build(diamond(gbyte_per_s(3)));
  for (const Routing policy : {Routing::ecmp, Routing::spray, Routing::adaptive, Routing::pinned}) {
    RoutingOptions options;
    options.policy = policy;
    std::vector<Hop> hops;
    ASSERT_TRUE(fabric.route({0, 1, 0}, options, hops));
    double out = 0, in = 0, middle = 0;
    for (const Hop& hop : hops) {
      const auto& link = fabric.graph().links()[hop.link];
      if (link.from == 0) out += hop.share;
      if (link.to == 1) in += hop.share;
      if (fabric.graph().name_of(link.from) == "s") middle += hop.share;
    }
    EXPECT_DOUBLE_EQ(out, 1);
    EXPECT_DOUBLE_EQ(in, 1);
    EXPECT_DOUBLE_EQ(middle, 1);
  }
}

// A Clos as a graph carries what the Clos carries, where the split does not depend on a hash.
TEST(GraphFabric, SameAsAClos) {
  ClosSpec spec;
  spec.hosts = 24;
  spec.hosts_per_leaf = 6;
  spec.spines = 4;
  spec.host_rate = spec.leaf_rate = gbyte_per_s(50);
  spec.wire = microseconds(1);
  const Clos clos = *Clos::build(spec);
  SwitchGraph g;
  for (int i = 0; i < 24; ++i) ASSERT_TRUE(g.add_host("h" + std::to_string(i)));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(g.add_switch("leaf" + std::to_string(i)));
  for (int i = 0; i < 4; ++i) ASSERT_TRUE(g.add_switch("spine" + std::to_string(i)));
  for (NodeId i = 0; i < 24; ++i) g.join(i, 24 + i / 6, gbyte_per_s(50), microseconds(1));
  for (NodeId i = 0; i < 4; ++i) {
    for (NodeId j = 0; j < 4; ++j) g.join(24 + i, 28 + j, gbyte_per_s(50), microseconds(1));
  }
  const auto graph = *GraphFabric::build(g);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    const auto demands = random_pairs(24, 200, Bytes(1'000'000), seed);
    for (const Routing policy : {Routing::spray, Routing::adaptive}) {
      RunOptions options;
      options.routing.policy = policy;
      const auto a = run_traffic(clos, demands, options), b = run_traffic(graph, demands, options);
      EXPECT_NEAR(a.rate.mean / b.rate.mean, 1, 1e-9);
      EXPECT_NEAR(a.completion.mean / b.completion.mean, 1, 1e-6);
      EXPECT_EQ(a.mean_hops, b.mean_hops);
      EXPECT_EQ(a.ideal, b.ideal);
    }
  }
}

TEST(GraphFabric, EcmpUsesEveryLink) {
  SwitchGraph g;
  ASSERT_TRUE(g.add_host("a") && g.add_host("b"));
  ASSERT_TRUE(g.add_switch("s") && g.add_switch("t"));
  g.join(0, 2, gbyte_per_s(1), {});
  g.join(1, 3, gbyte_per_s(1), {});
  g.join(2, 3, gbyte_per_s(1), {}, 8);
  const auto fabric = *GraphFabric::build(g);
  std::set<LinkId> seen;
  std::vector<Hop> hops;
  for (int pair = 0; pair < 200; ++pair) {
    ASSERT_TRUE(fabric.route({0, 1, pair}, {}, hops));
    ASSERT_EQ(hops.size(), 3U);
    seen.insert(hops[1].link);
  }
  EXPECT_EQ(seen.size(), 8U);
  EXPECT_EQ(fabric.name(hops[0].link), "a → s");
  EXPECT_TRUE(fabric.name(hops[1].link).starts_with("s → t ("));
}

// Hosts pass nothing on: c stands between a and b and does not help.
TEST(GraphFabric, HostsAreNoWay) {
  SwitchGraph g;
  for (const char* name : {"a", "b", "c"}) ASSERT_TRUE(g.add_host(name));
  for (const char* name : {"s", "t"}) ASSERT_TRUE(g.add_switch(name));
  g.join(0, 3, gbyte_per_s(1), {});
  g.join(1, 4, gbyte_per_s(1), {});
  g.join(2, 3, gbyte_per_s(1), {});
  g.join(2, 4, gbyte_per_s(1), {});
  const auto fabric = *GraphFabric::build(g);
  ASSERT_TRUE(fabric.parted());
  std::vector<Hop> hops;
  EXPECT_FALSE(fabric.route({0, 1, 0}, {}, hops));
  EXPECT_TRUE(fabric.route({0, 2, 0}, {}, hops));
  EXPECT_TRUE(fabric.route({2, 1, 0}, {}, hops));
  EXPECT_EQ(hops.size(), 2U);
}

TEST(GraphFabric, FlowsNameHosts) {
  const auto fabric = *GraphFabric::build(diamond());
  const auto flows = flows_from("a b 5 0\n1 0 6 0\n", "f.flows", {2, &fabric});
  ASSERT_TRUE(flows);
  EXPECT_EQ((*flows)[0].destination, 1);
  EXPECT_EQ((*flows)[1].source, 1);
  const auto wrong = flows_from("a s 5 0\n", "f.flows", {2, &fabric});
  ASSERT_FALSE(wrong);
  EXPECT_NE(wrong.error().text().find("found \"s\" where a host"), std::string::npos);
}

TEST(ForwardingTable, LeadsWhereItSays) {
  auto table = ForwardingTable::from("s b u  # not over t\nu * z\nz b b\nz a u\nu a s\ns a a\na * s\nb * z\n", "r.txt", diamond());
  ASSERT_TRUE(table) << table.error().text();
  const auto fabric = *GraphFabric::build(diamond(), *table);
  std::vector<Hop> hops;
  for (int pair = 0; pair < 20; ++pair) {
    ASSERT_TRUE(fabric.route({0, 1, pair}, {}, hops));
    EXPECT_EQ(fabric.name(hops[1].link), "s → u");
  }
  EXPECT_TRUE(fabric.route({1, 0, 0}, {}, hops));
}

TEST(ForwardingTable, SaysWhatIsWrongAndWhere) {
  const auto text = [](const char* lines) {
    const auto table = ForwardingTable::from(lines, "r.txt", diamond());
    return table ? std::string() : table.error().text();
  };
  EXPECT_NE(text("s b t\nt b s\n").find("entries for b lead round in a circle: s → t → s"), std::string::npos) << text("s b t\nt b s\n");
  EXPECT_NE(text("# first\ns * t\nt * z\nz * u\nu * s\n").find("lead round in a circle"), std::string::npos);
  EXPECT_NE(text("s b z\n").find("r.txt:1: s has no link to z"), std::string::npos);
  EXPECT_NE(text("\ns x t\n").find("r.txt:2: no host or switch is called \"x\""), std::string::npos);
  EXPECT_NE(text("s t u\n").find("the destination t is a switch"), std::string::npos);
  EXPECT_NE(text("s b\n").find("found 2 words"), std::string::npos);
  EXPECT_NE(text("s b t\ns b u\n").find("r.txt:2: a second entry of s for b"), std::string::npos);
  EXPECT_NE(text("#\n").find("no entries"), std::string::npos);
}

TEST(SwitchGraph, RefusesNamesThatFilesCannotHold) {
  SwitchGraph g;
  EXPECT_TRUE(g.add_host("a"));
  for (const char* name : {"a", "", "a b", "*", "x#y"}) EXPECT_FALSE(g.add_host(name)) << name;
  EXPECT_FALSE(g.add_host(std::string(65, 'x')));
}

}  // namespace
}  // namespace trunkline::network
