#include "compare/verdict.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/rng.hpp"
#include "stats/summary.hpp"

namespace trunkline::compare {
namespace {

using Samples = std::vector<double>;

double normal(Rng& rng) { return std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * std::numbers::pi * rng.uniform()); }

// Each repetition resembles the one before: x' = r·x + √(1 − r²)·noise.
Samples resembling(Rng& rng, std::size_t n, double r) {
  Samples out;
  double x = normal(rng);
  for (std::size_t i = 0; i < n; ++i) {
    x = r * x + std::sqrt(1 - r * r) * normal(rng);
    out.push_back(100 + x);
  }
  return out;
}

Evidence seen(double ratio, double low, double high, std::size_t n = 20) {
  return {n, n, 1, ratio, low, high, 0.0001, std::log(high / low) / (2 * 1.959964)};
}

constexpr auto kHigher = measure::Better::higher, kLower = measure::Better::lower;

TEST(Judge, same_is_an_interval_inside_the_margin_also_where_the_difference_is_real) {
  EXPECT_EQ(judge(seen(0.99, 0.985, 0.995), 1e-6, 1, kHigher, {}).verdict, Verdict::same);
  EXPECT_EQ(judge(seen(1.0, 0.98, 1.02), 0.9, 1, kHigher, {}).verdict, Verdict::same);
  EXPECT_EQ(judge(seen(1.0, 0.979, 1.02), 0.9, 1, kHigher, {}).verdict, Verdict::undecided);
}

TEST(Judge, direction_follows_what_is_better) {
  EXPECT_EQ(judge(seen(0.9, 0.88, 0.92), 1e-4, 1, kHigher, {}).verdict, Verdict::worse);
  EXPECT_EQ(judge(seen(0.9, 0.88, 0.92), 1e-4, 1, kLower, {}).verdict, Verdict::better);
  EXPECT_EQ(judge(seen(1.1, 1.08, 1.12), 1e-4, 1, kHigher, {}).verdict, Verdict::better);
  EXPECT_EQ(judge(seen(1.1, 1.08, 1.12), 1e-4, 1, kLower, {}).verdict, Verdict::worse);
}

TEST(Judge, needs_test_interval_and_size_to_agree) {
  EXPECT_EQ(judge(seen(0.9, 0.88, 0.92), 0.02, 1, kHigher, {}).verdict, Verdict::undecided);      // p
  EXPECT_EQ(judge(seen(0.9, 0.80, 1.001), 1e-4, 1, kHigher, {}).verdict, Verdict::undecided);     // interval
  EXPECT_EQ(judge(seen(0.985, 0.975, 0.995), 1e-4, 1, kHigher, {}).verdict, Verdict::undecided);  // size
}

TEST(Judge, few_repetitions_are_undecided_with_the_number_that_a_test_needs) {
  const auto few = judge(evidence_of(Samples{1, 2, 3, 4, 5}, Samples{9, 9, 9, 9, 9}, {}, 1), 1, 1, kHigher, {});
  EXPECT_EQ(few.verdict, Verdict::undecided);
  EXPECT_EQ(few.repetitions, 6);
  // 2/C(2n, n) < 0.01/100 from n = 9 on: 2/C(18, 9) = 4.1e-5, 2/C(16, 8) = 1.6e-4.
  EXPECT_EQ(judge(evidence_of(Samples{1}, Samples{2}, {}, 1), 1, 100, kHigher, {}).repetitions, 9);
}

// Six against six that do not overlap: p = 2/C(12, 6) = 2/924.
TEST(Evidence, six_apart_from_six) {
  const auto e = evidence_of(Samples{10, 10.1, 10.2, 10.3, 10.4, 10.5}, Samples{9, 9.1, 9.2, 9.3, 9.4, 9.5}, {}, 1);
  EXPECT_NEAR(*e.ratio, 9.25 / 10.25, 1e-12);
  EXPECT_NEAR(*e.p_value, 2.0 / 924, 1e-12);
  EXPECT_EQ(judge(e, *e.p_value, 1, kHigher, {}).verdict, Verdict::worse);
}

TEST(Evidence, no_ratio_without_positive_medians) {
  const auto e = evidence_of(Samples(8, 0.0), Samples(8, 1.0), {}, 1);
  EXPECT_FALSE(e.ratio);
  EXPECT_EQ(judge(e, 1, 1, kHigher, {}).verdict, Verdict::undecided);
}

// s = standard error of log(ratio) for one repetition a side. With an interval of ±w (in logs) at n a side, s = w/1.96·√n; asked for is
// s²/(log(1.02)/3.92)² (the strictest of the three demands for one test).
TEST(Repetitions, closed_form) {
  const double w = 0.03;
  const auto j = judge(seen(1.0, std::exp(-w), std::exp(w), 12), 0.9, 1, kHigher, {});
  const double s = w / 1.959964 * std::sqrt(12.0), wanted = std::log(1.02) / (2 * 1.959964);
  EXPECT_EQ(j.repetitions, std::int64_t(std::ceil(s * s / (wanted * wanted))));
  // Twice the noise: four times the repetitions.
  const auto twice = judge(seen(1.0, std::exp(-2 * w), std::exp(2 * w), 12), 0.9, 1, kHigher, {});
  EXPECT_NEAR(double(*twice.repetitions) / double(*j.repetitions), 4, 0.05);
}

TEST(Repetitions, near_the_margin_they_grow_and_at_last_none_are_in_sight) {
  const auto near = judge(seen(0.983, 0.979, 0.987, 400), 1e-5, 1, kHigher, {});
  EXPECT_EQ(near.verdict, Verdict::undecided);
  EXPECT_GE(*near.repetitions, 800);
  const auto at = judge(seen(1 / 1.02, 0.976, 0.985, 400), 1e-5, 1, kHigher, {});
  EXPECT_FALSE(at.repetitions);
}

TEST(Blocks, independent_samples_stand_for_themselves_nearly_always) {
  Rng rng(5);
  int blocked = 0;
  for (int i = 0; i < 400; ++i) blocked += block_length(resembling(rng, 40, 0)) > 1;
  EXPECT_LT(blocked, 24);  // chance: some 2 %
}

TEST(Blocks, resembling_samples_are_joined) {
  Rng rng(6);
  // (1 + 0.8)/(1 − 0.8) = 9; the estimate of r from 400 samples varies by some 0.03.
  const auto length = block_length(resembling(rng, 400, 0.8));
  EXPECT_GE(length, 6u);
  EXPECT_LE(length, 12u);
  EXPECT_EQ(block_length(Samples(50, 3.0)), 1u);  // constant: nothing to say
  EXPECT_EQ(block_medians(Samples{1, 2, 9, 4, 5, 6, 7}, 3), (Samples{2, 5}));
}

// What the blocks are for: two series of the same process, whose neighbours resemble each other, must not be told apart.
TEST(Blocks, keep_false_alarms_rare) {
  Rng rng(7);
  int with = 0, without = 0;
  for (int i = 0; i < 200; ++i) {
    const auto a = resembling(rng, 200, 0.8), b = resembling(rng, 200, 0.8);
    Rules rules;
    rules.margin = 0;  // the test alone
    rules.resamples = 200;
    const auto e = evidence_of(a, b, rules, std::uint64_t(i));
    const auto v = judge(e, e.p_value.value_or(1), 1, kHigher, rules).verdict;
    with += v == Verdict::better || v == Verdict::worse;
    const auto shuffled = [&](Samples s) {  // the same values in an order that hides the resemblance
      for (std::size_t k = s.size(); k > 1; --k) std::swap(s[k - 1], s[rng.below(k)]);
      return s;
    };
    const auto f = evidence_of(shuffled(a), shuffled(b), rules, std::uint64_t(i));
    const auto w = judge(f, f.p_value.value_or(1), 1, kHigher, rules).verdict;
    without += w == Verdict::better || w == Verdict::worse;
  }
  EXPECT_LE(with, 10);
  EXPECT_GE(without, 60);
}

}  // namespace
}  // namespace trunkline::compare
