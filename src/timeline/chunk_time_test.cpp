#include "timeline/chunk_time.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.hpp"
#include "timeline/overlap.hpp"

using namespace trunkline;
using namespace trunkline::timeline;

namespace {

// `limited`: how many times as long the matrix products take at the power limit.
LayerRun layers(double n, double matrix, double memory = 0, double exposed = 0, double limited = 1) {
  LayerRun run;
  run.layers = n;
  run.pass.matrix_s = matrix;
  run.pass.limited_s = matrix * limited;
  run.pass.memory_s = memory;
  run.pass.exposed_s = exposed;
  return run;
}

ChunkTime time_of(const std::vector<LayerRun>& runs, const ChunkRules& rules = {}) { return chunk_time(runs, rules); }

std::vector<LayerRun> random_runs(Rng& rng) {
  std::vector<LayerRun> runs;
  for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
    LayerRun run =
        layers(double(1 + rng.below(6)), rng.uniform(), rng.uniform(), rng.below(2) == 0 ? 0 : rng.uniform(), 1 + 2 * rng.uniform());
    run.pass.attention_s = run.pass.matrix_s * rng.uniform();
    run.pass.limited_attention_s = run.pass.attention_s * (run.pass.limited_s / run.pass.matrix_s);
    run.pass.ring_s = rng.below(3) == 0 ? rng.uniform() : 0;
    run.pass.hidden_s = rng.uniform();
    run.pass.hidden_sm_s = run.pass.hidden_s * 0.2;
    run.pass.host_s = rng.below(3) == 0 ? 2 * rng.uniform() : 0;
    if (rng.below(2) == 0) run.gather_s = 2 * rng.uniform(), run.reduce_s = 2 * rng.uniform(), run.sharding_sms = 0.2;
    runs.push_back(run);
  }
  return runs;
}

ChunkRules random_rules(Rng& rng) {
  ChunkRules rules;
  rules.factor = 0.8 + 0.6 * rng.uniform();
  rules.overlap = rng.below(4) != 0;
  rules.backward = rng.below(2) == 0;
  return rules;
}

}  // namespace

TEST(ChunkTime, LayersAddUpWithoutAPowerLimit) {
  const ChunkTime t = time_of({layers(3, 2, 1, 0.5), layers(1, 10)});
  EXPECT_DOUBLE_EQ(t.matrix, 16);
  EXPECT_DOUBLE_EQ(t.memory, 3);
  EXPECT_DOUBLE_EQ(t.tensor, 1.5);
  EXPECT_DOUBLE_EQ(t.total(), 20.5);
  EXPECT_EQ(time_of({}).total(), 0);
  EXPECT_EQ(time_of({layers(0, 5)}).total(), 0);
}

// Nothing but matrix products: the chip settles at what its power limit leaves.
TEST(ChunkTime, AllMatrixRunsAtThePowerLimit) { EXPECT_NEAR(time_of({layers(4, 3, 0, 0, 1.25)}).total(), 15, 1e-12); }

// Twice as long at the limit, and as much other work as matrix work: m = 1 + 1·m/(m + 1) gives m² − m − 1 = 0.
TEST(ChunkTime, ProductsSlowDownByTheirDutyCycle) {
  EXPECT_NEAR(time_of({layers(1, 1, 1, 0, 2)}).matrix, (1 + std::sqrt(5.0)) / 2, 1e-12);
  EXPECT_NEAR(time_of({layers(1, 1, 1e6, 0, 2)}).matrix, 1, 1e-5);  // mostly waiting: burst
  ChunkRules cold;
  cold.power_limit = false;
  EXPECT_DOUBLE_EQ(time_of({layers(1, 1, 1, 0, 2)}, cold).matrix, 1);
}

TEST(ChunkTime, DutyCycleFitsItself) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<LayerRun> runs = random_runs(rng);
    const ChunkRules rules = random_rules(rng);
    const ChunkTime t = time_of(runs, rules);
    double burst = 0, limited = 0;
    for (const LayerRun& run : runs)
      burst += rules.factor * run.layers * run.pass.matrix_s, limited += rules.factor * run.layers * run.pass.limited_s;
    EXPECT_NEAR(t.matrix, burst + t.matrix / t.total() * (limited - burst), 1e-12 * t.matrix);
  }
}

// Launches that take longer than the kernels set the time, and leave the chip cool.
TEST(ChunkTime, HostSetsTheTimeWhereItIsSlower) {
  LayerRun run = layers(10, 1);
  run.pass.host_s = 5;
  run.pass.limited_s = 1.25;
  const ChunkTime t = time_of({run});
  EXPECT_DOUBLE_EQ(t.total(), 50);
  EXPECT_DOUBLE_EQ(t.launch_gap(), 50 - t.matrix);
  EXPECT_NEAR(t.matrix, 10 / (1 - 2.5 / 50), 1e-12);  // m = 10 + 2.5·m/50
}

TEST(ChunkTime, FactorStretchesKernelsAndLaunchesNotTheWire) {
  ChunkRules rules;
  rules.factor = 1.5;
  const ChunkTime t = time_of({layers(2, 1, 1, 1)}, rules);
  EXPECT_DOUBLE_EQ(t.compute(), 6);
  EXPECT_DOUBLE_EQ(t.tensor, 2);
}

// Keys and values hide behind attention as it really runs: slower products hide more.
TEST(ChunkTime, RingHidesBehindAttention) {
  LayerRun run = layers(1, 4);
  run.pass.attention_s = run.pass.limited_attention_s = 1;
  run.pass.ring_s = 3;
  EXPECT_DOUBLE_EQ(time_of({run}).tensor, 2);
  EXPECT_DOUBLE_EQ(time_of({run}).hidden, 1);
  ChunkRules slow;
  slow.factor = 2;
  EXPECT_DOUBLE_EQ(time_of({run}, slow).tensor, 1);
  ChunkRules apart;
  apart.overlap = false;
  EXPECT_DOUBLE_EQ(time_of({run}, apart).tensor, 3);
}

TEST(ChunkTime, ShardedLayersFollowTheOverlapFormulas) {
  LayerRun run = layers(8, 2);
  run.gather_s = 1.5, run.reduce_s = 1;
  EXPECT_DOUBLE_EQ(time_of({run}).shard, sharded_forward(8, 2, 1.5).exposed_s);
  ChunkRules backward;
  backward.backward = true;
  EXPECT_DOUBLE_EQ(time_of({run}, backward).shard, sharded_backward(8, 2, 1.5, 1).exposed_s);
  ChunkRules apart;
  apart.overlap = false;
  EXPECT_DOUBLE_EQ(time_of({run}, apart).shard, 8 * 1.5);
  apart.backward = true;
  EXPECT_DOUBLE_EQ(time_of({run}, apart).shard, 8 * 2.5);
}

// The output layer's weights arrive while the last layer computes; the embedding's, at the very start, hide behind nothing.
TEST(ChunkTime, RunsHideEachOthersFirstGather) {
  LayerRun embedding = layers(1, 0, 0.1), body = layers(4, 2), output = layers(1, 3);
  embedding.gather_s = 1, output.gather_s = 1.5;
  EXPECT_DOUBLE_EQ(time_of({embedding, body}).shard, 1);
  EXPECT_DOUBLE_EQ(time_of({body, output}).shard, 0);
  output.gather_s = 2.5;
  EXPECT_DOUBLE_EQ(time_of({body, output}).shard, 0.5);
}

TEST(ChunkTime, SwitchingOverlapOffHidesNothing) {
  Rng rng(2);
  for (int i = 0; i < 2000; ++i) {
    std::vector<LayerRun> runs = random_runs(rng);
    for (LayerRun& run : runs) run.pass.hidden_s = run.pass.hidden_sm_s = 0;
    ChunkRules rules = random_rules(rng);
    rules.overlap = true;
    const ChunkTime with = time_of(runs, rules);
    rules.overlap = false;
    const ChunkTime without = time_of(runs, rules);
    EXPECT_EQ(without.hidden, 0);
    EXPECT_GE(with.shard, -1e-12);
    EXPECT_NEAR(with.tensor + with.shard + with.hidden, without.tensor + without.shard, 1e-9);
    // What contention costs may exceed what a short gather saves; communication itself never grows
    EXPECT_LE(with.tensor + with.shard, without.tensor + without.shard + 1e-9);
  }
}

// Faster kernels, links, launches or a higher power limit never make a chunk take longer.
TEST(ChunkTime, FasterNeverTakesLonger) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    const std::vector<LayerRun> slow = random_runs(rng);
    const ChunkRules rules = random_rules(rng);
    std::vector<LayerRun> fast = slow;
    const std::uint64_t what = rng.below(7);
    for (LayerRun& run : fast) {
      const double less = 0.3 + 0.7 * rng.uniform();
      PassTime& t = run.pass;
      if (what == 0) t.matrix_s *= less, t.attention_s *= less;  // the power limit stays
      if (what == 6)
        t.limited_s = t.matrix_s + less * (t.limited_s - t.matrix_s),
        t.limited_attention_s = t.attention_s + less * (t.limited_attention_s - t.attention_s);
      if (what == 1) t.memory_s *= less;
      if (what == 2) t.exposed_s *= less, t.hidden_s *= less, t.hidden_sm_s *= less;
      if (what == 3) t.ring_s *= less;
      if (what == 4) run.gather_s *= less, run.reduce_s *= less;
      if (what == 5) t.host_s *= less;
    }
    EXPECT_LE(time_of(fast, rules).total(), time_of(slow, rules).total() * (1 + 1e-12)) << "changed " << what;
  }
}
