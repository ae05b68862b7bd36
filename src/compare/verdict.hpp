// Is one set of repetitions better than another, worse, the same, or is it too early to say?
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "measure/result.hpp"

namespace trunkline::compare {

enum class Verdict { better, worse, same, undecided };

std::string name_of(Verdict verdict);

struct Rules {
  double margin = 0.02;  // a difference up to this is none
  double level = 0.95;   // of the ratio's interval
  // Of all verdicts "better" and "worse" of one comparison together, after Holm's correction. 1 % rather than the usual 5 %: of a
  // hundred comparisons of equal things at most five may go wrong, not five on average.
  double error = 0.01;
  double power = 0.95;  // chance of a verdict at the repetitions that are asked for
  std::uint64_t seed = 1;
  int resamples = 2000;
};

inline constexpr std::size_t kLeastRepetitions = 6;  // below, no interval of a median reaches 95 %

// One metric of a result against that of the reference.
struct Evidence {
  std::size_t reference_n = 0, n = 0;  // repetitions
  std::size_t block = 1;               // repetitions that count as one, because neighbours resemble each other (independent())
  std::optional<double> ratio;         // median / median of the reference
  std::optional<double> low, high;     // of the ratio; absent with fewer than kLeastRepetitions independent ones on a side
  std::optional<double> p_value;       // two-sided Mann–Whitney, not corrected; absent as above
  // Standard error of log(ratio), from the middle half of the bootstrap: a few outliers widen the interval of a dozen repetitions, but
  // not that of the many that are asked for because of it.
  std::optional<double> error;
};

// Cost: resamples · n, some 10 ms for 1,000 repetitions.
Evidence evidence_of(std::span<const double> reference, std::span<const double> samples, const Rules& rules, std::uint64_t seed);

struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::string reason;                       // why undecided; empty else
  std::optional<std::int64_t> repetitions;  // on each side, that would decide; absent when decided, or when no number is in sight
};

// `p_value` is the corrected one, `tests` the number of metrics that were tested together.
//   same: the interval of the ratio lies inside 1 ± margin
//   better, worse: not same, p < error, the interval excludes 1 and the ratio is off by more than the margin
// The repetitions asked for are those at which equal things are called the same, and things apart by half as much again as the margin
// or more are told apart, each with probability `power`: with s the standard error of log(ratio) seen so far, brought to one repetition on
// each side, n = s²/min(log(1 + margin)/(2·z), …)². Where as many have been made already and the ratio lies near the margin, its distance
// to the margin counts instead.
Judgement judge(const Evidence& evidence, double p_value, std::size_t tests, measure::Better better, const Rules& rules);

// Neighbouring repetitions may resemble each other (a disturbance lasts, a clock drifts); tests that take them as independent then see
// differences that are none. With r = correlation of each repetition's rank with the next one's, where it is clear of chance
// (r > 2/√n), blocks of (1 + r)/(1 − r) repetitions are replaced by their median: about as many as are independent.
std::size_t block_length(std::span<const double> samples);
std::vector<double> block_medians(std::span<const double> samples, std::size_t length);

}  // namespace trunkline::compare
