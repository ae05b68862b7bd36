// A probe with known answers. Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "backends/fake/fake.hpp"
#include "measure/clock.hpp"

namespace trunkline::backends::fake {

// What one repetition of a point truly gives before noise.
struct Truth {
  std::vector<measure::Metric> metrics;
  std::vector<double> values;  // one a metric
  Seconds cost;                // of one repetition
};

// A repetition is slower than the truth by a factor 1 + |noise| that hits all metrics of the point alike: bandwidths fall, times rise.
struct Answer {
  std::vector<Truth> points;
  double spread = 0.01;             // of that factor
  std::optional<Error> error = {};  // what happens after some repetitions, or at once
  int repetitions_before_error = 0;
};

// What a group of probes answers from; `settings` changes conditions and sizes.
struct Model {
  const topology::Platform& platform;
  std::optional<Fault> fault;
  double rate_left(FaultKind kind) const { return fault && fault->kind == kind ? fault->left : 1; }
  bool has(FaultKind kind) const { return fault && fault->kind == kind; }
};

struct Description {
  std::string name, answers, needs;
  // The answer, or an error of the kind `missing`: the platform has nothing of that kind.
  Result<Answer> (*answer)(const Model& model, const measure::Settings& settings);
};

// The groups, one file each.
std::vector<Description> host_probes();
std::vector<Description> storage_probes();
std::vector<Description> network_probes();
std::vector<Description> collective_probes();
std::vector<Description> gpu_probes();

measure::Metric bandwidth(std::string name, std::optional<Bandwidth> limit = {}, std::string limit_source = {},
                          measure::Conditions conditions = {});
tl::unexpected<Error> missing(std::string what);

}  // namespace trunkline::backends::fake
