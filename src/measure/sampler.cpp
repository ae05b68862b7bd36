#include "measure/sampler.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/quantity_text.hpp"
#include "base/rng.hpp"
#include "stats/significance.hpp"

namespace trunkline::measure {
namespace {

constexpr std::size_t kDriftSamples = 12;  // below, halves are too small to tell
constexpr double kDriftLevel = 0.01, kDriftSize = 0.02;

bool precise(const Metric& m, double precision) {
  const auto interval = m.interval();
  const auto middle = m.median();
  if (!interval || !middle) return false;
  const double allowed = precision * std::abs(*middle);
  return *middle - interval->low <= allowed && interval->high - *middle <= allowed;
}

Error interrupted() { return {ErrorKind::interrupted, "interrupted", {}, {}}; }

}  // namespace

struct Sampler::Series {
  Point point;
  std::size_t first = 0;  // index of its first metric in metrics_
  std::vector<double> durations_s = {};
  std::string stopped = {};  // why it ended; empty = it goes on
};

Sampler::Sampler(const Clock& clock, const SamplerOptions& options, Stopped stopped, Tick tick)
    : clock_(clock), options_(options), stopped_(std::move(stopped)), tick_(std::move(tick)), start_(clock.now()) {}

Metric* Sampler::metric(std::string_view name) {
  const auto found = std::find_if(metrics_.begin(), metrics_.end(), [&](const Metric& m) { return m.name == name; });
  return found == metrics_.end() ? nullptr : &*found;
}

Result<void> Sampler::repeat(Series& series, bool warmup) {
  if (stopped()) return fail(interrupted());
  const Seconds before = clock_.now();
  TRUNKLINE_ASSIGN(values, series.point.repeat());
  assert(values.size() == series.point.metrics.size());
  series.durations_s.push_back((clock_.now() - before).si());
  for (std::size_t i = 0; i < values.size(); ++i) {
    Metric& m = metrics_[series.first + i];
    if (!std::isfinite(values[i]))
      return fail({ErrorKind::failed, m.name + ": one repetition gave no number: its time was too short to be read", {}, {}});
    (warmup ? m.warmup : m.samples).push_back(values[i]);
  }
  if (tick_) tick_(elapsed(), options_.budget);
  return {};
}

Result<void> Sampler::warm_up(std::vector<Series>& all) {
  for (Series& series : all) {
    for (int i = 0; i < series.point.warmups; ++i) TRUNKLINE_TRY(repeat(series, true));
  }
  return {};
}

// A repetition is begun only where it will probably end in time, judged by the ones before.
bool Sampler::fits(const Series& series, Seconds end) const {
  if (options_.exactly > 0) return true;
  return clock_.now() + seconds(stats::median(series.durations_s)) <= end;
}

Result<void> Sampler::rounds(std::vector<Series>& all, Seconds end) {
  Rng rng(options_.seed);
  std::vector<int> order(all.size());
  std::iota(order.begin(), order.end(), 0);
  // Ends after a round in which nothing was repeated: every process of several sees that in the same round.
  for (bool more = true; more;) {
    more = false;
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    for (const int index : order) {
      Series& series = all[std::size_t(index)];
      if (series.stopped.empty() && !metrics_[series.first].samples.empty() && !fits(series, end)) series.stopped = "time";
      const int wanted = series.stopped.empty() ? index : -1;
      const int agreed = agree_ ? agree_(wanted) : wanted;
      if (agreed < 0) {
        if (series.stopped.empty()) series.stopped = "time";
        continue;
      }
      TRUNKLINE_TRY(repeat(all[std::size_t(agreed)], false));
      all[std::size_t(agreed)].stopped = enough(all[std::size_t(agreed)]);
      more = true;
    }
  }
  return {};
}

// Why the series may end; empty = it goes on.
std::string Sampler::enough(const Series& series) const {
  const auto begin = metrics_.begin() + std::ptrdiff_t(series.first);
  if (options_.exactly > 0) return int(begin->samples.size()) >= options_.exactly ? "count" : "";
  const auto end = begin + std::ptrdiff_t(series.point.deciding);
  if (std::all_of(begin, end, [&](const Metric& m) { return precise(m, options_.precision); })) return "precise";
  return int(begin->samples.size()) >= options_.most_samples ? "count" : "";
}

void Sampler::finish(std::vector<Series>& all, const std::string& otherwise) {
  for (const Series& series : all) {
    for (std::size_t i = 0; i < series.point.metrics.size(); ++i) {
      Metric& m = metrics_[series.first + i];
      m.stopped = series.stopped.empty() ? otherwise : series.stopped;
      if (i >= series.point.deciding) continue;
      if (auto drift = drift_of(m); !drift.empty()) warn(std::move(drift));
    }
  }
}

Result<void> Sampler::sample(std::vector<Point> points, std::optional<Seconds> within) {
  const Seconds end = clock_.now() + std::min(left(), within.value_or(left()));
  std::vector<Series> all;
  for (Point& point : points) {
    assert(!point.metrics.empty() && point.deciding <= point.metrics.size());
    all.push_back({std::move(point), metrics_.size()});
    metrics_.insert(metrics_.end(), all.back().point.metrics.begin(), all.back().point.metrics.end());
  }
  auto done = warm_up(all);
  if (done) done = rounds(all, end);
  finish(all, done ? "time" : done.error().kind == ErrorKind::interrupted ? "interrupted" : "failed");
  return done;
}

std::string drift_of(const Metric& metric) {
  const std::size_t n = metric.samples.size();
  if (n < kDriftSamples) return {};
  const std::span<const double> all(metric.samples);
  const auto first = all.first(n / 2), second = all.last(n / 2);
  const double before = stats::median(first), after = stats::median(second);
  if (before <= 0 || std::abs(after / before - 1) < kDriftSize || stats::mann_whitney(first, second).p_value >= kDriftLevel) return {};
  return fmt::format("{} drifted by {:+.1f} % between the first and the second half of its samples: the machine was not in a steady state",
                     metric.name, 100 * (after / before - 1));
}

}  // namespace trunkline::measure
