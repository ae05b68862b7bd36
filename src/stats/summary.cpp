#include "stats/summary.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace trunkline::stats {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

std::vector<double> sorted(std::span<const double> samples) {
  std::vector<double> out(samples.begin(), samples.end());
  std::sort(out.begin(), out.end());
  return out;
}

double mean_of(std::span<const double> samples) { return std::accumulate(samples.begin(), samples.end(), 0.0) / double(samples.size()); }

std::vector<double> distances(std::span<const double> samples, double from) {
  std::vector<double> out;
  for (double x : samples) out.push_back(std::abs(x - from));
  return out;
}

}  // namespace

double quantile_sorted(std::span<const double> ascending, double p) {
  if (ascending.empty()) return kNaN;
  const double position = std::clamp(p, 0.0, 1.0) * double(ascending.size() - 1);
  const auto below = std::size_t(position);
  if (below + 1 >= ascending.size()) return ascending.back();
  const double share = position - double(below);
  return ascending[below] * (1 - share) + ascending[below + 1] * share;
}

double quantile(std::span<const double> samples, double p) { return quantile_sorted(sorted(samples), p); }
double median(std::span<const double> samples) { return quantile(samples, 0.5); }

double median_absolute_deviation(std::span<const double> samples) { return median(distances(samples, median(samples))); }

std::optional<Summary> summarize(std::span<const double> samples) {
  if (samples.empty() || !std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x); })) return std::nullopt;
  const auto ascending = sorted(samples);
  Summary s;
  s.n = samples.size();
  s.min = ascending.front();
  s.max = ascending.back();
  s.p10 = quantile_sorted(ascending, 0.10);
  s.p25 = quantile_sorted(ascending, 0.25);
  s.median = quantile_sorted(ascending, 0.50);
  s.p75 = quantile_sorted(ascending, 0.75);
  s.p90 = quantile_sorted(ascending, 0.90);
  s.mean = mean_of(samples);
  double squares = 0;
  for (double x : samples) squares += (x - s.mean) * (x - s.mean);
  s.deviation = s.n > 1 ? std::sqrt(squares / double(s.n - 1)) : 0;
  s.mad = median(distances(samples, s.median));
  return s;
}

double weighted_median(std::span<const double> samples, std::span<const double> weights) {
  std::vector<std::size_t> order;
  double total = 0;
  for (std::size_t i = 0; i < samples.size() && i < weights.size(); ++i) {
    if (!(weights[i] > 0)) continue;
    order.push_back(i);
    total += weights[i];
  }
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
  double sum = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    sum += weights[order[i]];
    if (sum > total / 2 || i + 1 == order.size()) return samples[order[i]];
    if (sum == total / 2) return (samples[order[i]] + samples[order[i + 1]]) / 2;
  }
  return kNaN;
}

std::vector<std::size_t> outliers(std::span<const double> samples, double threshold) {
  std::vector<std::size_t> out;
  if (samples.size() < 3) return out;
  const auto far = distances(samples, median(samples));
  double scale = median(far) / 0.6745;
  if (scale == 0) scale = 1.2533141373155003 * mean_of(far);  // √(π/2)
  for (std::size_t i = 0; i < far.size(); ++i) {
    if (far[i] > threshold * scale) out.push_back(i);
  }
  return out;
}

}  // namespace trunkline::stats
