// Which ways there are to run a job on a platform: the space that search.cpp looks through.
#pragma once

#include <vector>

#include "topology/platform.hpp"
#include "workload/job.hpp"

namespace trunkline::predict {

// One way to split a job. What recomputation it needs follows from its memory.
struct Plan {
  workload::Parallelism parallelism;
  std::int64_t micro = 1;
};

// Whether `job` leaves a degree of parallelism, the sharding or the micro-batch open.
bool leaves_plan_open(const workload::Job& job);

// Every plan that keeps what `job` fixes, varies what it leaves open, and that model, batch, framework and platform allow:
//   tp   divisors of a node's GPUs (or whole nodes of an NVLink domain) that share out heads, inner width and key-value heads
//   pp   divisors of the GPUs, at least one layer a stage; vpp: equal chunks, micro-batches a multiple of the stages
//   cp   powers of two that leave 4096 tokens a rank; not beside a vision model
//   ep   divisors of the experts and of the ranks of a stage, each expert split over tp ranks or whole
//   sharding  what the framework has (workload::shardings); micro-batch: every divisor of a rank's samples
// In a fixed order. Cost: some 10 ns a plan.
std::vector<Plan> plans_of(const workload::Job& job, const topology::Platform& platform);

}  // namespace trunkline::predict
