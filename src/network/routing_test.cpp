#include "network/routing.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

#include "network/clos_testing.hpp"

namespace trunkline::network {
namespace {

using topology::Routing;

ClosSpec leaf_spine(int hosts, int hosts_per_leaf, int spines) {
  return testing_clos::leaf_spine(hosts, hosts_per_leaf, spines, gbit_per_s(400));
}

ClosSpec fat_tree() {
  ClosSpec spec = leaf_spine(128, 4, 4);  // of 8-port switches
  spec.tiers = 3;
  spec.leaves_per_pod = 4;
  spec.cores = 4;
  return spec;
}

RoutingOptions policy(Routing routing, std::uint64_t seed = 1) {
  RoutingOptions options;
  options.policy = routing;
  options.seed = seed;
  return options;
}

std::vector<Hop> routed(const Router& router, int from, int to, int index = 0) {
  std::vector<Hop> hops;
  EXPECT_TRUE(router.route({from, to, index}, hops));
  return hops;
}

std::vector<LinkId> links_of(const std::vector<Hop>& hops) {
  std::vector<LinkId> out;
  for (const Hop& hop : hops) out.push_back(hop.link);
  return out;
}

TEST(Routing, OnePathPoliciesTakeOneOfThePaths) {
  const Clos clos = *Clos::build(fat_tree());
  for (const auto routing : {Routing::ecmp, Routing::pinned, Routing::flowlet}) {
    const Router router(clos, policy(routing));
    for (const int to : {1, 5, 17, 127}) {
      const auto hops = routed(router, 0, to);
      const auto paths = clos.paths(0, to);
      EXPECT_NE(std::find(paths.begin(), paths.end(), links_of(hops)), paths.end());
      for (const Hop& hop : hops) EXPECT_EQ(hop.share, 1);
    }
    EXPECT_TRUE(routed(router, 9, 9).empty());
  }
}

TEST(Routing, EcmpIsAFunctionOfTheQueuePairAndTheSeed) {
  const Clos clos = *Clos::build(leaf_spine(512, 32, 32));
  const Router router(clos, policy(Routing::ecmp, 7)), again(clos, policy(Routing::ecmp, 7)), other(clos, policy(Routing::ecmp, 8));
  int same = 0;
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(routed(router, 0, 100, i), routed(again, 0, 100, i));
    same += routed(router, 0, 100, i) == routed(other, 0, 100, i);
  }
  EXPECT_LT(same, 30);  // 300/32 by chance
}

// 32,000 queue pairs over 32 spines: each gets 1,000 ± 31; five deviations are 16 %.
TEST(Routing, EcmpSpreadsEvenly) {
  const Clos clos = *Clos::build(leaf_spine(512, 32, 32));
  const Router router(clos, policy(Routing::ecmp));
  std::map<LinkId, int> uplinks;
  for (int i = 0; i < 32'000; ++i) ++uplinks[routed(router, i % 32, 32 + i % 480, i)[1].link];
  EXPECT_EQ(uplinks.size(), 32U);
  for (const auto& [link, count] : uplinks) EXPECT_NEAR(count, 1000, 160);
}

// The same hash function on every tier makes the second choice follow from the first: of 4 × 4 ways to the core 4 are used.
TEST(Routing, SameHashOnEveryTierPolarises) {
  const Clos clos = *Clos::build(fat_tree());
  for (const bool same : {false, true}) {
    auto options = policy(Routing::ecmp);
    options.same_hash = same;
    const Router router(clos, options);
    std::set<LinkId> cores;
    for (int i = 0; i < 500; ++i) cores.insert(routed(router, 0, 127, i)[2].link);
    EXPECT_EQ(cores.size(), same ? 4U : 16U);
  }
}

// Forwarding by destination: the flows into one leaf come over different spines as long as there are as many.
TEST(Routing, PinnedPathsIntoALeafDoNotMeet) {
  const Clos clos = *Clos::build(leaf_spine(512, 32, 32));
  const Router router(clos, policy(Routing::pinned));
  std::set<LinkId> down;
  for (int to = 32; to < 64; ++to) down.insert(routed(router, to + 64, to)[2].link);
  EXPECT_EQ(down.size(), 32U);
}

TEST(Routing, EcmpAvoidsWhatIsOutOfService) {
  Clos clos = *Clos::build(fat_tree());
  clos.scale(clos.leaf_link(0, 1, 0, Direction::up), 0);        // no spine 1 from leaf 0
  clos.scale(clos.leaf_link(31, 2, 0, Direction::down), 0);     // no spine 2 to leaf 31
  clos.scale(clos.spine_link(0, 3, 0, 0, Direction::up), 0);    // pod 0, spine 3: one core less up
  clos.scale(clos.spine_link(7, 3, 1, 0, Direction::down), 0);  // and another that does not come down
  const auto paths = clos.paths(0, 127);
  EXPECT_EQ(paths.size(), 4U + 2U);  // over spine 0, over spine 3
  const Router router(clos, policy(Routing::ecmp));
  std::set<std::vector<LinkId>> taken;
  for (int i = 0; i < 500; ++i) taken.insert(links_of(routed(router, 0, 127, i)));
  EXPECT_EQ(taken, std::set<std::vector<LinkId>>(paths.begin(), paths.end()));
}

TEST(Routing, NoPathIsSaid) {
  Clos clos = *Clos::build(leaf_spine(64, 16, 2));
  clos.scale(clos.leaf_link(0, 0, 0, Direction::up), 0);
  clos.scale(clos.leaf_link(3, 1, 0, Direction::down), 0);
  for (const auto routing : {Routing::ecmp, Routing::spray, Routing::adaptive}) {
    const Router router(clos, policy(routing));
    std::vector<Hop> hops;
    EXPECT_FALSE(router.route({0, 63, 0}, hops));
    EXPECT_TRUE(router.route({0, 17, 0}, hops));
  }
}

double share_on(const std::vector<Hop>& hops, LinkId link) {
  double share = 0;
  for (const Hop& hop : hops) share += hop.link == link ? hop.share : 0;
  return share;
}

TEST(Routing, FlowletsSplitOverTheirDraws) {
  const Clos clos = *Clos::build(leaf_spine(64, 16, 16));
  auto options = policy(Routing::flowlet);
  options.flowlets = 1000;
  const auto hops = routed(Router(clos, options), 0, 63);
  double sum = 0;
  for (int s = 0; s < 16; ++s) {
    const double share = share_on(hops, clos.leaf_link(0, s, 0, Direction::up));
    EXPECT_NEAR(share, 1.0 / 16, 0.04);
    EXPECT_NEAR(share_on(hops, clos.leaf_link(3, s, 0, Direction::down)), share, 1e-12);
    sum += share;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
}

// What flows into each tier of switches flows out of it.
TEST(Routing, SplitSharesAreConserved) {
  ClosSpec spec = fat_tree();
  spec.leaf_links = 2;
  spec.spine_links = 2;
  Clos clos = *Clos::build(spec);
  clos.scale(clos.leaf_link(0, 1, 1, Direction::up), 0.5);
  clos.scale(clos.spine_link(7, 2, 1, 0, Direction::down), 0);
  clos.scale(clos.leaf_link(31, 3, 0, Direction::down), 0);
  for (const auto routing : {Routing::spray, Routing::adaptive}) {
    const auto hops = routed(Router(clos, policy(routing)), 0, 127);
    for (int s = 0; s < 4; ++s) {
      double up = 0, down = 0, over_up = 0, over_down = 0;
      for (int k = 0; k < 2; ++k) {
        up += share_on(hops, clos.leaf_link(0, s, k, Direction::up));
        down += share_on(hops, clos.leaf_link(31, s, k, Direction::down));
        for (int c = 0; c < 4; ++c) {
          over_up += share_on(hops, clos.spine_link(0, s, c, k, Direction::up));
          over_down += share_on(hops, clos.spine_link(7, s, c, k, Direction::down));
        }
      }
      EXPECT_NEAR(up, over_up, 1e-12);
      EXPECT_NEAR(up, over_down, 1e-12);
      EXPECT_NEAR(up, down, 1e-12);
      EXPECT_GT(up, 0.1);
    }
    EXPECT_EQ(share_on(hops, clos.leaf_link(31, 3, 0, Direction::down)), 0);
  }
}

// One spine link at half rate out of four: an equal split runs at the pace of the slow link, 4·½ links; a split by capacity uses
// all 3½.
TEST(Routing, SlowLinkHoldsAnEqualSplitOnly) {
  ClosSpec spec = leaf_spine(8, 4, 4);
  spec.host_rate = gbit_per_s(4000);
  Clos clos = *Clos::build(spec);
  clos.scale(clos.leaf_link(0, 2, 0, Direction::up), 0.5);
  for (const auto& [routing, links] : {std::pair{Routing::spray, 2.0}, {Routing::adaptive, 3.5}}) {
    MaxMin sharing(clos.capacities());
    const auto flow = sharing.join(routed(Router(clos, policy(routing)), 0, 7));
    sharing.solve();
    EXPECT_NEAR(sharing.level(flow), links * 50e9, 1);
  }
}

// Where all wires of a tier are alike, groups stand for them: the same rates, six hops.
TEST(Routing, GroupsGiveTheRatesOfTheSplit) {
  ClosSpec spec = fat_tree();
  spec.leaf_rate = gbit_per_s(200);
  spec.spine_rate = gbit_per_s(50);
  Clos grouped = *Clos::build(spec), apart = *Clos::build(spec);
  // Taking a wire away between two leaves that carry none of this traffic leaves only the explicit split.
  apart.scale(apart.leaf_link(8, 0, 0, Direction::up), 0.5);
  ASSERT_TRUE(grouped.grouped());
  ASSERT_FALSE(apart.grouped());
  auto options = policy(Routing::spray);
  options.efficiency = 0.9;
  const Router few(grouped, options), many(apart, options);
  MaxMin a(grouped.capacities()), b(apart.capacities());
  std::vector<std::pair<BundleId, BundleId>> flows;
  for (int i = 0; i < 32; ++i) {
    const int to = 127 - (i * 7) % 64;
    EXPECT_LE(routed(few, i, to).size(), 6U);
    flows.emplace_back(a.join(routed(few, i, to)), b.join(routed(many, i, to)));
  }
  a.solve();
  b.solve();
  for (const auto& [x, y] : flows) EXPECT_NEAR(a.level(x), b.level(y), 1e-9 * b.level(y));
}

TEST(Routing, EfficiencyTakesFromTheFabricNotFromTheHosts) {
  const Clos clos = *Clos::build(leaf_spine(8, 4, 4));
  auto options = policy(Routing::spray);
  options.efficiency = 0.8;
  const auto hops = routed(Router(clos, options), 0, 7);
  EXPECT_EQ(hops.front().share, 1);
  EXPECT_EQ(hops.back().share, 1);
  EXPECT_DOUBLE_EQ(hops[1].share, 1.25);
}

// PXN: the data takes NVLink to the GPU whose NIC is on the rail of the destination; one switch instead of three.
TEST(Routing, RailLocalSendsFromTheRailOfTheDestination) {
  ClosSpec spec = leaf_spine(32 * 8, 32, 32);
  spec.rails = 8;
  const Clos clos = *Clos::build(spec);
  auto options = policy(Routing::ecmp);
  options.rail_local = true;
  const Router router(clos, options);
  const int from = 2 * 8 + 1, to = 9 * 8 + 5;
  EXPECT_EQ(clos.switches(from, to), 3);
  EXPECT_EQ(router.sender({from, to, 0}), 2 * 8 + 5);
  EXPECT_EQ(clos.switches(router.sender({from, to, 0}), to), 1);
  EXPECT_EQ(routed(router, from, to).size(), 2U);
  EXPECT_TRUE(routed(router, from, 2 * 8 + 5).empty());  // inside the node it never enters the fabric
}

}  // namespace
}  // namespace trunkline::network
