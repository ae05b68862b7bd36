// What is asked of a job in which nothing is open: inner parts of predict.cpp that settling and searching use too.
#pragma once

#include "predict/prediction.hpp"

namespace trunkline::predict {

// The factor on kernel times that `options` or the fitted constants give.
double factor_of(const workload::Job& job, const PlatformModel& platform, const Options& options);

// The step time that predict() gives for `job`, data wait and checkpoints included.
double step_s_of(const workload::Job& job, const PlatformModel& platform, const Options& options);

// The least recomputation that fits: none, else selective, else full recomputation of as few layers as need be, else of all.
void recompute_least(workload::Job& job, Bytes capacity);

// Adds what was taken to `job.assumed`, in place of an earlier note on the same thing, such as "chosen (not stated)".
void note(workload::Job& job, const std::string& what, std::string taken);

// Full recomputation of as few layers as fit `capacity`; of all where even that does not.
void recompute_part(workload::Job& job, Bytes capacity);

}  // namespace trunkline::predict
