// What `trunkline measure` answers: results, or what it would do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/probe.hpp"
#include "measure/result.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

Document measure_document(const measure::Measurement& measurement);

struct ProbeLine {
  std::string name, answers, needs;
};
Document probe_list_document(const std::vector<ProbeLine>& probes, const Context& context);

struct PlannedProbe {
  std::string name;
  std::string waived;  // why it would not run; empty = it would
  std::optional<measure::Estimate> estimate;
};
Document measure_plan_document(const std::vector<PlannedProbe>& probes, const Context& context);

std::string probe_list_json(const std::vector<ProbeLine>& probes, const Context& context);
std::string measure_plan_json(const std::vector<PlannedProbe>& probes, const Context& context);

// A metric's value for people: 1.45e9 B/s → "1.45", "GB/s".
struct ReadableUnit {
  std::string unit;
  double scale = 1;  // readable = value · scale
};
ReadableUnit readable_unit(const measure::Metric& metric);

}  // namespace trunkline::report
