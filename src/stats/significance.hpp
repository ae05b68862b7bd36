// Is the difference between two sets of samples real, or what chance would do?
#pragma once

#include <span>
#include <vector>

namespace trunkline::stats {

struct RankTest {
  double u = 0;            // pairs (a, b) with a > b, ties counted half
  double superiority = 0;  // u / (n·m): how often a sample of a exceeds one of b; ½ = no difference
  double p_value = 1;      // two-sided
  bool exact = false;
};

// Mann–Whitney U test, two-sided: the chance that samples from one distribution show ranks at least this far from even.
// Up to 50 samples together the distribution of the rank sum is counted out exactly, ties included (mid-ranks); beyond that it is
// taken as normal with tie and continuity correction. p = 1 where a side is empty or all samples are equal.
// Source: Mann & Whitney 1947; Lehmann, Nonparametrics, §1.5 for ties. O(N³) exact, O(N log N) else.
RankTest mann_whitney(std::span<const double> a, std::span<const double> b);

// Holm's step-down correction: p-values, in the order given, adjusted so that among all of them the chance of even one false
// alarm stays below the level they are compared with (Holm 1979).
std::vector<double> holm(std::span<const double> p_values);

}  // namespace trunkline::stats
