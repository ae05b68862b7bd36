// Whether the parts of a job agree with each other. Used by job.cpp.
#pragma once

#include "workload/job.hpp"

namespace trunkline::workload {

// Errors name the line of the key at fault in `value`, the file that `job` was read from. What is allowed but not
// obvious (replicated key-value heads, uneven pipeline stages) is added to `job.assumed`.
Result<void> check_job(Job& job, const io::Value& value);

}  // namespace trunkline::workload
