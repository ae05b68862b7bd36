// The one door to predictions: job × platform → how long, what the time is spent on, whether it fits, what it costs.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "collectives/collective.hpp"
#include "kernels/kernels.hpp"
#include "predict/constants.hpp"
#include "predict/fabric_use.hpp"
#include "timeline/effects.hpp"
#include "timeline/step.hpp"
#include "topology/platform.hpp"
#include "workload/job.hpp"
#include "workload/memory.hpp"

namespace trunkline::predict {

struct Breakdown {
  double compute_s = 0, exposed_comm_s = 0, bubble_s = 0, data_wait_s = 0, checkpoint_s = 0, other_s = 0;
  double sum() const { return compute_s + exposed_comm_s + bubble_s + data_wait_s + checkpoint_s + other_s; }
};

struct Memory {
  workload::MemoryParts parts;
  Bytes per_gpu, capacity;
  bool fits = true;
  std::vector<workload::Suggestion> suggestions;  // what would make it fit, when it does not
};

struct Scaling {
  int baseline_gpus = 1;  // one copy of the model with the same micro-batch: no data-parallel communication
  bool fits = true;       // the baseline's memory; where not, it is a yardstick that nobody can run
  double speedup = 1;     // throughput / throughput(baseline)
  double efficiency = 1;  // throughput(n) / (n · throughput(baseline) / baseline_gpus)
};

// s = staging_s − staging_hidden_s + compute_s + sync_s + rest_s.
struct Epoch {
  double s = 0;                 // the first epoch, staging included when it comes first or cannot keep up
  double staging_s = 0;         // bringing the dataset here, once
  double staging_hidden_s = 0;  // of it beside training
  double compute_s = 0, sync_s = 0, rest_s = 0;
  double later_s = 0;  // an epoch that finds the dataset here
  double steps = 0;
  double per_week = 0;  // in a first week, staging included
};

// One checkpoint; `interval_s` is the time between two.
struct Checkpointing {
  Bytes bytes;
  double write_s = 0, snapshot_s = 0, read_s = 0;
  double stall_s = 0, least_stall_s = 0;  // what training waits, and what it would wait at any longer interval
  double interval_s = 0;
  double best_every_steps = 0;  // suggestion; 0 where the platform states no failures
};

struct JobTime {
  double steps = 0;
  double train_s = 0;      // steps × step time + staging
  double failure_s = 0;    // expected loss to failures and restarts
  double failures = 0;     // expected number of them
  double loss_each_s = 0;  // half an interval, restart, reading the checkpoint back
  double total_s = 0;
};

enum class Trunk { compute, data, storage, interconnect };

struct Bottleneck {
  Trunk trunk = Trunk::compute;
  std::string link;                           // "network (data-parallel reduction)", "matrix rate", …
  double share = 0;                           // of the step
  Trunk weakest_trunk = Trunk::interconnect;  // the trunk line that costs most, even where computation costs more
  std::string weakest_link;
  double weakest_share = 0;
};

struct Interval {
  double low_s = 0, high_s = 0;  // 80 %
};

struct Prediction {
  std::string platform;
  int gpus = 0;
  workload::Job job;  // as settled: parallelism, micro-batch, recomputation
  double step_s = 0;
  double samples_per_s = 0, tokens_per_s = 0, tokens_per_s_per_gpu = 0;
  double model_flops_per_gpu_per_s = 0, mfu = 0, hfu = 0;
  Breakdown breakdown;
  timeline::StepDetail detail;
  Memory memory;
  Scaling scaling;
  std::optional<Epoch> epoch;
  std::optional<Checkpointing> checkpoint;
  std::optional<JobTime> run;
  std::optional<Money> cost;          // of the run: the platform for its whole time
  std::optional<Money> storage_cost;  // of what lies on the volume meanwhile, where that has a price
  std::optional<Money> hour;          // of one hour of the whole platform
  Bottleneck bottleneck;
  Interval interval;
  std::optional<FabricUse> fabric;  // with Network::flow, where the job leaves NVLink domains
  std::vector<std::pair<std::string, std::string>> assumed;
  std::vector<std::pair<std::string, std::string>> not_modelled;  // what the job asks for and the platform says too little about, why
  std::vector<timeline::PipelineSlot> slots;
  std::vector<timeline::StageLane> lanes;
};

// What limits traffic between nodes.
enum class Network {
  nic,   // the NICs alone
  flow,  // besides, the fabric: every flow on its own path (fabric_use.hpp)
};

struct Options {
  timeline::Effects effects;
  const Constants* constants = nullptr;  // null: those built into the program
  collectives::Options collectives;
  std::optional<double> compute_factor;  // in place of the fitted constant (the fit itself uses this)
  bool allow_misfit = true;              // predict although memory does not suffice (said in memory.fits)
  bool extras = true;                    // scaling, epoch, cost, interval; off for the inner loop of fits
  bool slots = false;                    // keep the timeline
  Network network = Network::nic;        // parallelism left open is settled, and scaling counted from, with the NICs alone
};

// What a platform costs to look at (kernel efficiencies, rings of its node graph), worked out once for many predictions.
class PlatformModel {
 public:
  explicit PlatformModel(const topology::Platform& platform);
  PlatformModel(const topology::Platform& platform, const kernels::Efficiencies& measured);

  const topology::Platform& platform() const { return platform_; }
  const kernels::Kernels& kernels() const { return kernels_; }
  const kernels::Kernels& limited() const { return limited_; }  // at the power limit
  const collectives::NodeRates& rates() const { return rates_; }

 private:
  topology::Platform platform_;
  kernels::Kernels kernels_, limited_;
  collectives::NodeRates rates_;
};

// Errors: the parallelism does not match the platform's GPUs, nothing is left to settle `auto` with.
Result<Prediction> predict(const workload::Job& job, const topology::Platform& platform, const Options& options = {});
Result<Prediction> predict(const workload::Job& job, const PlatformModel& platform, const Options& options = {});

// Settles `auto` and absent choices: dp from the GPUs, the least recomputation that fits, the fastest parallelism.
// What was settled is appended to `assumed`.
Result<workload::Job> settle(const workload::Job& job, const PlatformModel& platform, const Options& options);

timeline::Domains domains_of(const workload::Parallelism& parallelism, const PlatformModel& platform);

std::string name_of(Trunk trunk);

}  // namespace trunkline::predict
