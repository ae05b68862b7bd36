// What surrounds the step: reading data, checkpoints, epochs, failures, money. Used by predict.cpp.
#pragma once

#include "predict/prediction.hpp"

namespace trunkline::predict {

// data_wait and checkpoint parts of the step; must run before the step time is summed.
void add_data_and_checkpoint(const workload::Job& job, const topology::Platform& platform, Prediction& prediction);

// Epoch, whole run, cost; needs the step time.
void add_epoch_and_cost(const workload::Job& job, const topology::Platform& platform, Prediction& prediction);

}  // namespace trunkline::predict
