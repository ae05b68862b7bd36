// A result against what a platform file promises.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/expected.hpp"
#include "measure/result.hpp"

namespace trunkline::compare {

enum class Kept { pass, shortfall, undecided };

std::string name_of(Kept kept);

struct PromiseRow {
  std::string probe, metric, unit;
  measure::Better better = measure::Better::higher;
  double promised = 0;
  std::string source;              // how the promise follows from the platform file
  std::optional<double> measured;  // median; absent where the probe failed
  std::size_t n = 0;
  std::optional<double> share;      // measured / promised, or promised / measured where less is better
  std::optional<double> low, high;  // of the share, from the 95 % interval of the median; absent below six repetitions
  Kept kept = Kept::undecided;
  std::string reason;

  std::string name() const { return probe + " " + metric; }
};

struct Unpromised {
  std::string name, reason;  // of a metric or of a whole probe
};

struct PromiseCheck {
  std::string result, platform;
  double at_least = 0;
  std::vector<PromiseRow> rows;
  std::vector<Unpromised> unpromised;

  bool shortfall() const;
};

// The share of its promise that counts as kept. What the models promise is met by published systems within some 10 %, and probes
// take a little of what they measure.
inline constexpr double kKept = 0.9;

// A metric falls short where the whole interval of its median lies below `at_least` of the promise, passes where all of it lies above, and
// is undecided between. With fewer than six repetitions the median alone decides. A probe that failed falls short.
PromiseCheck check_promise(const measure::Measurement& result, const calibrate::Machine& machine, double at_least = kKept);

}  // namespace trunkline::compare
