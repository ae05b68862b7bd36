// How long one chunk of layers takes on one GPU, one way: what it computes, which communication that hides, and the clock that
// the power limit leaves.
#pragma once

#include <span>

#include "timeline/pass_time.hpp"

namespace trunkline::timeline {

// Equal layers that follow each other, or what stands before or behind all layers (then `layers` is 1).
struct LayerRun {
  double layers = 1;
  PassTime pass;       // one layer at the burst clock; in backward with what it recomputes
  PassTime recompute;  // that part of it
  double gather_s = 0, reduce_s = 0;  // sharded weights fetched; in backward, gradients scattered; one layer
  double sharding_sms = 0;            // share of the SMs that those take
};

struct ChunkRules {
  double factor = 1;     // fitted: kernels and their launches take so many times what the models say
  double sustained = 1;  // share of the burst matrix rate that is left at the power limit
  bool overlap = true;   // communication hides behind computation
  bool backward = false;
};

// Seconds of a whole chunk.
struct ChunkTime {
  double matrix = 0, memory = 0;  // kernels
  double contention = 0;          // computation slowed by the SMs that hidden communication takes
  double tensor = 0, shard = 0;   // communication that nothing hides: of the layers' groups, of sharded weights
  double hidden = 0;              // communication beside computation
  double host = 0;                // launches
  double weight = 0;              // of matrix: weight gradients
  double recompute = 0;           // of matrix and memory

  double compute() const { return matrix + memory + contention; }
  double gpu() const { return compute() + tensor + shard; }
  double launch_gap() const { return host > gpu() ? host - gpu() : 0; }
  double total() const { return gpu() + launch_gap(); }
  ChunkTime& operator+=(const ChunkTime& o);
};

// T = max(kernels at clock f + exposed communication, launches), with f = 1 − (1 − sustained) · (matrix time at f)/T: a chip that
// multiplies matrices all the time falls to its sustained rate, one that mostly waits keeps its burst clock. What is hidden is
// worked out with computation at that clock. `runs` stand in the order of the pass; a run's first gather hides behind the last
// layer of the run before it, a run's last scatter behind the first layer of the next.
// Nothing that gets faster makes T longer (for sustained ≥ 0.5). Ignores: power drawn by memory traffic and communication, and
// idle time outside the chunk (pipeline bubbles). Cost: a few passes over `runs`, below a microsecond.
ChunkTime chunk_time(std::span<const LayerRun> runs, const ChunkRules& rules);

}  // namespace trunkline::timeline
