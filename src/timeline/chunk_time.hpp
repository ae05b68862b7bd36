// How long one chunk of layers takes on one GPU, one way: what it computes, which communication that hides, and the clock that
// the power limit leaves.
#pragma once

#include <algorithm>
#include <span>

#include "timeline/pass_time.hpp"

namespace trunkline::timeline {

// Equal layers that follow each other, or what stands before or behind all layers (then `layers` is 1).
struct LayerRun {
  double layers = 1;
  PassTime pass;                      // one layer; in backward with what it recomputes
  PassTime recompute;                 // that part of it
  double gather_s = 0, reduce_s = 0;  // sharded weights fetched; in backward, gradients scattered; one layer
  double sharding_sms = 0;            // share of the SMs that those take
};

struct ChunkRules {
  double factor = 1;        // fitted: kernels and their launches take so many times what the models say
  bool power_limit = true;  // matrix products slow down by their duty cycle
  bool overlap = true;      // communication hides behind computation
  bool backward = false;
};

// Seconds of a whole chunk.
struct ChunkTime {
  double matrix = 0, memory = 0;  // kernels
  double contention = 0;          // computation slowed by the SMs that hidden communication takes
  double tensor = 0, shard = 0;   // communication that nothing hides: of the layers' groups, of sharded weights
  double hidden = 0;              // communication beside computation
  double host = 0;                // launches
  double recompute = 0;           // of matrix and memory

  double compute() const { return matrix + memory + contention; }
  double gpu() const { return compute() + tensor + shard; }
  double total() const { return std::max(gpu(), host); }
  double launch_gap() const { return total() - gpu(); }
  ChunkTime& operator+=(const ChunkTime& o);
};

// T = max(kernels + exposed communication, launches). Matrix products take burst + d·(limited − burst), with d = matrix time / T, their
// duty cycle: a chip that multiplies all the time falls to what its power limit leaves, one that mostly waits keeps its burst
// rate. What is hidden is worked out with computation as slow as it then is. `runs` stand in the order of the pass; a run's
// first gather hides behind the last layer of the run before it, a run's last scatter behind the first layer of the next.
// Nothing that gets faster makes T longer: at the solution T = burst/d + limited − burst, and d only rises.
// Ignores: power drawn by memory traffic and communication, idle time outside the chunk (pipeline bubbles). Cost: some passes
// over `runs`, below a microsecond.
ChunkTime chunk_time(std::span<const LayerRun> runs, const ChunkRules& rules);

}  // namespace trunkline::timeline
