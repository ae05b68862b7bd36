// The words a job file may use, for its specification (job_spec.cpp) and its reader (job.cpp).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "workload/job.hpp"

namespace trunkline::workload::words {

std::optional<Schedule> schedule_from(std::string_view name);
std::optional<TrainingKind> kind_from(std::string_view name);
std::optional<Optimizer> optimizer_from(std::string_view name);
std::optional<DataSource> source_from(std::string_view name);
std::optional<Staging> staging_from(std::string_view name);
std::optional<CheckpointTarget> target_from(std::string_view name);
std::optional<CheckpointMode> mode_from(std::string_view name);

std::vector<std::string> frameworks();
std::vector<std::string> shardings();
std::vector<std::string> recomputes();
std::vector<std::string> schedules();
std::vector<std::string> kinds();
std::vector<std::string> optimizers();
std::vector<std::string> sources();
std::vector<std::string> stagings();
std::vector<std::string> targets();
std::vector<std::string> modes();
std::vector<std::string> precisions();

}  // namespace trunkline::workload::words
