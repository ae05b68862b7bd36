#include "stats/summary.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/rng.hpp"

namespace trunkline::stats {
namespace {

using Samples = std::vector<double>;

// The published definition of type 7 on 1…10: position 1 + 9p.
TEST(Quantile, IsTypeSeven) {
  const Samples x{10, 1, 9, 2, 8, 3, 7, 4, 6, 5};
  EXPECT_DOUBLE_EQ(quantile(x, 0), 1);
  EXPECT_DOUBLE_EQ(quantile(x, 0.25), 3.25);
  EXPECT_DOUBLE_EQ(quantile(x, 0.5), 5.5);
  EXPECT_DOUBLE_EQ(quantile(x, 0.9), 9.1);
  EXPECT_DOUBLE_EQ(quantile(x, 1), 10);
  EXPECT_DOUBLE_EQ(quantile(Samples{7}, 0.3), 7);
  EXPECT_TRUE(std::isnan(quantile(Samples{}, 0.5)));
}

TEST(Quantile, RisesWithItsFraction) {
  Rng rng(1);
  Samples x;
  for (int i = 0; i < 101; ++i) x.push_back(rng.uniform());
  for (double p = 0; p < 1; p += 0.013) EXPECT_LE(quantile(x, p), quantile(x, p + 0.013));
}

TEST(Summary, ClosedForms) {
  const auto s = summarize(Samples{2, 4, 4, 4, 5, 5, 7, 9}).value();
  EXPECT_EQ(s.n, 8u);
  EXPECT_DOUBLE_EQ(s.min, 2);
  EXPECT_DOUBLE_EQ(s.max, 9);
  EXPECT_DOUBLE_EQ(s.mean, 5);
  EXPECT_DOUBLE_EQ(s.median, 4.5);
  EXPECT_DOUBLE_EQ(s.deviation, std::sqrt(32.0 / 7));
  EXPECT_DOUBLE_EQ(s.mad, 0.5);  // distances to 4.5: .5 .5 .5 .5 .5 2.5 2.5 4.5
}

TEST(Summary, OneSampleAndNone) {
  const auto s = summarize(Samples{3}).value();
  EXPECT_DOUBLE_EQ(s.p10, 3);
  EXPECT_DOUBLE_EQ(s.p90, 3);
  EXPECT_DOUBLE_EQ(s.deviation, 0);
  EXPECT_FALSE(summarize(Samples{}));
  EXPECT_FALSE(summarize(Samples{1, std::numeric_limits<double>::quiet_NaN()}));
  EXPECT_FALSE(summarize(Samples{1, std::numeric_limits<double>::infinity()}));
}

TEST(Summary, ShiftAndScale) {
  Rng rng(5);
  Samples x, y;
  for (int i = 0; i < 57; ++i) {
    x.push_back(rng.uniform());
    y.push_back(3 + 2 * x.back());
  }
  const auto a = summarize(x).value(), b = summarize(y).value();
  EXPECT_NEAR(b.median, 3 + 2 * a.median, 1e-12);
  EXPECT_NEAR(b.p25, 3 + 2 * a.p25, 1e-12);
  EXPECT_NEAR(b.mad, 2 * a.mad, 1e-12);
  EXPECT_NEAR(b.deviation, 2 * a.deviation, 1e-12);
}

TEST(WeightedMedian, EqualWeightsGiveTheMedian) {
  EXPECT_DOUBLE_EQ(weighted_median(Samples{3, 1, 2}, Samples{1, 1, 1}), 2);
  EXPECT_DOUBLE_EQ(weighted_median(Samples{4, 1, 2, 3}, Samples{1, 1, 1, 1}), 2.5);
}

TEST(WeightedMedian, FollowsTheWeight) {
  EXPECT_DOUBLE_EQ(weighted_median(Samples{1, 2, 3}, Samples{1, 1, 5}), 3);
  EXPECT_DOUBLE_EQ(weighted_median(Samples{1, 2, 3}, Samples{0, 1, 0}), 2);
  EXPECT_DOUBLE_EQ(weighted_median(Samples{1, 2, 3}, Samples{2, 1, 1}), 1.5);  // half is met exactly at 1
  EXPECT_TRUE(std::isnan(weighted_median(Samples{1, 2}, Samples{0, 0})));
}

// A weight of k is k samples.
TEST(WeightedMedian, WholeWeightsAreRepetitions) {
  Rng rng(3);
  for (int round = 0; round < 200; ++round) {
    Samples x, w, repeated;
    for (int i = 0; i < 6; ++i) {
      x.push_back(double(rng.below(10)));
      w.push_back(double(rng.below(4)));
      for (int k = 0; k < int(w.back()); ++k) repeated.push_back(x.back());
    }
    if (repeated.empty()) continue;
    EXPECT_DOUBLE_EQ(weighted_median(x, w), median(repeated));
  }
}

TEST(Outliers, AreFarFromTheMiddle) {
  EXPECT_EQ(outliers(Samples{10, 11, 9, 10.5, 9.5, 30}), (std::vector<std::size_t>{5}));
  EXPECT_TRUE(outliers(Samples{10, 11, 9, 10.5, 9.5}).empty());
  EXPECT_TRUE(outliers(Samples{1, 100}).empty());  // two samples have no middle
}

TEST(Outliers, AreFoundWhereMostSamplesAreEqual) {
  EXPECT_EQ(outliers(Samples{5, 5, 5, 5, 5, 5, 5, 9}), (std::vector<std::size_t>{7}));
  EXPECT_TRUE(outliers(Samples{5, 5, 5, 5}).empty());
}

}  // namespace
}  // namespace trunkline::stats
