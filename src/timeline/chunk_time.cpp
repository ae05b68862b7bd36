#include "timeline/chunk_time.hpp"

#include <algorithm>
#include <cmath>

#include "timeline/overlap.hpp"

namespace trunkline::timeline {
namespace {

Overlapped sharding_of(const LayerRun& run, double compute, const ChunkRules& rules) {
  if (!rules.overlap) return {run.layers * (run.gather_s + (rules.backward ? run.reduce_s : 0)), 0};
  return rules.backward ? sharded_backward(run.layers, compute, run.gather_s, run.reduce_s) : sharded_forward(run.layers, compute, run.gather_s);
}

// The chunk with matrix products at `clock` of their burst rate.
ChunkTime at_clock(std::span<const LayerRun> runs, const ChunkRules& rules, double clock) {
  const double stretch = rules.factor / clock;
  ChunkTime sum;
  double room_before = 0, scatter_before = 0;
  for (const LayerRun& run : runs) {
    const PassTime& t = run.pass;
    const double n = run.layers;
    if (n <= 0) continue;
    const double ring_hidden = rules.overlap ? std::min(t.ring_s, t.attention_s * stretch) : 0;
    ChunkTime layer;
    layer.matrix = t.matrix_s * stretch;
    layer.memory = t.memory_s * rules.factor;
    layer.contention = t.hidden_sm_s * rules.factor;
    layer.tensor = t.exposed_s + t.ring_s - ring_hidden;
    const double compute = layer.gpu();
    Overlapped wire = sharding_of(run, compute, rules);
    if (rules.overlap) {
      // The first layer has room for the scatter of the run before, the last one for the next run's first gather.
      const double scattered = std::min(scatter_before, n > 1 ? std::max(0.0, compute - run.gather_s) : compute);
      const double hidden = std::min(run.gather_s, room_before) + scattered;
      wire.exposed_s -= hidden;
      wire.hidden_s += hidden;
      scatter_before = rules.backward ? run.reduce_s : 0;
      room_before = n > 1 ? std::max(0.0, compute - scatter_before) : compute - scattered;
    }
    sum.matrix += n * layer.matrix;
    sum.memory += n * layer.memory;
    sum.tensor += n * layer.tensor;
    sum.shard += wire.exposed_s;
    sum.contention += n * layer.contention + wire.hidden_s * run.sharding_sms * rules.factor;
    sum.hidden += n * (t.hidden_s + ring_hidden) + wire.hidden_s;
    sum.host += n * t.host_s * rules.factor;
    sum.weight += n * t.weight_s * stretch;
    sum.recompute += n * (run.recompute.matrix_s * stretch + run.recompute.memory_s * rules.factor);
  }
  return sum;
}

}  // namespace

ChunkTime& ChunkTime::operator+=(const ChunkTime& o) {
  matrix += o.matrix, memory += o.memory, contention += o.contention;
  tensor += o.tensor, shard += o.shard, hidden += o.hidden;
  host += o.host, weight += o.weight, recompute += o.recompute;
  return *this;
}

ChunkTime chunk_time(std::span<const LayerRun> runs, const ChunkRules& rules) {
  ChunkTime time = at_clock(runs, rules, 1);
  const double burst = time.matrix, lost = 1 - rules.sustained;
  if (burst <= 0 || lost <= 0) return time;
  // With `rest` = T − matrix time held fast, f = 1 − lost·(burst/f)/(burst/f + rest) is a quadratic in f. `rest` only shrinks as
  // the clock falls (more is hidden), so the steps go down to the highest clock that the power allows.
  constexpr int kMostSteps = 100;
  double clock = 1;
  for (int i = 0; i < kMostSteps; ++i) {
    const double rest = time.total() - time.matrix, difference = burst - rest;
    const double root = std::sqrt(difference * difference + 4 * rest * burst * rules.sustained);
    // Two forms of the same root, each free of cancellation on its side.
    const double next = difference > 0 ? 2 * burst * rules.sustained / (difference + root) : (root - difference) / (2 * rest);
    const bool settled = std::abs(next - clock) <= 1e-15;
    clock = next;
    time = at_clock(runs, rules, clock);
    if (settled) break;
  }
  return time;
}

}  // namespace trunkline::timeline
