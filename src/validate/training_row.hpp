// One row of a published training table as a job on a platform.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/csv.hpp"
#include "topology/platform.hpp"
#include "workload/job.hpp"

namespace trunkline::validate {

using Assumptions = std::vector<std::pair<std::string, std::string>>;

struct TrainingRow {
  std::string id, file, table;
  int line = 0;
  std::string gpu, framework_name;
  bool eligible = false;  // dense_eligible = 1
  std::string exclude_reason;
  double measured_s = 0;  // 0: the row states no time
  std::optional<workload::Job> job;
  std::optional<topology::Platform> platform;
  Assumptions assumed;
  std::string skip;  // why it cannot be predicted; empty otherwise
};

// Never fails: what is wrong with a row stands in `skip`.
TrainingRow training_row(const io::CsvTable& table, const io::CsvRow& row);

// The rule, in words, for documentation.
std::string inference_rule();

}  // namespace trunkline::validate
