#include "stats/significance.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <numeric>

namespace trunkline::stats {
namespace {

constexpr std::size_t kExactUpTo = 50;  // C(50, 25) ways fit a double exactly

struct Ranks {
  std::vector<int> doubled;  // twice the mid-rank of every sample, a first: whole numbers even with ties
  double ties = 0;           // Σ(t³ − t) over groups of equal samples
};

Ranks rank(std::span<const double> a, std::span<const double> b) {
  std::vector<double> all(a.begin(), a.end());
  all.insert(all.end(), b.begin(), b.end());
  std::vector<std::size_t> order(all.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return all[i] < all[j]; });
  Ranks ranks;
  ranks.doubled.resize(all.size());
  for (std::size_t from = 0; from < order.size();) {
    std::size_t to = from + 1;
    while (to < order.size() && all[order[to]] == all[order[from]]) ++to;
    for (std::size_t i = from; i < to; ++i) ranks.doubled[order[i]] = int(from + to + 1);
    const double t = double(to - from);
    ranks.ties += t * t * t - t;
    from = to;
  }
  return ranks;
}

// The share of all ways to choose n of the ranks whose sum lies at least as far from the mean as `sum` (doubled ranks).
double exact_p_value(const std::vector<int>& doubled, std::size_t n, int sum) {
  const int total = std::accumulate(doubled.begin(), doubled.end(), 0);
  std::vector<std::vector<double>> ways(n + 1, std::vector<double>(std::size_t(total) + 1, 0));  // [chosen][sum]
  ways[0][0] = 1;
  for (int r : doubled) {
    for (std::size_t chosen = n; chosen >= 1; --chosen) {
      for (int s = total; s >= r; --s) ways[chosen][std::size_t(s)] += ways[chosen - 1][std::size_t(s - r)];
    }
  }
  // Means are compared times N, in whole numbers: |s·N − n·total| has no rounding.
  const auto count = std::int64_t(doubled.size());
  const auto distance = [&](int s) { return std::llabs(s * count - std::int64_t(n) * total); };
  double all = 0, far = 0;
  for (int s = 0; s <= total; ++s) {
    all += ways[n][std::size_t(s)];
    if (distance(s) >= distance(sum)) far += ways[n][std::size_t(s)];
  }
  return far / all;
}

double normal_p_value(double n, double m, double ties, double u) {
  const double count = n + m;
  const double variance = n * m / 12 * ((count + 1) - ties / (count * (count - 1)));
  if (variance <= 0) return 1;
  const double z = std::max(0.0, std::abs(u - n * m / 2) - 0.5) / std::sqrt(variance);
  return std::erfc(z / std::sqrt(2.0));
}

}  // namespace

RankTest mann_whitney(std::span<const double> a, std::span<const double> b) {
  RankTest test;
  if (a.empty() || b.empty()) {
    test.superiority = 0.5;
    return test;
  }
  const double n = double(a.size()), m = double(b.size());
  const Ranks ranks = rank(a, b);
  std::int64_t sum = 0;  // of a's doubled ranks
  for (std::size_t i = 0; i < a.size(); ++i) sum += ranks.doubled[i];
  test.u = double(sum) / 2 - n * (n + 1) / 2;
  test.superiority = test.u / (n * m);
  test.exact = a.size() + b.size() <= kExactUpTo;
  test.p_value = test.exact ? exact_p_value(ranks.doubled, a.size(), int(sum)) : normal_p_value(n, m, ranks.ties, test.u);
  return test;
}

std::vector<double> holm(std::span<const double> p_values) {
  const std::size_t m = p_values.size();
  std::vector<std::size_t> order(m);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t i, std::size_t j) { return p_values[i] < p_values[j]; });
  std::vector<double> adjusted(m);
  double highest = 0;
  for (std::size_t i = 0; i < m; ++i) {
    highest = std::max(highest, std::min(1.0, double(m - i) * p_values[order[i]]));
    adjusted[order[i]] = highest;
  }
  return adjusted;
}

}  // namespace trunkline::stats
