// What surrounds the step: reading data, checkpoints, epochs, failures, money. Used by predict.cpp; its parts are also asked alone
// (validate). All times in seconds, sizes in bytes, rates in bytes or operations a second.
#pragma once

#include <string>

#include "predict/prediction.hpp"

namespace trunkline::predict {

// Where a step's samples come from, and how many a second all nodes together can have of it: the lower of
//   bandwidth / sample   and   requests a second / requests of a sample.
// Packed samples (shards of many, read in order) share requests of 256 KiB, which is what block volumes count as one; samples kept as
// files of their own take at least one each. Ignores: metadata operations, caches, the page cache of the hosts, the loader's CPU work.
struct ReadPath {
  std::string from;          // "the storage volume"; empty = the platform states no rate for the data's source
  double samples_per_s = 0;  // 0 = not stated
  bool by_requests = false;  // requests are the limit, not bandwidth
};
ReadPath read_path(const workload::Data& data, const topology::Platform& platform);

// What a loader that prefetches the next batch leaves visible of reading it, in steady state: a step takes max(compute, read).
// Ignores: the first batch, uneven read times (a loader's queue evens them out).
double data_wait_s(double compute_s, double read_s);

// Nodes that write a checkpoint: those of one copy of the model, and with a sharded optimizer all that hold a part of it.
int writing_nodes(const workload::Parallelism& parallelism, const topology::Platform& platform);

// What one checkpoint costs, for a job that takes `step_s` a step besides. Absent where its target states no write rate.
//   write    = bytes / rate of the target (a volume, or the disks of all writing nodes)
//   snapshot = a writing GPU's share / its way to host memory
//   sync stall  = max(write, snapshot)                       training waits for both, and they run side by side
//   async stall = snapshot + max(0, write − interval)        CheckFreq (FAST'21): only what outlasts the interval shows
// Ignores: the network between nodes and volume, training's own reads from it, serialisation.
std::optional<Checkpointing> checkpointing_of(const workload::Job& job, const topology::Platform& platform, double step_s);

// Young's interval between checkpoints: √(2 · mean time between failures · cost of a checkpoint). Accurate while that cost is small
// against the mean time; longer where an asynchronous write is not done by then.
double best_interval_s(double mtbf_s, const Checkpointing& checkpoint);

// Expected time lost in a run that takes `train_s` without failures: each failure costs `loss_s` (half an interval that is trained
// again, the restart, reading the checkpoint back), and failures come every `mtbf_s` of the whole time, the lost one included:
//   lost = train · x/(1 − x), x = loss/mtbf.   Infinite where a failure costs more than the time between two.
double failure_loss_s(double train_s, double mtbf_s, double loss_s);

// data_wait and checkpoint parts of the step; must run before the step time is summed.
void add_data_and_checkpoint(const workload::Job& job, const topology::Platform& platform, Prediction& prediction);

// Epoch, whole run, cost; needs the step time.
//   epoch = staging − hidden staging + steps · (computation + exposed communication + rest)
// Staging happens once: later epochs find the data here.
void add_epoch_and_cost(const workload::Job& job, const topology::Platform& platform, Prediction& prediction);

}  // namespace trunkline::predict
