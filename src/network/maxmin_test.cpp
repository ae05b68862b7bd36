#include "network/maxmin.hpp"

#include <gtest/gtest.h>

#include <array>

#include "base/rng.hpp"

std::size_t allocations_so_far();  // allocations_test.cpp

namespace trunkline::network {
namespace {

using Path = std::vector<LinkId>;

double level(const MaxMin& sharing, BundleId bundle) { return sharing.level(bundle); }

TEST(MaxMin, OneLinkIsSharedByWeight) {
  MaxMin sharing(std::vector<double>{12});
  const auto a = sharing.join(Path{0}, 1), b = sharing.join(Path{0}, 2, 100);  // the cap keeps it a bundle of its own
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, a), 4);
  EXPECT_DOUBLE_EQ(level(sharing, b) * 2, 8);
  EXPECT_EQ(sharing.bottleneck(a), 0U);
  EXPECT_DOUBLE_EQ(sharing.load(0), 12);
  EXPECT_DOUBLE_EQ(sharing.link_level(0), 4);
}

// One long flow over n links, one short on each: everyone gets half, as each link has two flows and none is freer than another.
TEST(MaxMin, ParkingLot) {
  MaxMin sharing(std::vector<double>(5, 10.0));
  const auto along = sharing.join(Path{0, 1, 2, 3, 4});
  std::vector<BundleId> across;
  for (LinkId link = 0; link < 5; ++link) across.push_back(sharing.join(Path{link}));
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, along), 5);
  for (const auto b : across) EXPECT_DOUBLE_EQ(level(sharing, b), 5);
  // A second flow on link 2 leaves the long one a third there; the others take what it gives up.
  sharing.join(Path{2});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, along), 10.0 / 3);
  EXPECT_DOUBLE_EQ(level(sharing, across[2]), 10.0 / 3);
  EXPECT_DOUBLE_EQ(level(sharing, across[0]), 20.0 / 3);
}

// Three levels that build on each other: 1 = 2/2; then (7 − 1)/2 = 3 on link 1; then 10 − 3 = 7 on link 2.
TEST(MaxMin, LevelsBuildOnEachOther) {
  MaxMin sharing(std::vector<double>{2, 7, 10});
  const auto low = sharing.join(Path{0}), both = sharing.join(Path{0, 1}), middle = sharing.join(Path{1});
  const auto upper = sharing.join(Path{1, 2}), top = sharing.join(Path{2});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, low), 1);
  EXPECT_DOUBLE_EQ(level(sharing, both), 1);
  EXPECT_DOUBLE_EQ(level(sharing, middle), 3);
  EXPECT_DOUBLE_EQ(level(sharing, upper), 3);
  EXPECT_DOUBLE_EQ(level(sharing, top), 7);
  // Freeing the lowest level moves all above it, by turns up and down.
  sharing.leave(low);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, both), 2);
  EXPECT_DOUBLE_EQ(level(sharing, middle), 2.5);
  EXPECT_DOUBLE_EQ(level(sharing, upper), 2.5);
  EXPECT_DOUBLE_EQ(level(sharing, top), 7.5);
}

TEST(MaxMin, CapLeavesTheRestToOthers) {
  MaxMin sharing(std::vector<double>{10});
  const auto capped = sharing.join(Path{0}, 1, 2), free = sharing.join(Path{0});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, capped), 2);
  EXPECT_EQ(sharing.bottleneck(capped), MaxMin::kOwnCap);
  EXPECT_DOUBLE_EQ(level(sharing, free), 8);
  sharing.set_capacity(0, 3);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, capped), 1.5);
  EXPECT_DOUBLE_EQ(level(sharing, free), 1.5);
  sharing.set_capacity(0, 10);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, capped), 2);
  EXPECT_DOUBLE_EQ(level(sharing, free), 8);
}

TEST(MaxMin, CapBoundsTheFlowNotItsUnitOfWeight) {
  MaxMin sharing(std::vector<double>{10});
  const auto heavy = sharing.join(Path{0}, 4, 2);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, heavy) * 4, 2);
}

TEST(MaxMin, FlowsOfOnePathAreOneBundle) {
  MaxMin sharing(std::vector<double>{12, 12});
  const auto first = sharing.join(Path{0, 1});
  for (int i = 0; i < 9; ++i) EXPECT_EQ(sharing.join(Path{0, 1}), first);
  const auto other = sharing.join(Path{1}, 2);
  EXPECT_EQ(sharing.bundles(), 2U);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, first), 1);
  EXPECT_DOUBLE_EQ(level(sharing, other), 1);
  for (int i = 0; i < 8; ++i) sharing.leave(first);
  sharing.solve();
  EXPECT_EQ(sharing.bundles(), 2U);
  EXPECT_DOUBLE_EQ(level(sharing, first), 3);
}

// A flow split over four links loads each with a quarter of its rate.
TEST(MaxMin, SplitFlowLoadsEachLinkWithItsShare) {
  MaxMin sharing(std::vector<double>{10, 1, 1, 1, 1});
  const auto split = sharing.join(std::vector<Hop>{{0, 1}, {1, 0.25}, {2, 0.25}, {3, 0.25}, {4, 0.25}});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, split), 4);
  sharing.set_capacity(3, 0.5);  // the slowest part holds the whole flow
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, split), 2);
  EXPECT_EQ(sharing.bottleneck(split), 3U);
}

TEST(MaxMin, LinkNamedTwiceIsLoadedTwice) {
  MaxMin sharing(std::vector<double>{10, 10});
  const auto twice = sharing.join(Path{0, 1, 0}), once = sharing.join(Path{0});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, twice), 10.0 / 3);
  EXPECT_DOUBLE_EQ(level(sharing, once), 10.0 / 3);
}

TEST(MaxMin, DeadLinkStopsItsFlowsOnly) {
  MaxMin sharing(std::vector<double>{0, 10});
  const auto dead = sharing.join(Path{0, 1}), alive = sharing.join(Path{1});
  sharing.solve();
  EXPECT_EQ(level(sharing, dead), 0);
  EXPECT_DOUBLE_EQ(level(sharing, alive), 10);
}

TEST(MaxMin, NothingLimitsAnEmptyPath) {
  MaxMin sharing(std::vector<double>{1});
  const auto nowhere = sharing.join(Path{}), capped = sharing.join(Path{}, 1, 7);
  sharing.solve();
  EXPECT_EQ(level(sharing, nowhere), kUnlimited);
  EXPECT_EQ(sharing.bottleneck(nowhere), MaxMin::kNone);
  EXPECT_DOUBLE_EQ(level(sharing, capped), 7);
}

TEST(MaxMin, SaysWhatMoved) {
  MaxMin sharing(std::vector<double>{2, 10, 5});
  const auto a = sharing.join(Path{0, 1}), b = sharing.join(Path{1}), far = sharing.join(Path{2});
  sharing.solve();
  EXPECT_EQ(sharing.moves().size(), 3U);
  EXPECT_EQ(sharing.bottleneck(a), 0U);
  sharing.set_capacity(0, 20);
  sharing.solve();
  ASSERT_EQ(sharing.moves().size(), 1U);  // b keeps its bottleneck, `far` is elsewhere
  EXPECT_EQ(sharing.moves()[0].bundle, a);
  EXPECT_EQ(sharing.moves()[0].from, 0U);
  EXPECT_EQ(sharing.bottleneck(a), 1U);
  for (const LinkId link : sharing.changed_links()) EXPECT_NE(link, 2U);
  std::size_t limited = 0;
  sharing.for_each_limited_by(1, [&](BundleId bundle) { limited += bundle == a || bundle == b; });
  EXPECT_EQ(limited, 2U);
  EXPECT_DOUBLE_EQ(level(sharing, far), 5);
}

// A change on one side of a fabric does not look at the other: here 1000 pairs of links that share nothing.
TEST(MaxMin, ChangeStaysInItsComponent) {
  MaxMin sharing(std::vector<double>(2000, 1.0));
  std::vector<BundleId> bundles;
  for (LinkId i = 0; i < 1000; ++i) {
    bundles.push_back(sharing.join(Path{2 * i, 2 * i + 1}));
    sharing.join(Path{2 * i});
  }
  sharing.solve();
  sharing.leave(bundles[500]);
  sharing.solve();
  EXPECT_EQ(sharing.changed_links().size(), 1U);
  EXPECT_EQ(sharing.changed_links()[0], 1000U);
}

// Three changes in one solve, so that a link without an event of its own (n) is spoken for first by one link, then by another that
// comes late: n still has to saturate in its turn, below a change elsewhere (q) that must see what follows from it.
TEST(MaxMin, IdleLinkComesInItsTurn) {
  enum : LinkId { m, m3, n, e, q };
  MaxMin sharing(std::vector<double>{4, 5, 24.2, 18, 18.2});
  const auto g = sharing.join(Path{m, n}), g3 = sharing.join(Path{m3, n}), h = sharing.join(Path{e, n});
  const auto j = sharing.join(Path{e, q}), k = sharing.join(Path{q});
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, j), 9);
  EXPECT_DOUBLE_EQ(level(sharing, k), 9.2);
  sharing.set_capacity(m, 10);
  sharing.set_capacity(m3, 6.5);
  sharing.set_capacity(q, 18.6);
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, g3), 6.5);
  EXPECT_DOUBLE_EQ(level(sharing, g), 8.85);  // (24.2 − 6.5) / 2 on n
  EXPECT_DOUBLE_EQ(level(sharing, h), 8.85);
  EXPECT_DOUBLE_EQ(level(sharing, j), 9.15);  // what h leaves on e
  EXPECT_DOUBLE_EQ(level(sharing, k), 9.45);  // what j leaves on q
}

TEST(MaxMin, FlowMayComeAndGoBetweenSolves) {
  MaxMin sharing(std::vector<double>{5, 6});
  const auto old = sharing.join(Path{0, 1});
  sharing.solve();
  const auto late = sharing.join(Path{1});
  sharing.leave(sharing.join(Path{0}));
  sharing.solve();
  EXPECT_DOUBLE_EQ(level(sharing, old), 3);
  EXPECT_DOUBLE_EQ(level(sharing, late), 3);
}

// Eight planes without a link in common, enough hops for threads.
TEST(MaxMin, ThreadsChangeNoNumber) {
  constexpr LinkId kPlanes = 8, kLinks = 500;
  Rng rng(5);
  std::vector<double> capacities;
  for (LinkId i = 0; i < kPlanes * kLinks; ++i) capacities.push_back(1 + rng.uniform());
  std::vector<std::array<LinkId, 4>> paths(60'000);
  for (auto& path : paths) {
    const auto plane = LinkId(rng.below(kPlanes));
    for (LinkId& link : path) link = plane * kLinks + LinkId(rng.below(kLinks));
  }
  const auto solved = [&](int threads) {
    MaxMin sharing(capacities, {0, threads});
    std::vector<BundleId> bundles;
    for (const auto& path : paths) bundles.push_back(sharing.join(path));
    sharing.solve();
    std::vector<double> out;
    for (const auto b : bundles) out.push_back(sharing.level(b));
    sharing.leave(bundles[7]);  // and the state left behind is good for changes
    sharing.solve();
    for (std::size_t i = 8; i < bundles.size(); ++i) out.push_back(sharing.level(bundles[i]));
    return out;
  };
  const auto one = solved(1);
  EXPECT_EQ(solved(2), one);
  EXPECT_EQ(solved(5), one);
}

TEST(MaxMin, RunningAllocatesNothing) {
  constexpr std::size_t kFlows = 400;
  Rng rng(11);
  MaxMin sharing(std::vector<double>(64, 1.0));
  std::array<std::array<LinkId, 3>, kFlows> paths{};
  std::array<BundleId, kFlows> bundles{};
  const auto draw = [&](std::size_t f) {
    for (LinkId& link : paths[f]) link = LinkId(rng.below(64));
    bundles[f] = sharing.join(paths[f]);
  };
  for (std::size_t f = 0; f < kFlows; ++f) draw(f);
  const auto churn = [&](int rounds) {
    for (int i = 0; i < rounds; ++i) {
      const std::size_t f = rng.below(kFlows);
      sharing.leave(bundles[f]);
      draw(f);
      sharing.solve();
    }
  };
  churn(20'000);  // lists find their sizes
  const std::size_t before = allocations_so_far();
  churn(2'000);
  EXPECT_EQ(allocations_so_far(), before);
}

}  // namespace
}  // namespace trunkline::network
