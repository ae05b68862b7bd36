// Who runs when in a pipeline: micro-batches through stages, on an integer picosecond clock.
#pragma once

#include <cstdint>
#include <vector>

#include "base/clock.hpp"
#include "workload/job.hpp"

namespace trunkline::timeline {

using trunkline::Picoseconds;

// What one stage spends on one micro-batch, for each of its chunks (one chunk unless interleaved).
struct StageCost {
  std::vector<Picoseconds> forward, backward;  // a chunk each
  std::vector<Picoseconds> weight_gradient;    // the part of backward that zero-bubble schedules may put off; a chunk each
};

struct PipelineInput {
  std::vector<StageCost> stages;
  int micro_batches = 1;
  Picoseconds transfer = 0;  // one boundary copy: what the receiver waits beyond the sender's end
  bool blocking = false;     // the copy also occupies both stages
  workload::Schedule schedule = workload::Schedule::one_f_one_b;
};

struct PipelineSlot {
  int stage, chunk, micro_batch;
  bool backward;
  Picoseconds start, end;
  bool weight = false;  // the part of backward that was put off (backward is true as well)
};

struct PipelineResult {
  Picoseconds end = 0;                       // the last stage to finish
  std::vector<Picoseconds> stage_end, busy;  // a stage each
  std::vector<PipelineSlot> slots;           // filled when asked for
};

// Plays the schedule: Megatron's order for 1F1B and interleaving, the handcrafted zero-bubble orders with p or 2p − 1 micro-batches in
// flight (arXiv 2401.10241, ZB-H1 and ZB-H2). A zero-bubble stage ends relative to its own first task: the next step begins there while
// the last stages still work. More than one chunk: interleaved, each weight gradient right behind its backward, ends as interleaved ones.
// Every task runs exactly once, whatever the number of micro-batches; faster tasks or copies never end later.
// Ignores: stages that send at different rates. Cost: O(stages × micro-batches × chunks), some 4 ns each.
PipelineResult run_pipeline(const PipelineInput& input, bool keep_slots = false);

}  // namespace trunkline::timeline
