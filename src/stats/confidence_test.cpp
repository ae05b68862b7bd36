#include "stats/confidence.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>
#include <vector>

#include "base/rng.hpp"

namespace trunkline::stats {
namespace {

using Samples = std::vector<double>;

Samples ramp(int n) {
  Samples x(std::size_t(n), 0);
  std::iota(x.begin(), x.end(), 1.0);
  return x;
}

// Coverages are sums of binomial coefficients over 2^n, as tables of the sign test have them.
TEST(MedianInterval, ClosedForms) {
  const auto six = median_interval(ramp(6)).value();
  EXPECT_EQ(six.low, 1);
  EXPECT_EQ(six.high, 6);
  EXPECT_NEAR(six.level, 1 - 2.0 / 64, 1e-12);
  const auto ten = median_interval(ramp(10)).value();
  EXPECT_EQ(ten.low, 2);
  EXPECT_EQ(ten.high, 9);
  EXPECT_NEAR(ten.level, 1 - 2.0 * (1 + 10) / 1024, 1e-12);
  const auto twenty = median_interval(ramp(20)).value();
  EXPECT_EQ(twenty.low, 6);
  EXPECT_EQ(twenty.high, 15);
}

TEST(MedianInterval, IsAbsentWhereItCannotBeSaid) {
  EXPECT_FALSE(median_interval(ramp(5)));  // 1 − 2/32 = 93.75 %
  EXPECT_TRUE(median_interval(ramp(4), 0.80));
  EXPECT_FALSE(median_interval(ramp(3), 0.80));
  EXPECT_FALSE(median_interval({}));
}

TEST(MedianInterval, ManySamplesFollowTheNormalLimit) {
  const int n = 100000;
  const auto interval = median_interval(ramp(n)).value();
  EXPECT_NEAR(interval.high - interval.low, 1.96 * std::sqrt(double(n)), 4);
}

// Of 1,000 sets of 11 skewed samples the interval must hold the true median about as often as it says.
TEST(MedianInterval, CoversAsOftenAsItSays) {
  Rng rng(11);
  int covered = 0;
  double level = 0;
  for (int round = 0; round < 1000; ++round) {
    Samples x;
    for (int i = 0; i < 11; ++i) x.push_back(-std::log(1 - rng.uniform()));
    const auto interval = median_interval(x).value();
    level = interval.level;
    covered += interval.low <= std::log(2.0) && std::log(2.0) <= interval.high;
  }
  EXPECT_NEAR(covered / 1000.0, level, 4 * std::sqrt(level * (1 - level) / 1000));
}

TEST(BootstrapRatio, ExactWhereNothingVaries) {
  const auto ratio = bootstrap_ratio(Samples{3, 3, 3}, Samples{2, 2}, 1).value();
  EXPECT_DOUBLE_EQ(ratio.ratio, 1.5);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 1.5);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 1.5);
}

TEST(BootstrapRatio, SameSeedSameInterval) {
  const Samples a{1.0, 1.1, 1.2, 0.9, 1.05}, b{2.0, 2.2, 1.9, 2.1};
  const auto one = bootstrap_ratio(a, b, 7).value(), two = bootstrap_ratio(a, b, 7).value(), other = bootstrap_ratio(a, b, 8).value();
  EXPECT_EQ(one.interval.low, two.interval.low);
  EXPECT_EQ(one.interval.high, two.interval.high);
  EXPECT_NEAR(one.interval.low, other.interval.low, 0.1);
  EXPECT_LE(one.interval.low, one.ratio);
  EXPECT_GE(one.interval.high, one.ratio);
}

TEST(BootstrapRatio, ScalesWithItsNumerator) {
  const Samples a{1.0, 1.1, 1.2, 0.9, 1.05}, twice{2.0, 2.2, 2.4, 1.8, 2.1}, b{2.0, 2.2, 1.9, 2.1};
  const auto one = bootstrap_ratio(a, b, 7).value(), two = bootstrap_ratio(twice, b, 7).value();
  EXPECT_NEAR(two.interval.low, 2 * one.interval.low, 1e-12);
  EXPECT_NEAR(two.interval.high, 2 * one.interval.high, 1e-12);
}

TEST(BootstrapRatio, CoversTheTrueRatioMostOfTheTime) {
  Rng rng(13);
  int covered = 0;
  for (int round = 0; round < 300; ++round) {
    Samples a, b;
    for (int i = 0; i < 25; ++i) {
      a.push_back(2 + rng.uniform());
      b.push_back(1 + rng.uniform());
    }
    const auto ratio = bootstrap_ratio(a, b, std::uint64_t(round), 0.95, 500).value();
    covered += ratio.interval.low <= 2.5 / 1.5 && 2.5 / 1.5 <= ratio.interval.high;
  }
  EXPECT_GT(covered, 270);
  EXPECT_LT(covered, 300);
}

TEST(BootstrapRatio, IsAbsentWithoutPositiveSamples) {
  EXPECT_FALSE(bootstrap_ratio(Samples{1}, Samples{1, 2}, 1));
  EXPECT_FALSE(bootstrap_ratio(Samples{1, 2}, Samples{0, 2}, 1));
  EXPECT_FALSE(bootstrap_ratio(Samples{1, -2}, Samples{1, 2}, 1));
}

}  // namespace
}  // namespace trunkline::stats
