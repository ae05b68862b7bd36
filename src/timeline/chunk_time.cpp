#include "timeline/chunk_time.hpp"

#include <algorithm>
#include <cmath>

#include "timeline/overlap.hpp"

namespace trunkline::timeline {
namespace {

Overlapped sharding_of(const LayerRun& run, double compute, const ChunkRules& rules) {
  if (!rules.overlap) return {run.layers * (run.gather_s + (rules.backward ? run.reduce_s : 0)), 0};
  return rules.backward ? sharded_backward(run.layers, compute, run.gather_s, run.reduce_s)
                        : sharded_forward(run.layers, compute, run.gather_s);
}

// The chunk with matrix products slowed down by a duty cycle of `duty`.
ChunkTime at_duty(std::span<const LayerRun> runs, const ChunkRules& rules, double duty) {
  const auto slowed = [&](double burst, double limited) { return rules.factor * (burst + duty * (limited - burst)); };
  ChunkTime sum;
  double room_before = 0, scatter_before = 0;
  for (const LayerRun& run : runs) {
    const PassTime& t = run.pass;
    const double n = run.layers;
    if (n <= 0) continue;
    const double ring_hidden = rules.overlap ? std::min(t.ring_s, slowed(t.attention_s, t.limited_attention_s)) : 0;
    ChunkTime layer;
    layer.matrix = slowed(t.matrix_s, t.limited_s);
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
    sum.recompute += n * (slowed(run.recompute.matrix_s, run.recompute.limited_s) + run.recompute.memory_s * rules.factor);
  }
  return sum;
}

}  // namespace

ChunkTime& ChunkTime::operator+=(const ChunkTime& o) {
  matrix += o.matrix, memory += o.memory, contention += o.contention;
  tensor += o.tensor, shard += o.shard, hidden += o.hidden;
  host += o.host, recompute += o.recompute;
  return *this;
}

ChunkTime chunk_time(std::span<const LayerRun> runs, const ChunkRules& rules) {
  ChunkTime time = at_duty(runs, rules, 0);
  double limited = 0;
  for (const LayerRun& run : runs) limited += run.layers * run.pass.limited_s * rules.factor;
  const double burst = time.matrix;
  if (!rules.power_limit || limited <= burst) return time;
  // With `rest` = T − matrix time held fast, matrix = burst + (limited − burst)·matrix/(matrix + rest) is a quadratic. The slower
  // the products, the more they hide and the smaller the rest: the steps rise to the lowest duty cycle that fits itself.
  constexpr int kMostSteps = 100;
  double duty = 0;
  for (int i = 0; i < kMostSteps; ++i) {
    const double rest = time.total() - time.matrix, difference = limited - rest;
    const double root = std::sqrt(difference * difference + 4 * burst * rest);
    const double matrix = difference > 0 ? (difference + root) / 2 : 2 * burst * rest / (root - difference);
    const double next = matrix / (matrix + rest);
    const bool settled = std::abs(next - duty) <= 1e-15;
    duty = next;
    time = at_duty(runs, rules, duty);
    if (settled) break;
  }
  return time;
}

}  // namespace trunkline::timeline
