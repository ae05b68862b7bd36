// One row of a published training table as a job on a platform.
#pragma once

#include <optional>
#include <string>

#include "base/result.hpp"
#include "io/csv.hpp"
#include "topology/platform.hpp"
#include "validate/row.hpp"
#include "workload/job.hpp"

namespace trunkline::validate {

struct TrainingRow : Row {
  std::string gpu, framework_name;
  std::string exclude_reason;  // why the table does not count it
  std::optional<workload::Job> job;
  std::optional<topology::Platform> platform;
};

// Never fails: what is wrong with a row stands in `skipped_reason`.
TrainingRow training_row(const io::CsvTable& table, const io::CsvRow& row);

// The rule, in words, for documentation.
std::string inference_rule();

}  // namespace trunkline::validate
