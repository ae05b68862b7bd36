// Max-min sharing: equal to the reference after any change, and what must hold whatever the numbers are.
#include <gtest/gtest.h>

#include <cmath>

#include "network_reference.hpp"

namespace trunkline::network {
namespace {

using reference::Flow;

struct Case {
  Rng rng;
  reference::Shape shape;
  std::vector<double> capacities;
  std::vector<Flow> flows;
  std::vector<BundleId> bundles;
  MaxMin sharing;

  explicit Case(std::uint64_t seed, MaxMin::Options options = {})
      : rng(seed), shape(reference::any_shape(rng)), capacities(reference::any_capacities(rng, shape)), sharing(capacities, options) {
    for (std::size_t i = 0; i < shape.flows; ++i) join();
  }

  void join() {
    flows.push_back(reference::any_flow(rng, shape, flows));
    bundles.push_back(sharing.join(flows.back().path, flows.back().weight, flows.back().cap));
  }

  void change() {
    const auto what = rng.below(6);
    if (what == 0) {
      join();
    } else if (what == 1) {
      const auto link = LinkId(rng.below(shape.links));
      capacities[link] = reference::any_capacity(rng, shape);
      sharing.set_capacity(link, capacities[link]);
    } else if (const std::size_t f = rng.below(flows.size()); flows[f].alive) {
      flows[f].alive = false;
      sharing.leave(bundles[f], flows[f].weight);
    }
  }

  double rate(std::size_t f) const { return flows[f].weight * sharing.level(bundles[f]); }
};

::testing::AssertionResult equal_to_reference(const Case& c) {
  const auto expected = reference::rates(c.capacities, c.flows);
  for (std::size_t f = 0; f < c.flows.size(); ++f) {
    if (!c.flows[f].alive) continue;
    const double rate = c.rate(f);
    if (rate == expected[f] || std::abs(rate - expected[f]) <= 1e-9 * expected[f]) continue;
    return ::testing::AssertionFailure() << "flow " << f << " of " << c.flows.size() << ": " << rate << ", reference " << expected[f];
  }
  return ::testing::AssertionSuccess();
}

TEST(MaxMinProperty, EqualsProgressiveFillingInTenThousandCasesAndAfterChanges) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Case c(seed);
    c.sharing.solve();
    ASSERT_TRUE(equal_to_reference(c)) << "from nothing, case " << seed;
    const auto rounds = c.rng.below(12);
    for (std::uint64_t round = 0; round < rounds; ++round) {
      for (auto changes = 1 + c.rng.below(3); changes > 0; --changes) c.change();
      c.sharing.solve();
      ASSERT_TRUE(equal_to_reference(c)) << "case " << seed << ", round " << round;
    }
  }
}

// The definition itself: nothing is overloaded, and every flow is at its cap or crosses a full link on which nobody has a higher
// level. It is the certificate of max-min fairness, whatever an algorithm did.
TEST(MaxMinProperty, EveryFlowHasABottleneck) {
  for (std::uint64_t seed = 20'000; seed < 22'000; ++seed) {
    Case c(seed);
    c.sharing.solve();
    for (int i = 0; i < 10; ++i) c.change();
    c.sharing.solve();
    std::vector<double> load(c.shape.links, 0), highest(c.shape.links, 0);
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      if (!c.flows[f].alive) continue;
      for (const Hop& hop : c.flows[f].path) {
        load[hop.link] += hop.share * c.rate(f);
        highest[hop.link] = std::max(highest[hop.link], c.sharing.level(c.bundles[f]));
      }
    }
    for (LinkId link = 0; link < c.shape.links; ++link) {
      ASSERT_LE(load[link], c.capacities[link] * (1 + 1e-9)) << "case " << seed;
      ASSERT_NEAR(load[link], c.sharing.load(link), 1e-9 * (1 + load[link]));
    }
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      const Flow& flow = c.flows[f];
      if (!flow.alive) continue;
      const double level = c.sharing.level(c.bundles[f]);
      const bool at_cap = c.rate(f) >= flow.cap * (1 - 1e-9);
      const bool at_link = std::any_of(flow.path.begin(), flow.path.end(), [&](const Hop& hop) {
        return load[hop.link] >= c.capacities[hop.link] * (1 - 1e-9) && level >= highest[hop.link] * (1 - 1e-9);
      });
      ASSERT_TRUE(at_cap || at_link) << "case " << seed << ", flow " << f;
    }
  }
}

// A path that is stored anywhere, in any order of arrival, gets the same: rates depend on the set of flows alone.
TEST(MaxMinProperty, OrderOfFlowsAndNamesOfLinksDoNotMatter) {
  for (std::uint64_t seed = 30'000; seed < 30'500; ++seed) {
    Case c(seed);
    c.sharing.solve();
    std::vector<double> capacities(c.capacities.rbegin(), c.capacities.rend());
    MaxMin mirrored(capacities);
    std::vector<BundleId> bundles(c.flows.size());
    for (std::size_t f = c.flows.size(); f-- > 0;) {
      auto path = c.flows[f].path;
      for (Hop& hop : path) hop.link = LinkId(c.shape.links - 1 - hop.link);
      bundles[f] = mirrored.join(path, c.flows[f].weight, c.flows[f].cap);
    }
    mirrored.solve();
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      const double expected = c.sharing.level(c.bundles[f]);
      ASSERT_NEAR(mirrored.level(bundles[f]), expected, 1e-12 * expected) << "case " << seed;
    }
  }
}

// More capacity anywhere never lowers the lowest level (a single flow may well lose: its rival is freed elsewhere).
TEST(MaxMinProperty, MoreCapacityNeverLowersTheLowest) {
  for (std::uint64_t seed = 40'000; seed < 40'500; ++seed) {
    Case c(seed);
    c.sharing.solve();
    const auto lowest = [&] {
      double low = kUnlimited;
      for (const BundleId b : c.bundles) low = std::min(low, c.sharing.level(b));
      return low;
    };
    const double before = lowest();
    const auto link = LinkId(c.rng.below(c.shape.links));
    c.sharing.set_capacity(link, c.capacities[link] * 2 + 1);
    c.sharing.solve();
    ASSERT_GE(lowest(), before * (1 - 1e-12)) << "case " << seed;
  }
}

TEST(MaxMinProperty, SameChangesGiveTheSameNumbersToTheLastBit) {
  for (std::uint64_t seed = 50'000; seed < 50'200; ++seed) {
    Case a(seed), b(seed);
    for (int round = 0; round < 5; ++round) {
      a.change();
      b.change();
      a.sharing.solve();
      b.sharing.solve();
    }
    for (std::size_t f = 0; f < a.flows.size(); ++f) {
      if (a.flows[f].alive) {
        ASSERT_EQ(a.rate(f), b.rate(f)) << "case " << seed;
      }
    }
  }
}

// With a tolerance no link is overloaded by more than it, and rates stay near the exact ones.
TEST(MaxMinProperty, ToleranceBoundsTheOverload) {
  constexpr double kTolerance = 1e-3;
  double farthest = 0;
  for (std::uint64_t seed = 60'000; seed < 61'000; ++seed) {
    Case c(seed, {kTolerance, 1});
    c.sharing.solve();
    for (int round = 0; round < 20; ++round) {
      c.change();
      c.sharing.solve();
      for (LinkId link = 0; link < c.shape.links; ++link) {
        ASSERT_LE(c.sharing.load(link), c.capacities[link] * (1 + 1.01 * kTolerance)) << "case " << seed;
      }
    }
    const auto exact = reference::rates(c.capacities, c.flows);
    for (std::size_t f = 0; f < c.flows.size(); ++f) {
      if (c.flows[f].alive && exact[f] > 0 && exact[f] < kUnlimited) farthest = std::max(farthest, std::abs(c.rate(f) / exact[f] - 1));
    }
  }
  RecordProperty("farthest", std::to_string(farthest));
  EXPECT_LT(farthest, 0.05);
}

}  // namespace
}  // namespace trunkline::network
