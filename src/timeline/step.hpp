// One training step on one platform: operations + resources → how long, and what the time is spent on.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "timeline/pass_time.hpp"
#include "timeline/pipeline.hpp"

namespace trunkline::timeline {

// The parts of the busiest pipeline stage's step; they add up to `total` exactly. A step longer than the clock counts (106 days) has
// the total Picoseconds::forever(), all of it `compute`: it is no answer.
struct StepParts {
  Picoseconds total = 0;
  Picoseconds compute = 0;       // kernels, recomputation and optimizer included
  Picoseconds exposed_comm = 0;  // a communication runs and no computation does
  Picoseconds bubble = 0;        // waiting for other pipeline stages
  Picoseconds other = 0;         // host launch gaps, per-step host work
};

// Exposed communication by group, and computation by kind (seconds, busiest stage; for explanations).
struct StepDetail {
  double matrix_s = 0, memory_s = 0, recompute_s = 0, optimizer_s = 0, contention_s = 0;
  double tensor_s = 0, data_s = 0, shard_s = 0, pipeline_s = 0;
  double hidden_comm_s = 0;
  double launch_s = 0;
  int busiest_stage = 0;
};

struct StepInput {
  const workload::Job& job;  // parallelism, micro-batch and recomputation settled
  const workload::StepWork& work;
  const workload::Behaviour& behaviour;
  const catalog::Gpu& gpu;
  const kernels::Kernels& kernels;
  const Domains& domains;
  Effects effects;
  collectives::Options collective_options;
  const kernels::Kernels* limited = nullptr;  // kernels at the power limit (power.hpp); null: worked out here
  double compute_factor = 1;                  // fitted: time of kernels and of their launches × this (a framework and GPU generation)
};

// What a pipeline stage does around its passes, for a picture of the step. It starts at `start` (zero-bubble stages begin one after
// the other, and so does their next step), fetches weights, runs its slots that much later, reduces gradients, waits for all others to
// have done so, and updates.
struct StageLane {
  Picoseconds start = 0;
  Picoseconds fetch = 0;   // weights that no pass hides
  Picoseconds reduce = 0;  // gradients that no pass hides, and what hidden ones cost the passes
  Picoseconds update = 0;  // optimizer and host
};

struct StepResult {
  StepParts parts;
  StepDetail detail;
  std::vector<PipelineSlot> slots;  // both filled when asked for
  std::vector<StageLane> lanes;
};

// Cost: O(distinct layers × operations + stages × micro-batches). Ignores: stragglers, the loader, checkpoints (predict adds
// those), differences between data-parallel replicas.
StepResult time_step(const StepInput& input, bool keep_slots = false);

}  // namespace trunkline::timeline
