// Routing where the fabric is not whole or not alone: failures that nobody was told of, rails that nothing joins, other traffic.
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "network/clos_testing.hpp"
#include "network/fabric_run.hpp"
#include "network/routing.hpp"

namespace trunkline::network {
namespace {

using topology::Routing;

ClosSpec leaf_spine(int hosts, int hosts_per_leaf, int spines) {
  return testing_clos::leaf_spine(hosts, hosts_per_leaf, spines, gbyte_per_s(10));
}

RoutingOptions policy(Routing routing, bool known = true) {
  RoutingOptions options;
  options.policy = routing;
  options.seed = 3;
  options.remote_failures_known = known;
  return options;
}

double share_on(const std::vector<Hop>& hops, LinkId link) {
  double share = 0;
  for (const Hop& hop : hops) share += hop.link == link ? hop.share : 0;
  return share;
}

// 16 hosts on four leaves, four spines; spine 1 has lost its link down to the last leaf.
Clos without_a_way_down() {
  Clos clos = *Clos::build(leaf_spine(16, 4, 4));
  clos.scale(clos.leaf_link(3, 1, 0, Direction::down), 0);
  return clos;
}

// Until routing has converged, the quarter of the queue pairs that hash onto spine 1 ends there.
TEST(FarFailures, EcmpRunsIntoThemUntilItKnows) {
  const Clos clos = without_a_way_down();
  int lost = 0;
  std::vector<Hop> hops;
  constexpr int kPairs = 1000;
  for (int q = 0; q < kPairs; ++q) {
    EXPECT_TRUE(Router(clos, policy(Routing::ecmp)).route({0, 15, q}, hops));
    lost += !Router(clos, policy(Routing::ecmp, false)).route({0, 15, q}, hops);
  }
  EXPECT_NEAR(double(lost) / kPairs, 0.25, 0.04);
}

// A sprayer that does not know sends a quarter of its packets into the dead end, and those again: each of the four ways up carries a third
// of the flow, three of them arrive.
TEST(FarFailures, SprayingSendsLostPacketsAgain) {
  const Clos clos = without_a_way_down();
  for (const auto routing : {Routing::spray, Routing::adaptive}) {
    std::vector<Hop> hops;
    ASSERT_TRUE(Router(clos, policy(routing, false)).route({0, 15, 0}, hops));
    for (int s = 0; s < 4; ++s) {
      EXPECT_NEAR(share_on(hops, clos.leaf_link(0, s, 0, Direction::up)), 1.0 / 3, 1e-12);
      EXPECT_NEAR(share_on(hops, clos.leaf_link(3, s, 0, Direction::down)), s == 1 ? 0 : 1.0 / 3, 1e-12);
    }
    ASSERT_TRUE(Router(clos, policy(routing)).route({0, 15, 0}, hops));
    EXPECT_EQ(share_on(hops, clos.leaf_link(0, 1, 0, Direction::up)), 0);
  }
}

// A link down at a quarter of its rate: with notification adaptive routing sends less over it and gets 3¼ links, without it keeps sending a
// quarter there and gets 4·¼.
TEST(FarFailures, AdaptiveRoutingWithoutNotificationKeepsFeedingASlowLink) {
  ClosSpec spec = leaf_spine(16, 4, 4);
  spec.host_rate = gbyte_per_s(1000);
  Clos clos = *Clos::build(spec);
  clos.scale(clos.leaf_link(3, 1, 0, Direction::down), 0.25);
  for (const auto& [known, links] : {std::pair{true, 3.25}, {false, 1.0}}) {
    const auto result =
        run_traffic(clos, std::vector<Demand>{{0, 15, Bytes(1'000'000), {}}}, {.routing = policy(Routing::adaptive, known)});
    EXPECT_NEAR(as_gbyte_per_s(result.rate.mean), 10 * links, 1e-6) << known;
  }
}

// Three tiers: dead ends behind the core count as well; what flows in flows out, but for them.
TEST(FarFailures, DeadEndsBehindTheCore) {
  ClosSpec spec = leaf_spine(128, 4, 4);
  spec.tiers = 3;
  spec.leaves_per_pod = 4;
  spec.cores = 4;
  Clos clos = *Clos::build(spec);
  clos.scale(clos.spine_link(7, 2, 1, 0, Direction::down), 0);  // one of 16 ways into the last pod
  std::vector<Hop> hops;
  ASSERT_TRUE(Router(clos, policy(Routing::spray, false)).route({0, 127, 0}, hops));
  double up = 0, into_pod = 0, down = 0;
  for (int s = 0; s < 4; ++s) {
    up += share_on(hops, clos.leaf_link(0, s, 0, Direction::up));
    down += share_on(hops, clos.leaf_link(31, s, 0, Direction::down));
    for (int c = 0; c < 4; ++c) into_pod += share_on(hops, clos.spine_link(7, s, c, 0, Direction::down));
  }
  EXPECT_NEAR(up, 16.0 / 15, 1e-12);
  EXPECT_NEAR(into_pod, 1, 1e-12);
  EXPECT_NEAR(down, 1, 1e-12);
}

// Half of the ways taken by somebody else: adaptive routing goes around, spraying does not.
TEST(OtherTraffic, AdaptiveRoutingGoesAround) {
  const Clos clos = *Clos::build(leaf_spine(16, 4, 4));
  std::vector<double> busy(clos.links(), 0);
  for (const int s : {0, 2}) busy[clos.leaf_link(0, s, 0, Direction::up)] = 10e9;
  auto options = policy(Routing::adaptive);
  options.busy = std::make_shared<const std::vector<double>>(busy);
  std::vector<Hop> hops;
  ASSERT_TRUE(Router(clos, options).route({0, 15, 0}, hops));
  EXPECT_NEAR(share_on(hops, clos.leaf_link(0, 1, 0, Direction::up)), 0.5, 1e-3);
  EXPECT_NEAR(share_on(hops, clos.leaf_link(0, 0, 0, Direction::up)), 0, 1e-3);
  options.policy = Routing::spray;
  ASSERT_TRUE(Router(clos, options).route({0, 15, 0}, hops));
  EXPECT_NEAR(share_on(hops, clos.leaf_link(0, 0, 0, Direction::up)), 0.25, 1e-12);
}

// 64 nodes of eight NICs, each rail a leaf-spine network of four leaves of 16.
ClosSpec rails_apart() {
  ClosNeed need;
  need.hosts = 64 * 8;
  need.ports = 32;
  need.rails = 8;
  need.rate = gbyte_per_s(10);
  need.rail_only = true;
  return *clos_for(need);
}

TEST(RailOnly, NoWayFromRailToRail) {
  const Clos clos = *Clos::build(rails_apart());
  EXPECT_EQ(clos.leaves(), 8 * 4);
  const int far = 63 * 8;
  EXPECT_EQ(clos.switches(0, far), 3);
  EXPECT_EQ(clos.switches(0, 8), 1);
  EXPECT_EQ(clos.switches(0, far + 1), 0);
  EXPECT_EQ(clos.path_count(0, far + 1), 0);
  EXPECT_TRUE(clos.paths(0, far + 1).empty());
  for (const auto routing : {Routing::ecmp, Routing::spray}) {
    std::vector<Hop> hops;
    auto options = policy(routing);
    EXPECT_TRUE(Router(clos, options).route({0, far, 0}, hops));
    EXPECT_FALSE(Router(clos, options).route({0, far + 1, 0}, hops));
    options.rail_local = true;  // over NVLink to the right rail first
    EXPECT_TRUE(Router(clos, options).route({0, far + 1, 0}, hops));
  }
}

// Every rail has spines of its own: paths of two rails share no link, and links of all rails have different names.
TEST(RailOnly, RailsShareNothing) {
  const Clos clos = *Clos::build(rails_apart());
  std::set<LinkId> first;
  for (const auto& path : clos.paths(0, 63 * 8)) first.insert(path.begin(), path.end());
  for (const auto& path : clos.paths(1, 63 * 8 + 1)) {
    for (const LinkId link : path) EXPECT_EQ(first.count(link), 0U);
  }
  std::set<std::string> names;
  for (LinkId link = 0; link < clos.wires(); ++link) names.insert(clos.name(link));
  EXPECT_EQ(names.size(), clos.wires());
}

TEST(RailOnly, OfThreeTiersIsRefused) {
  ClosSpec spec = rails_apart();
  spec.tiers = 3;
  spec.leaves_per_pod = 8;
  spec.cores = 1;
  spec.spine_rate = spec.leaf_rate;
  EXPECT_FALSE(Clos::build(spec));
}

// A shift by one pod is what static tables are made for: up by the digits of the destination, down over the wire that belongs to the way
// up. With parallel wires between spines and cores too, no two of all flows meet.
TEST(Pinned, AShiftByAPodMeetsNowhere) {
  ClosNeed need;
  need.hosts = 4 * 16;  // four pods of 8-port switches: four leaves of four hosts, four spines
  need.tiers = 3;
  need.ports = 8;
  need.rate = gbyte_per_s(10);
  const ClosSpec spec = *clos_for(need);
  ASSERT_GT(spec.spine_links, 1);
  const Clos clos = *Clos::build(spec);
  const Router router(clos, policy(Routing::pinned));
  std::set<LinkId> used;
  std::size_t crossed = 0;
  std::vector<Hop> hops;
  for (int host = 0; host < 64; ++host) {
    ASSERT_TRUE(router.route({host, (host + 16) % 64, 0}, hops));
    for (const Hop& hop : hops) used.insert(hop.link);
    crossed += hops.size();
  }
  EXPECT_EQ(used.size(), crossed);
}

TEST(Flowlets, NeedPauses) {
  EXPECT_EQ(flowlets_of({1000, microseconds(600), microseconds(500)}), 1000);
  EXPECT_EQ(flowlets_of({1000, microseconds(1), microseconds(500)}), 1);  // RDMA, back to back
  EXPECT_EQ(flowlets_of({}), 1);
}

}  // namespace
}  // namespace trunkline::network
