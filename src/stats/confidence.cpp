#include "stats/confidence.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "stats/summary.hpp"

namespace trunkline::stats {
namespace {

// The median of as many draws with replacement as there are samples.
double resampled_median(std::span<const double> samples, Rng& rng, std::vector<double>& drawn) {
  drawn.resize(samples.size());
  for (double& x : drawn) x = samples[rng.below(samples.size())];
  const auto middle = drawn.begin() + std::ptrdiff_t(drawn.size() / 2);
  std::nth_element(drawn.begin(), middle, drawn.end());
  if (drawn.size() % 2) return *middle;
  return (*middle + *std::max_element(drawn.begin(), middle)) / 2;
}

bool usable(std::span<const double> samples) {
  return samples.size() >= 2 && std::all_of(samples.begin(), samples.end(), [](double x) { return std::isfinite(x) && x > 0; });
}

}  // namespace

std::optional<Interval> median_interval(std::span<const double> samples, double level) {
  const std::size_t n = samples.size();
  std::size_t k = 0;
  double coverage = 0, below = 0;  // P(Binomial(n, ½) < next)
  for (std::size_t next = 1; 2 * next <= n; ++next) {
    const double i = double(next - 1);
    below += std::exp(std::lgamma(double(n) + 1) - std::lgamma(i + 1) - std::lgamma(double(n) - i + 1) - double(n) * std::log(2.0));
    if (1 - 2 * below < level) break;
    k = next;
    coverage = 1 - 2 * below;
  }
  if (k == 0) return std::nullopt;
  std::vector<double> ascending(samples.begin(), samples.end());
  std::sort(ascending.begin(), ascending.end());
  return Interval{ascending[k - 1], ascending[n - k], coverage};
}

std::optional<Ratio> bootstrap_ratio(std::span<const double> numerator, std::span<const double> denominator, std::uint64_t seed,
                                     double level, int resamples) {
  if (!usable(numerator) || !usable(denominator) || resamples < 2) return std::nullopt;
  Rng rng(seed);
  std::vector<double> ratios, drawn;
  for (int i = 0; i < resamples; ++i) {
    const double top = resampled_median(numerator, rng, drawn);
    ratios.push_back(top / resampled_median(denominator, rng, drawn));
  }
  std::sort(ratios.begin(), ratios.end());
  const double tail = (1 - level) / 2;
  return Ratio{median(numerator) / median(denominator), {quantile_sorted(ratios, tail), quantile_sorted(ratios, 1 - tail), level}};
}

}  // namespace trunkline::stats
