#include "timeline/chunk_time.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "base/rng.hpp"
#include "timeline/overlap.hpp"

using namespace trunkline;
using namespace trunkline::timeline;

namespace {

LayerRun layers(double n, double matrix, double memory = 0, double exposed = 0) {
  LayerRun run;
  run.layers = n;
  run.pass.matrix_s = matrix;
  run.pass.memory_s = memory;
  run.pass.exposed_s = exposed;
  return run;
}

ChunkTime time_of(const std::vector<LayerRun>& runs, const ChunkRules& rules = {}) { return chunk_time(runs, rules); }

ChunkRules limited(double sustained) {
  ChunkRules rules;
  rules.sustained = sustained;
  return rules;
}

std::vector<LayerRun> random_runs(Rng& rng) {
  std::vector<LayerRun> runs;
  for (std::uint64_t i = 1 + rng.below(4); i > 0; --i) {
    LayerRun run = layers(double(1 + rng.below(6)), rng.uniform(), rng.uniform(), rng.below(2) == 0 ? 0 : rng.uniform());
    run.pass.attention_s = run.pass.matrix_s * rng.uniform();
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
  rules.sustained = 0.5 + 0.5 * rng.uniform();
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

// Nothing but matrix products: the chip settles at its sustained rate.
TEST(ChunkTime, AllMatrixRunsAtTheSustainedRate) { EXPECT_NEAR(time_of({layers(4, 3)}, limited(0.75)).total(), 12 / 0.75, 1e-12); }

// Half sustained, as much other work as matrix work at the burst clock. f = 1 − 0.5·(1/f)/(1/f + 1) gives f² + 0·f − 0.5 = 0.
TEST(ChunkTime, ClockRisesWithTheTimeThatIsNotMatrix) {
  EXPECT_NEAR(time_of({layers(1, 1, 1)}, limited(0.5)).matrix, 1 / std::sqrt(0.5), 1e-12);
  EXPECT_NEAR(time_of({layers(1, 1, 1e6)}, limited(0.5)).matrix, 1, 1e-5);  // mostly waiting: burst
}

TEST(ChunkTime, ClockIsWhatItsOwnDutyCycleAllows) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<LayerRun> runs = random_runs(rng);
    ChunkRules rules = random_rules(rng);
    const ChunkTime t = time_of(runs, rules);
    rules.sustained = 1;
    const double burst = time_of(runs, rules).matrix, clock = burst / t.matrix;
    EXPECT_LE(clock, 1 + 1e-12);
    EXPECT_GE(clock, 0.5 - 1e-12);
  }
  const ChunkTime t = time_of({layers(2, 3, 1, 0.5)}, limited(0.7));
  EXPECT_NEAR(6 / t.matrix, 1 - 0.3 * t.matrix / t.total(), 1e-12);
}

// Launches that take longer than the kernels set the time, and leave the chip cool.
TEST(ChunkTime, HostSetsTheTimeWhereItIsSlower) {
  LayerRun run = layers(10, 1);
  run.pass.host_s = 5;
  const ChunkTime t = time_of({run}, limited(0.8));
  EXPECT_DOUBLE_EQ(t.total(), 50);
  EXPECT_DOUBLE_EQ(t.launch_gap(), 50 - t.matrix);
  EXPECT_LT(t.matrix, 10.5);
}

TEST(ChunkTime, FactorStretchesKernelsAndLaunchesNotTheWire) {
  ChunkRules rules;
  rules.factor = 1.5;
  const ChunkTime t = time_of({layers(2, 1, 1, 1)}, rules);
  EXPECT_DOUBLE_EQ(t.compute(), 6);
  EXPECT_DOUBLE_EQ(t.tensor, 2);
}

// Keys and values hide behind attention as it really runs: slower clocks hide more.
TEST(ChunkTime, RingHidesBehindAttention) {
  LayerRun run = layers(1, 4);
  run.pass.attention_s = 1;
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
    rules.sustained = 1;  // what contention costs may exceed what a short gather saves; communication itself never grows
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
    ChunkRules cooler = rules;
    const std::uint64_t what = rng.below(7);
    for (LayerRun& run : fast) {
      const double less = 0.3 + 0.7 * rng.uniform();
      PassTime& t = run.pass;
      if (what == 0) t.matrix_s -= (1 - less) * (t.matrix_s - t.attention_s);
      if (what == 1) t.memory_s *= less;
      if (what == 2) t.exposed_s *= less, t.hidden_s *= less, t.hidden_sm_s *= less;
      if (what == 3) t.ring_s *= less;
      if (what == 4) run.gather_s *= less, run.reduce_s *= less;
      if (what == 5) t.host_s *= less;
    }
    if (what == 6) cooler.sustained += (1 - rules.sustained) * rng.uniform();
    EXPECT_LE(time_of(fast, cooler).total(), time_of(slow, rules).total() * (1 + 1e-12)) << "changed " << what;
  }
}

// A matrix rate that rises while the power limit stays: everything that is not matrix bound the same, and never slower.
TEST(ChunkTime, MoreMatrixRateAtTheSamePowerIsNeverSlower) {
  Rng rng(4);
  for (int i = 0; i < 5000; ++i) {
    const std::vector<LayerRun> slow = random_runs(rng);
    ChunkRules rules = random_rules(rng);
    rules.sustained = 1;
    std::vector<LayerRun> fast = slow;
    ChunkRules throttled = rules;
    const double more = 1 + 0.9 * rng.uniform();
    for (LayerRun& run : fast) run.pass.matrix_s /= more, run.pass.attention_s /= more;
    throttled.sustained = 1 / more;
    EXPECT_LE(time_of(fast, throttled).total(), time_of(slow, rules).total() * (1 + 1e-12));
  }
}
