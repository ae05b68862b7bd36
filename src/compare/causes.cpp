#include "compare/causes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "compare/trunks.hpp"

namespace trunkline::compare {
namespace {

using calibrate::Applied;

Result<double> predicted(const workload::Job& job, const Applied& applied, Quantity quantity) {
  TRUNKLINE_ASSIGN(prediction, predict::predict(job, predict::PlatformModel(applied.platform, applied.efficiencies)));
  return time_of(prediction, quantity);
}

// Predicted times by the set of exchanged trunks, as bits.
Result<std::vector<double>> times_of(const workload::Job& job, const Applied& reference, const Applied& other,
                                     const std::vector<Trunk>& trunks, Quantity quantity) {
  std::vector<double> out;
  for (unsigned set = 0; set < (1u << trunks.size()); ++set) {
    Applied mixed = reference;
    std::string name = reference.platform.name;
    for (std::size_t i = 0; i < trunks.size(); ++i) {
      if (!(set >> i & 1)) continue;
      trunks[i].take(mixed, other);
      name += fmt::format(" with the {} of {}", trunks[i].name, other.platform.name);
    }
    mixed.platform.name = name;
    TRUNKLINE_ASSIGN(time, predicted(job, mixed, quantity));
    out.push_back(time);
  }
  return out;
}

double factorial(std::size_t n) { return std::tgamma(double(n) + 1); }

double shapley(const std::vector<double>& times, std::size_t trunk, std::size_t n) {
  double out = 0;
  for (unsigned set = 0; set < times.size(); ++set) {
    if (set >> trunk & 1) continue;
    const auto before = std::size_t(std::popcount(set));
    out += factorial(before) * factorial(n - before - 1) / factorial(n) * (times[set | 1u << trunk] - times[set]);
  }
  return out;
}

// Whether two platforms differ in a trunk by measured values alone, and each of these lies within the range of the other's.
bool only_scatter(const Trunk& trunk, const Offer& a, const Offer& b) {
  const auto overlap = [](const calibrate::Measured& m, const calibrate::Measured* other) {
    return other && m.low && m.high && other->low && other->high && *m.low <= *other->high && *other->low <= *m.high;
  };
  const auto all_overlap = [&](const Offer& one, const Offer& two) {
    return std::all_of(one.calibration.values.begin(), one.calibration.values.end(), [&](const calibrate::Measured& m) {
      const bool own =
          std::any_of(trunk.measured.begin(), trunk.measured.end(), [&](const char* prefix) { return m.key.starts_with(prefix); });
      return !own || overlap(m, two.calibration.find(m.key));
    });
  };
  return trunk.equal(a.stated, b.stated) && all_overlap(a, b) && all_overlap(b, a);
}

// What is left of the gap: rounding goes to the largest cause, so that the parts add up to the gap as printed; anything more is a field of
// a platform that belongs to no trunk, and is named.
void close(Gap& gap) {
  constexpr double kRounding = 1e-9;
  double rest = gap.other_s - gap.reference_s;
  for (const Cause& c : gap.causes) rest -= c.seconds;
  if (std::abs(rest) > kRounding * gap.reference_s)
    gap.causes.push_back({"other", rest, {}, "differences that belong to none of the trunks", false});
  else if (!gap.causes.empty())
    gap.causes.front().seconds += rest;
}

}  // namespace

std::string name_of(Quantity quantity) {
  switch (quantity) {
    case Quantity::step: return "step";
    case Quantity::epoch: return "epoch";
    case Quantity::job: return "job";
  }
  return {};
}

Result<double> time_of(const predict::Prediction& p, Quantity quantity) {
  switch (quantity) {
    case Quantity::step: return p.step_s;
    case Quantity::epoch:
      if (p.epoch) return p.epoch->s;
      return bad_input({p.job.file, 0}, "the job states no dataset, so it has no epoch",
                       "add data: {samples: …, bytes_per_sample: …}, or compare the step");
    case Quantity::job:
      if (p.run) return p.run->total_s;
      return bad_input({p.job.file, 0}, "the job does not say how long it runs",
                       "add run: {epochs: 1} or steps or tokens, or compare the step");
  }
  return p.step_s;
}

Result<Gap> causes_of(const workload::Job& job, const Offer& reference, const Offer& other, Quantity quantity) {
  const auto trunks = differing(reference.applied, other.applied);
  Gap gap{reference.name, other.name, quantity, 0, 0, {}};
  TRUNKLINE_ASSIGN(times, times_of(job, reference.applied, other.applied, trunks, quantity));
  gap.reference_s = times.front();
  TRUNKLINE_ASSIGN(other_s, predicted(job, other.applied, quantity));
  gap.other_s = other_s;
  for (std::size_t i = 0; i < trunks.size(); ++i)
    gap.causes.push_back({trunks[i].name,
                          shapley(times, i, trunks.size()),
                          {},
                          trunks[i].fact(reference) + " → " + trunks[i].fact(other),
                          only_scatter(trunks[i], reference, other)});
  std::stable_sort(gap.causes.begin(), gap.causes.end(),
                   [](const Cause& a, const Cause& b) { return std::abs(a.seconds) > std::abs(b.seconds); });
  close(gap);
  const double all = gap.other_s - gap.reference_s;
  for (Cause& c : gap.causes) {
    if (std::abs(all) > 1e-9 * gap.reference_s) c.share = c.seconds / all;
  }
  return gap;
}

}  // namespace trunkline::compare
