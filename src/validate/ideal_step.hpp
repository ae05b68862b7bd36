// The least time that a step can take by its matrix products alone: what a stated time must not contradict, and the trivial predictor's
// base.
#pragma once

#include "topology/platform.hpp"
#include "workload/job.hpp"
#include "workload/operations.hpp"

namespace trunkline::validate {

// Seconds: model FLOPs of the batch, forward and backward, over the peak rate of all GPUs. Ignores everything else.
inline double ideal_step_s(const workload::Job& job, const topology::Platform& platform) {
  const double flops = 3 * workload::forward_flops_per_sample(job.model, job.batch.sequence) * double(job.batch.global);
  return flops / (platform.gpus() * platform.node.gpu.rate(job.precision.compute).si());
}

// Whether a step of `measured_s` can be. Below the least share of the peak rate no training run was worth printing; above twice
// the peak it is impossible, even where a precision that is not stated was taken for one of half the rate.
inline bool plausible_step(const workload::Job& job, const topology::Platform& platform, double measured_s) {
  constexpr double kLeastShare = 1e-4, kMostShare = 2;
  const double passes = job.kind == workload::TrainingKind::full ? 1 : 2.0 / 3;  // frozen weights have no gradient
  const double share = passes * ideal_step_s(job, platform) / measured_s;
  return share >= kLeastShare && share <= kMostShare;
}

}  // namespace trunkline::validate
