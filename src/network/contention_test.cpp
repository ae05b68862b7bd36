#include "network/contention.hpp"

#include <gtest/gtest.h>

namespace trunkline::network {
namespace {

using topology::Routing;
using Flows = std::vector<std::vector<HostPair>>;  // by strand

// Eight hosts on two leaves of four, joined by `spines` spines: 4 : spines oversubscribed.
ClosFabric two_leaves(int spines) {
  ClosSpec spec;
  spec.hosts = 8;
  spec.hosts_per_leaf = 4;
  spec.spines = spines;
  spec.host_rate = spec.leaf_rate = byte_per_s(10);
  return ClosFabric(std::make_shared<const Clos>(*Clos::build(spec)));
}

TrafficKind kind_of(const std::string& name, Flows flows, bool one_chain = false) {
  return {name, 1, [flows = std::move(flows), one_chain](const std::function<void(const Strand&)>& visit) {
            std::uint32_t i = 0;
            for (const auto& strand : flows) visit({strand, 1, 1, one_chain ? 0 : i++});
          }};
}

RoutingOptions policy(Routing routing) {
  RoutingOptions options;
  options.policy = routing;
  return options;
}

// Four flows from leaf to leaf over half the uplinks: each gets half of its NIC. With another kind of four beside it on the same NICs,
// alone that kind would have half as well; together a quarter, against the whole NIC alone.
TEST(Contention, SharesAreOfTheHostLinks) {
  const ClosFabric fabric = two_leaves(2);
  Contention contention(fabric, policy(Routing::spray));
  const Flows across = {{{0, 4}}, {{1, 5}}, {{2, 6}}, {{3, 7}}};
  const int a = contention.add(kind_of("a", across)), b = contention.add(kind_of("b", across));
  EXPECT_DOUBLE_EQ(contention.shares(1U << a)[std::size_t(a)].slowest, 0.5);
  EXPECT_DOUBLE_EQ(contention.shares(3)[std::size_t(a)].slowest, 0.25);
  EXPECT_DOUBLE_EQ(contention.shares(3)[std::size_t(b)].mean, 0.25);
  EXPECT_EQ(contention.flows(a), 4U);
}

// What the NICs themselves share out is no cost of the fabric: two flows of one kind out of one NIC keep all of it.
TEST(Contention, OneKindOnItsOwnNicsKeepsThem) {
  const ClosFabric fabric = two_leaves(4);
  Contention contention(fabric, policy(Routing::spray));
  contention.add(kind_of("a", {{{0, 4}}, {{0, 5}}}));
  EXPECT_DOUBLE_EQ(contention.shares(1)[0].slowest, 1);
  EXPECT_DOUBLE_EQ(contention.shares(1)[0].mean, 1);
}

// A ring moves at the rate of its slowest hop and takes no more on the others: three rings share the one spine, so that hop 0 → 1 of the
// first takes a third of host 1's link although it could have half of it beside another flow, which then has two thirds.
TEST(Contention, AStrandMovesAtOneRate) {
  const ClosFabric fabric = two_leaves(1);
  Contention contention(fabric, policy(Routing::ecmp));
  contention.add(kind_of("rings", {{{0, 1}, {1, 4}, {4, 0}}, {{2, 5}, {5, 2}}, {{3, 6}, {6, 3}}}));
  contention.add(kind_of("other", {{{3, 1}}}));
  EXPECT_DOUBLE_EQ(contention.shares(1)[0].slowest, 1.0 / 3);
  EXPECT_DOUBLE_EQ(contention.shares(3)[0].slowest, 1.0 / 3);
  EXPECT_DOUBLE_EQ(contention.shares(3)[1].slowest, 2.0 / 3);
}

// Copies along a pipeline take turns: one slow boundary of two costs half of what it would cost a collective.
TEST(Contention, AChainAddsUpItsTimes) {
  const ClosFabric fabric = two_leaves(1);
  Contention chain(fabric, policy(Routing::ecmp)), apart(fabric, policy(Routing::ecmp));
  const Flows flows = {{{0, 1}}, {{1, 4}}, {{2, 5}}};  // the last two share the spine
  chain.add(kind_of("pipelines", flows, true));
  apart.add(kind_of("collectives", flows));
  EXPECT_DOUBLE_EQ(apart.shares(1)[0].slowest, 0.5);
  EXPECT_DOUBLE_EQ(chain.shares(1)[0].slowest, 3.0 / 5);
}

// Queue pairs of one flow are hashed each by itself: more of them come closer to an even split, and the slowest part counts.
TEST(Contention, MoreQueuePairsCollideLess) {
  ClosSpec spec;
  spec.hosts = 128;
  spec.hosts_per_leaf = 16;
  spec.spines = 16;
  spec.host_rate = spec.leaf_rate = byte_per_s(10);
  const ClosFabric fabric(std::make_shared<const Clos>(*Clos::build(spec)));
  Flows flows;
  for (int i = 0; i < 128; ++i) flows.push_back({{i, (i + 16) % 128}});
  double before = 0;
  for (const int pairs : {1, 4, 16, 64}) {
    Contention contention(fabric, policy(Routing::ecmp));
    auto kind = kind_of("a", flows);
    kind.queue_pairs = pairs;
    contention.add(kind);
    const double share = contention.shares(1)[0].slowest;
    EXPECT_GT(share, before) << pairs;
    EXPECT_LT(share, 1);
    before = share;
  }
}

// Eight GPUs behind one wide card: their rings run between the same two hosts, yet each queue pair has a hash of its own.
TEST(Contention, StrandsBetweenTheSameHostsTakeWaysOfTheirOwn) {
  ClosSpec spec;
  spec.hosts = 8;
  spec.hosts_per_leaf = 4;
  spec.spines = 16;
  spec.host_rate = byte_per_s(160);
  spec.leaf_rate = byte_per_s(10);
  const ClosFabric fabric(std::make_shared<const Clos>(*Clos::build(spec)));
  Contention contention(fabric, policy(Routing::ecmp));
  contention.add(kind_of("rings", Flows(16, {{0, 4}})));
  EXPECT_GE(contention.shares(1)[0].slowest, 1.0 / 6);  // on one way for all it would be a sixteenth
}

TEST(Contention, NamesTheLinkThatIsAskedForMost) {
  const ClosFabric fabric = two_leaves(1);
  Contention contention(fabric, policy(Routing::ecmp));
  contention.add(kind_of("a", {{{0, 4}}, {{1, 5}}, {{2, 6}}, {{3, 2}}}));
  const auto hottest = contention.hottest(1, 1);
  ASSERT_EQ(hottest.size(), 1U);
  EXPECT_EQ(hottest.front().name, "leaf 0 → spine 0");
  EXPECT_NEAR(hottest.front().utilisation, 3, 1e-6);
}

TEST(Contention, EachSetIsSolvedOnce) {
  const ClosFabric fabric = two_leaves(2);
  Contention contention(fabric, policy(Routing::ecmp));
  contention.add(kind_of("a", {{{0, 4}}}));
  contention.add(kind_of("b", {{{1, 5}}}));
  for (int i = 0; i < 3; ++i) {
    contention.shares(1);
    contention.shares(3);
  }
  EXPECT_EQ(contention.solves(), 2U);
}

}  // namespace
}  // namespace trunkline::network
