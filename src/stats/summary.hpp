// What a set of samples says by itself: middle, spread, outliers.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <vector>

namespace trunkline::stats {

struct Summary {
  std::size_t n = 0;
  double min = 0, p10 = 0, p25 = 0, median = 0, p75 = 0, p90 = 0, max = 0;
  double mean = 0;
  double deviation = 0;  // sample standard deviation (divides by n − 1); 0 for one sample
  double mad = 0;        // median absolute deviation from the median, unscaled
};

// Absent for no samples, or where one is not finite. O(n log n).
std::optional<Summary> summarize(std::span<const double> samples);

// The value below which the fraction p (0…1) lies: Hyndman & Fan's type 7, the linear interpolation between order statistics
// that R and NumPy use by default: position (n − 1)·p. NaN for no samples. `quantile_sorted` wants ascending samples.
double quantile(std::span<const double> samples, double p);
double quantile_sorted(std::span<const double> ascending, double p);
double median(std::span<const double> samples);

// Median absolute deviation from the median; times 1.4826 it estimates the standard deviation of normal samples.
double median_absolute_deviation(std::span<const double> samples);

// The value at which the running sum of weights, in ascending order of the values, reaches half of the total; where it is met
// exactly, the mean of that value and the next. NaN where no weight is positive. `weights` has one entry a sample, ≥ 0.
double weighted_median(std::span<const double> samples, std::span<const double> weights);

// Indices of samples whose modified z-score 0.6745·|x − median|/MAD exceeds `threshold` (Iglewicz & Hoaglin 1993 recommend 3.5).
// Where more than half of the samples are equal (MAD = 0) the mean absolute deviation takes its place: |x − median|/(1.2533·MeanAD).
std::vector<std::size_t> outliers(std::span<const double> samples, double threshold = 3.5);

}  // namespace trunkline::stats
