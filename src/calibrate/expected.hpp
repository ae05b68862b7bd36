// What the models say that a probe should give on a platform: the promise that a platform file makes.
#pragma once

#include <string>

#include "collectives/collective.hpp"
#include "kernels/kernels.hpp"
#include "measure/result.hpp"
#include "topology/platform.hpp"

namespace trunkline::calibrate {

// Which of a platform's stores a result was taken on.
enum class Store { unsaid, volume, local_disk };

// A platform, ready to be asked many times.
struct Machine {
  explicit Machine(topology::Platform of, Store on = Store::unsaid);
  Machine(topology::Platform of, const kernels::Efficiencies& efficiencies, Store on);

  topology::Platform platform;
  kernels::Kernels kernels;
  collectives::NodeRates rates;
  topology::NodeLimits limits;
  Store store;
};

struct Expectation {
  double value = 0;    // in the metric's unit
  std::string source;  // how it follows, in words
};

// Errors are of the kind `missing` and say why nothing is promised: another quantity, conditions that the model does not cover, a platform
// file that does not say it. Latencies of networks are not promised: no platform file states one.
Result<Expectation> expected(const Machine& machine, const std::string& probe, const measure::Metric& metric);

// --- internal to this folder: the parts, by group of probes
Result<Expectation> expected_collective(const Machine& machine, const std::string& probe, const measure::Metric& metric);
Result<Expectation> expected_gemm(const Machine& machine, const std::string& probe, const measure::Metric& metric);
Result<Expectation> expected_memory_bound(const Machine& machine, const std::string& probe, const measure::Metric& metric);

tl::unexpected<Error> no_promise(std::string why);
std::optional<double> number_of(const measure::Metric& metric, std::string_view condition);
std::string text_of(const measure::Metric& metric, std::string_view condition);
std::string quantity_of(const measure::Metric& metric);  // of the name: before the @
std::string point_of(const measure::Metric& metric);     // behind it

}  // namespace trunkline::calibrate
