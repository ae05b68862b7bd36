#include "stats/significance.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

#include "base/rng.hpp"

namespace trunkline::stats {
namespace {

using Samples = std::vector<double>;

// Of the C(6,3) = 20 ways to share six ranks, two are as extreme as complete separation.
TEST(MannWhitney, CompleteSeparation) {
  const auto test = mann_whitney(Samples{1, 2, 3}, Samples{4, 5, 6});
  EXPECT_EQ(test.u, 0);
  EXPECT_EQ(test.superiority, 0);
  EXPECT_NEAR(test.p_value, 2.0 / 20, 1e-12);
  EXPECT_TRUE(test.exact);
  EXPECT_NEAR(mann_whitney(Samples{1, 2, 3, 4, 5}, Samples{6, 7, 8, 9, 10}).p_value, 2.0 / 252, 1e-12);
}

TEST(MannWhitney, NoDifference) {
  EXPECT_EQ(mann_whitney(Samples{1, 2, 3}, Samples{1, 2, 3}).p_value, 1);
  EXPECT_EQ(mann_whitney(Samples{5, 5}, Samples{5, 5, 5}).p_value, 1);
  EXPECT_EQ(mann_whitney(Samples(60, 5.0), Samples(60, 5.0)).p_value, 1);
  EXPECT_EQ(mann_whitney(Samples{}, Samples{1}).p_value, 1);
  EXPECT_DOUBLE_EQ(mann_whitney(Samples{1, 2, 3}, Samples{1, 2, 3}).superiority, 0.5);
}

TEST(MannWhitney, SwappingTheSidesChangesOnlyTheSign) {
  const Samples a{3, 1, 4, 1, 5}, b{9, 2, 6, 5, 3, 5};
  const auto ab = mann_whitney(a, b), ba = mann_whitney(b, a);
  EXPECT_DOUBLE_EQ(ab.p_value, ba.p_value);
  EXPECT_DOUBLE_EQ(ab.u + ba.u, 30);
}

// Brute force: every way to choose which samples are called a.
double counted_out(const Samples& a, const Samples& b) {
  Samples all(a);
  all.insert(all.end(), b.begin(), b.end());
  const auto u_of = [&](unsigned mask) {
    double u = 0;
    for (std::size_t i = 0; i < all.size(); ++i) {
      for (std::size_t j = 0; j < all.size(); ++j) {
        if ((mask >> i & 1) && !(mask >> j & 1)) u += all[i] > all[j] ? 1 : all[i] == all[j] ? 0.5 : 0;
      }
    }
    return u;
  };
  const double mean = double(a.size() * b.size()) / 2;
  const double here = std::abs(u_of((1u << a.size()) - 1) - mean);
  double far = 0, ways = 0;
  for (unsigned mask = 0; mask < 1u << all.size(); ++mask) {
    if (std::size_t(__builtin_popcount(mask)) != a.size()) continue;
    ++ways;
    far += std::abs(u_of(mask) - mean) >= here;
  }
  return far / ways;
}

TEST(MannWhitney, ExactEqualsCountingOutWithAndWithoutTies) {
  Rng rng(17);
  for (int round = 0; round < 40; ++round) {
    const std::uint64_t values = round % 2 ? 1000 : 4;  // many ties with four values
    Samples a, b;
    for (int i = 0; i < 4; ++i) a.push_back(double(rng.below(values)));
    for (int i = 0; i < 5; ++i) b.push_back(double(rng.below(values)));
    EXPECT_NEAR(mann_whitney(a, b).p_value, counted_out(a, b), 1e-12);
  }
}

// Just above the limit the normal form must continue what the exact form gives just below it.
TEST(MannWhitney, NormalContinuesExact) {
  Rng rng(19);
  Samples a, b;
  for (int i = 0; i < 25; ++i) {
    a.push_back(rng.uniform());
    b.push_back(rng.uniform() + 0.25);
  }
  const auto exact = mann_whitney(a, b);
  ASSERT_TRUE(exact.exact);
  a.push_back(0.5);
  b.push_back(0.75);
  const auto normal = mann_whitney(a, b);
  ASSERT_FALSE(normal.exact);
  EXPECT_NEAR(std::log10(normal.p_value), std::log10(exact.p_value), 0.35);
}

// Without a difference, p < 0.05 must happen in about 5 % of the comparisons: the rate of false alarms is what it says.
TEST(MannWhitney, FalseAlarmsAreAsRareAsStated) {
  Rng rng(23);
  for (int size : {8, 40}) {
    int alarms = 0;
    constexpr int kRounds = 1000;
    for (int round = 0; round < kRounds; ++round) {
      Samples a, b;
      for (int i = 0; i < size; ++i) {
        a.push_back(rng.uniform());
        b.push_back(rng.uniform());
      }
      alarms += mann_whitney(a, b).p_value < 0.05;
    }
    EXPECT_LT(alarms, 80);
    EXPECT_GT(alarms, 25);
  }
}

TEST(Holm, ClosedForm) {
  // Sorted .01 .02 .03 .04 times 4 3 2 1 = .04 .06 .06 .04, never falling: .04 .06 .06 .06.
  const auto adjusted = holm(Samples{0.04, 0.01, 0.03, 0.02});
  const double expected[] = {0.06, 0.04, 0.06, 0.06};
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(adjusted[i], expected[i], 1e-12);
}

TEST(Holm, StaysBetweenTheRawValueAndBonferroni) {
  const Samples p{0.001, 0.2, 0.04, 0.9, 0.04};
  const auto adjusted = holm(p);
  for (std::size_t i = 0; i < p.size(); ++i) {
    EXPECT_GE(adjusted[i], p[i]);
    EXPECT_LE(adjusted[i], std::min(1.0, 5 * p[i]));
  }
  EXPECT_EQ(holm(Samples{0.03}), (Samples{0.03}));
  EXPECT_TRUE(holm(Samples{}).empty());
}

}  // namespace
}  // namespace trunkline::stats
