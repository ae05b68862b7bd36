// Intervals that need no assumption about the distribution of the samples.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace trunkline::stats {

struct Interval {
  double low = 0, high = 0;
  double level = 0;  // the coverage it really has, at least what was asked for
};

// Confidence interval of the median from order statistics: [x(k), x(n+1−k)] with the largest k whose coverage
// 1 − 2·P(Binomial(n, ½) < k) is at least `level`. Holds for every continuous distribution of independent samples.
// Absent where no k reaches the level: 95 % needs six samples, 80 % four. O(n log n).
std::optional<Interval> median_interval(std::span<const double> samples, double level = 0.95);

struct Ratio {
  double ratio = 0;  // median(numerator) / median(denominator)
  Interval interval;
};

// Percentile bootstrap of the ratio of two medians: both sides are drawn anew with replacement `resamples` times.
// Absent with fewer than two samples on a side, or where a sample of either side is not a positive number. Same seed, same
// interval. O(resamples · n). With few samples it is too narrow (some 90 % for n = 5): say n beside it.
std::optional<Ratio> bootstrap_ratio(std::span<const double> numerator, std::span<const double> denominator, std::uint64_t seed,
                                     double level = 0.95, int resamples = 2000);

}  // namespace trunkline::stats
