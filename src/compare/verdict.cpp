#include "compare/verdict.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "stats/confidence.hpp"
#include "stats/significance.hpp"
#include "stats/summary.hpp"

namespace trunkline::compare {
namespace {

constexpr int kErrorResamples = 500;                // enough for quartiles
constexpr std::int64_t kMostRepetitions = 100'000;  // more is no advice

// The z with P(Z < z) = p for a standard normal Z, by bisection: asked a few times a metric, so plain is good enough.
double normal_quantile(double p) {
  double low = -10, high = 10;
  for (int i = 0; i < 60; ++i) {
    const double middle = (low + high) / 2;
    (0.5 * std::erfc(-middle / std::sqrt(2.0)) < p ? low : high) = middle;
  }
  return (low + high) / 2;
}

std::vector<double> ranks_of(std::span<const double> samples) {
  std::vector<std::size_t> order(samples.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return samples[a] < samples[b]; });
  std::vector<double> ranks(samples.size());
  for (std::size_t i = 0; i < order.size();) {
    std::size_t end = i;
    while (end < order.size() && samples[order[end]] == samples[order[i]]) ++end;
    for (std::size_t k = i; k < end; ++k) ranks[order[k]] = double(i + end - 1) / 2;  // ties share their mean rank
    i = end;
  }
  return ranks;
}

// Even samples that do not overlap at all give p = 2/C(2n, n): the least n a side for which that can pass.
std::int64_t least_for_ranks(double level) {
  double log_ways = 0;  // log C(2n, n)
  std::int64_t n = 0;
  while (std::log(2.0) - log_ways >= std::log(level) && n < 1000) {
    ++n;
    log_ways += std::log(double(2 * n) * double(2 * n - 1)) - 2 * std::log(double(n));
  }
  return n;
}

// Standard error of log(ratio) for one independent repetition on each side.
double error_of_one(const Evidence& e) {
  const double pairs = double(e.block) / double(e.reference_n) + double(e.block) / double(e.n);
  return *e.error / std::sqrt(pairs / 2);
}

std::optional<std::int64_t> repetitions_to_decide(const Evidence& e, std::size_t tests, const Rules& rules) {
  const double inside = normal_quantile(0.5 + rules.level / 2), sure = normal_quantile(rules.power);
  const double both_ways = normal_quantile(0.5 + rules.power / 2);
  const double strict = normal_quantile(1 - rules.error / (2 * double(std::max<std::size_t>(1, tests))));
  const double margin = std::log1p(rules.margin), apart = std::log1p(1.5 * rules.margin);
  const double one = error_of_one(e);
  const double wanted = std::min({margin / (inside + both_ways), apart / (strict + sure), (apart - margin) / sure});
  const std::int64_t least =
      std::max<std::int64_t>(kLeastRepetitions, least_for_ranks(rules.error / double(std::max<std::size_t>(1, tests))));
  double n = std::ceil(double(e.block) * one * one / (wanted * wanted));
  const double made = double(std::min(e.reference_n, e.n));
  if (n <= made && double(least) <= made) {  // precise enough, and still undecided: close to the margin
    const double distance = std::abs(std::abs(std::log(*e.ratio)) - margin);
    const double closer = distance / (inside + sure);
    n = std::max(2 * made, std::ceil(double(e.block) * one * one / (closer * closer)));
  }
  if (!(n <= double(kMostRepetitions))) return std::nullopt;
  return std::max(least, std::int64_t(n));
}

std::string percent_off(double ratio) { return fmt::format("{:+.1f} %", 100 * (ratio - 1)); }

}  // namespace

std::string name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better: return "better";
    case Verdict::worse: return "worse";
    case Verdict::same: return "same";
    case Verdict::undecided: return "undecided";
  }
  return {};
}

std::size_t block_length(std::span<const double> samples) {
  const std::size_t n = samples.size();
  if (n < kLeastRepetitions) return 1;
  const auto ranks = ranks_of(samples);
  const double mean = double(n - 1) / 2;
  double spread = 0, next = 0;
  for (std::size_t i = 0; i < n; ++i) {
    spread += (ranks[i] - mean) * (ranks[i] - mean);
    if (i + 1 < n) next += (ranks[i] - mean) * (ranks[i + 1] - mean);
  }
  if (spread <= 0) return 1;
  const double r = next / spread;
  if (r <= 2 / std::sqrt(double(n))) return 1;
  return std::min(n, std::size_t(std::ceil((1 + r) / (1 - r))));
}

std::vector<double> block_medians(std::span<const double> samples, std::size_t length) {
  if (length <= 1) return {samples.begin(), samples.end()};
  std::vector<double> out;
  for (std::size_t i = 0; i + length <= samples.size(); i += length) out.push_back(stats::median(samples.subspan(i, length)));
  return out;
}

Evidence evidence_of(std::span<const double> reference, std::span<const double> samples, const Rules& rules, std::uint64_t seed) {
  Evidence e;
  e.reference_n = reference.size();
  e.n = samples.size();
  const double below = stats::median(reference), above = stats::median(samples);
  if (std::isfinite(below) && std::isfinite(above) && below > 0 && above > 0) e.ratio = above / below;
  e.block = std::max(block_length(reference), block_length(samples));
  const auto a = block_medians(reference, e.block), b = block_medians(samples, e.block);
  if (!e.ratio || a.size() < kLeastRepetitions || b.size() < kLeastRepetitions) return e;
  const auto interval = stats::bootstrap_ratio(b, a, seed, rules.level, rules.resamples);
  if (!interval) return e;
  e.ratio = interval->ratio;
  e.low = interval->interval.low;
  e.high = interval->interval.high;
  e.p_value = stats::mann_whitney(b, a).p_value;
  const auto middle = stats::bootstrap_ratio(b, a, seed + 1, 0.5, kErrorResamples)->interval;
  e.error = std::log(middle.high / middle.low) / (2 * normal_quantile(0.75));
  return e;
}

Judgement judge(const Evidence& e, double p_value, std::size_t tests, measure::Better better, const Rules& rules) {
  Judgement out;
  if (!e.ratio) {
    out.reason = "a median is not a positive number";
    return out;
  }
  if (!e.low || !e.high) {
    const bool few = std::min(e.reference_n, e.n) < kLeastRepetitions;
    out.reason = few ? fmt::format("{} and {} repetitions are too few for an interval", e.reference_n, e.n)
                     : fmt::format("neighbouring repetitions resemble each other ({} count as one)", e.block);
    const auto rows = least_for_ranks(rules.error / double(std::max<std::size_t>(1, tests)));
    out.repetitions = std::max<std::int64_t>(kLeastRepetitions, rows) * std::int64_t(e.block);
    return out;
  }
  if (*e.low >= 1 - rules.margin && *e.high <= 1 + rules.margin) {
    out.verdict = Verdict::same;
    return out;
  }
  const bool excludes = *e.low > 1 || *e.high < 1;
  if (p_value < rules.error && excludes && std::abs(*e.ratio - 1) > rules.margin) {
    out.verdict = (*e.ratio > 1) == (better == measure::Better::higher) ? Verdict::better : Verdict::worse;
    return out;
  }
  out.reason = fmt::format("between {} and {}", percent_off(*e.low), percent_off(*e.high));
  out.repetitions = repetitions_to_decide(e, tests, rules);
  return out;
}

}  // namespace trunkline::compare
