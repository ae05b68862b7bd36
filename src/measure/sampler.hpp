// How often a probe repeats what it measures, and when that is enough.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "measure/clock.hpp"
#include "measure/result.hpp"

namespace trunkline::measure {

// One thing that is repeated: a message size, a buffer, a way to read a file.
struct Point {
  std::vector<Metric> metrics;                          // what one repetition yields, still without samples
  std::function<Result<std::vector<double>>()> repeat;  // one repetition: a value for each metric
  int warmups = 1;                                      // repetitions before that do not count
  std::size_t deciding = 1;                             // the first so many metrics decide when it is enough; tails (p99.9) do not
};

struct SamplerOptions {
  double precision = 0.02;  // enough when both ends of the median's 95 % interval lie this close to it
  int most_samples = 1000;  // of one point
  int exactly = 0;          // so many samples of every point, whatever the precision and the time; 0 = as above
  Seconds budget = seconds(20);
  std::uint64_t seed = 1;
};

class Sampler {
 public:
  using Stopped = std::function<bool()>;
  using Tick = std::function<void(Seconds elapsed, Seconds budget)>;

  // The budget runs from here on, so that what a probe prepares counts too.
  Sampler(const Clock& clock, const SamplerOptions& options, Stopped stopped = {}, Tick tick = {});

  // Repeats the points in rounds. Each round visits every point that is not precise enough yet, in a new random order, so that a
  // disturbance hits all sizes alike. Ends when all are precise, or where the next round would leave the time: until `within` of
  // the budget (by default all that is left of it) is spent. One repetition of every point is always made.
  // Samples are kept also where it ends with an error.
  Result<void> sample(std::vector<Point> points, std::optional<Seconds> within = {});

  // For probes of several processes: makes every process follow what the first one decides. Takes its own decision (the index
  // of the point to repeat, or -1 to end), returns the common one.
  void set_agreement(std::function<int(int)> agree) { agree_ = std::move(agree); }

  Seconds elapsed() const { return clock_.now() - start_; }
  Seconds left() const { return std::max(seconds(0), options_.budget - elapsed()); }
  bool stopped() const { return stopped_ && stopped_(); }
  const Clock& clock() const { return clock_; }
  const SamplerOptions& options() const { return options_; }

  // Facts that are known only afterwards. nullptr: no such metric was sampled.
  Metric* metric(std::string_view name);
  void warn(std::string text) { warnings_.push_back(std::move(text)); }

  std::vector<Metric>& metrics() { return metrics_; }
  std::vector<std::string>& warnings() { return warnings_; }

 private:
  struct Series;
  Result<void> repeat(Series& series, bool warmup);
  Result<void> warm_up(std::vector<Series>& all);
  Result<void> rounds(std::vector<Series>& all, Seconds end);
  bool fits(const Series& series, Seconds end) const;
  std::string enough(const Series& series) const;
  void finish(std::vector<Series>& all, const std::string& otherwise);

  const Clock& clock_;
  SamplerOptions options_;
  Stopped stopped_;
  Tick tick_;
  std::function<int(int)> agree_;
  Seconds start_;
  std::vector<Metric> metrics_;
  std::vector<std::string> warnings_;
};

// Whether samples drift: the second half lies elsewhere than the first (Mann–Whitney p < 0.01 and medians 2 % apart).
// A sentence for the user, or empty.
std::string drift_of(const Metric& metric);

}  // namespace trunkline::measure
