#include "timeline/step.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"

using namespace trunkline;
using namespace trunkline::timeline;
using workload::Job;
using workload::Sharding;

namespace {

// A small Llama on H100s, with everything that a step needs; tests change what they are about.
struct Setting {
  Job job;
  workload::Behaviour behaviour;
  topology::Platform platform;
  Domains domains;
  Effects effects;
  double factor = 1;

  explicit Setting(int gpus = 1) {
    workload::Tower t;
    t.layers = 8, t.hidden = 2048, t.heads = 16, t.kv_heads = 16, t.head_dim = 128, t.ffn = 5632, t.gated = true, t.vocab = 32000;
    job.model.towers = {t};
    job.batch = {16, 1, 2048};
    job.parallelism.dp = gpus;
    platform.node = *topology::node_type("hgx-h100");
    platform.nodes = std::max(1, gpus / 8);
    const collectives::GroupLayout all{std::min(8, gpus), platform.nodes, 1};
    domains.data = domains.expert_data = domains.shard = collectives::domain_of(platform, all);
  }

  StepResult run(bool slots = false) const {
    const workload::StepWork work = workload::operations_of(job, behaviour);
    const kernels::Kernels kernels(platform.node.gpu);
    return time_step({job, work, behaviour, platform.node.gpu, kernels, domains, effects, {}, nullptr, factor}, slots);
  }

  void pipeline(int pp, int vpp = 1) {
    job.parallelism.pp = pp, job.parallelism.vpp = vpp;
    domains.pipeline = collectives::domain_of(platform, {2, 1, 4});
  }
  void tensor(int tp) {
    job.parallelism.tp = tp;
    domains.tensor = collectives::domain_of(platform, {tp, 1, 1});
  }
};

Picoseconds sum(const StepParts& p) { return p.compute + p.exposed_comm + p.bubble + p.other; }

}  // namespace

// A step of some 10^13 s is longer than the clock counts: it stays the longest time, and no part turns negative.
TEST(Step, LongerThanTheClockCountsIsForever) {
  for (const int stages : {1, 4}) {
    Setting s;
    s.pipeline(stages);
    s.platform.node.gpu.memory_bandwidth = byte_per_s(1);
    const StepParts p = s.run().parts;
    EXPECT_EQ(p.total, Picoseconds::forever());
    EXPECT_EQ(sum(p), p.total);
    for (const Picoseconds part : {p.compute, p.exposed_comm, p.bubble, p.other}) EXPECT_GE(part, 0);
  }
}

// m micro-batches of forward and backward, then the optimizer: on one GPU there is nothing else.
TEST(Step, OneGpuRunsItsMicroBatchesAndTheOptimizer) {
  Setting s;
  s.behaviour.launch_s = 0;
  const StepResult sixteen = s.run();
  s.job.batch.global = 8;
  const StepResult eight = s.run();
  const double optimizer = eight.detail.optimizer_s * 1e12;
  EXPECT_GT(optimizer, 0);
  EXPECT_NEAR(double(sixteen.parts.total) - optimizer, 2 * (double(eight.parts.total) - optimizer), 64);  // rounded per micro-batch
  EXPECT_EQ(eight.parts.exposed_comm, 0);
  EXPECT_EQ(eight.parts.bubble, 0);
  EXPECT_EQ(eight.parts.other, 0);
}

TEST(Step, PartsAddUpToTheTotalExactly) {
  Rng rng(1);
  for (int i = 0; i < 300; ++i) {
    const int gpus = 1 << rng.below(5);
    Setting s(gpus);
    s.job.batch.global = gpus * int(1 + rng.below(8));
    if (rng.below(2) == 0) s.pipeline(2 << rng.below(2), 1 + int(rng.below(2)));
    if (rng.below(2) == 0) s.tensor(2 << rng.below(2));
    s.job.parallelism.sharding = Sharding(rng.below(5));
    s.job.parallelism.schedule = workload::Schedule(s.job.parallelism.vpp > 1 ? 0 : rng.below(4));
    s.job.recompute = workload::Recompute(rng.below(3));
    s.behaviour = workload::behaviour_of(workload::Framework(rng.below(15)), catalog::Generation::hopper);
    s.factor = 0.8 + 0.5 * rng.uniform();
    const StepParts p = s.run().parts;
    EXPECT_EQ(sum(p), p.total);
    EXPECT_GT(p.compute, 0);
    EXPECT_GE(p.exposed_comm, 0);
    EXPECT_GE(p.bubble, 0);
    EXPECT_GE(p.other, 0);
  }
}

// Without overlap, gradients of P parameters travel in ⌈bytes/bucket⌉ equal all-reduces behind the backward pass.
TEST(Step, GradientsWithoutOverlapAreReducedInBuckets) {
  Setting s(16);
  s.behaviour.reduce_overlap = false;
  const double bytes = s.job.model.parameters() * s.behaviour.reduce_bytes, buckets = std::ceil(bytes / double(s.behaviour.bucket.count()));
  const double one = collectives::time_of(s.domains.data, collectives::Collective::all_reduce, scaled(Bytes(1), bytes / buckets)).time.si();
  EXPECT_NEAR(s.run().detail.data_s, buckets * one, 1e-9 * buckets * one);
  const Picoseconds apart = s.run().parts.total;
  s.behaviour.reduce_overlap = true;
  const StepResult beside = s.run();
  EXPECT_LT(beside.parts.total, apart);
  EXPECT_GT(beside.detail.hidden_comm_s, 0);
}

// The sharded optimizer updates 1/n of the parameters on each rank.
TEST(Step, ShardedOptimizerUpdatesItsShareOnly) {
  Setting s(8);
  const auto optimizer_s = [&](Sharding sharding) {
    s.job.parallelism.sharding = sharding;
    return s.run().detail.optimizer_s;
  };
  const double alone = optimizer_s(Sharding::none);
  EXPECT_NEAR(optimizer_s(Sharding::zero1), alone / 8, 0.05 * alone / 8);  // but for the kernel's latency
  EXPECT_EQ(optimizer_s(Sharding::zero1), optimizer_s(Sharding::zero3));
}

// Each state is read and written once an update; fewer states, fewer bytes.
TEST(Step, OptimizersDifferByTheStatesTheyKeep) {
  Setting s;
  const auto optimizer_s = [&](workload::Optimizer o) {
    s.job.optimizer = o;
    return s.run().detail.optimizer_s;
  };
  EXPECT_LT(optimizer_s(workload::Optimizer::sgd), optimizer_s(workload::Optimizer::adamw));
  EXPECT_EQ(optimizer_s(workload::Optimizer::sgd), optimizer_s(workload::Optimizer::lion));
  EXPECT_LT(optimizer_s(workload::Optimizer::adafactor), optimizer_s(workload::Optimizer::sgd));
}

// Experts are reduced and updated in their own, smaller data-parallel group.
TEST(Step, ExpertsAreSharedOutInTheirOwnGroup) {
  Setting s(8);
  workload::Tower& t = s.job.model.towers[0];
  t.experts.count = 8, t.experts.per_token = 2, t.experts.ffn = t.ffn;
  s.job.parallelism.sharding = Sharding::zero1;
  s.job.parallelism.ep = 8;
  s.domains.expert = s.domains.data;
  s.domains.expert_data = collectives::domain_of(s.platform, {1, 1, 1});
  const double whole_experts = s.run().detail.optimizer_s;
  s.job.parallelism.ep = 1;
  s.domains.expert_data = s.domains.data;
  // One expert, updated whole, against eight, each shared by eight ranks: the same bytes.
  EXPECT_NEAR(whole_experts, s.run().detail.optimizer_s, 1e-9);
}

// Interleaving and zero-bubble orders exist to shrink the bubble.
TEST(Step, SchedulesShrinkTheBubble) {
  Setting s(4);
  s.job.batch.global = 64;  // 16 micro-batches for 4 stages
  s.behaviour.pipeline_overlap = true;
  s.pipeline(4);
  const StepResult plain = s.run();
  EXPECT_GT(plain.parts.bubble, 0);
  s.pipeline(4, 2);
  EXPECT_LT(s.run().parts.bubble, plain.parts.bubble);
  s.pipeline(4);
  s.job.parallelism.schedule = workload::Schedule::zero_bubble_1p;
  const StepResult one = s.run();
  EXPECT_LT(one.parts.total, plain.parts.total);
  s.job.parallelism.schedule = workload::Schedule::zero_bubble_2p;
  EXPECT_LT(s.run().parts.total, one.parts.total);
}

// A cost that is left out never makes the step longer; overlap that is left out never makes it shorter.
TEST(Step, EffectsGoTheWayTheyAreNamed) {
  Rng rng(2);
  for (int i = 0; i < 100; ++i) {
    Setting s(8);
    if (rng.below(2) == 0) s.pipeline(2 << rng.below(2));
    if (rng.below(2) == 0) s.tensor(2);
    s.job.parallelism.sharding = Sharding(rng.below(5));
    s.behaviour = workload::behaviour_of(workload::Framework(rng.below(15)), catalog::Generation::hopper);
    const Picoseconds all = s.run().parts.total;
    for (bool Effects::* effect :
         {&Effects::bubbles, &Effects::launch, &Effects::memory_bound, &Effects::contention, &Effects::sustained}) {
      Setting without = s;
      without.effects.*effect = false;
      EXPECT_LE(without.run().parts.total, all);
    }
    Setting apart = s;
    apart.effects.overlap = apart.effects.contention = false;
    Setting beside = s;
    beside.effects.contention = false;
    EXPECT_GE(apart.run().parts.total, beside.run().parts.total);
    EXPECT_EQ(apart.run().detail.hidden_comm_s, 0);
  }
}

// Recomputing half the layers costs half of what recomputing all costs.
TEST(Step, RecomputationCountsByItsShareOfTheLayers) {
  Setting s;
  s.behaviour.launch_s = 0;
  s.effects.sustained = false;
  const auto total = [&](workload::Recompute r, double share) {
    s.job.recompute = r, s.job.recompute_share = share;
    return double(s.run().parts.total);
  };
  const double none = total(workload::Recompute::none, 1), full = total(workload::Recompute::full, 1);
  EXPECT_NEAR(total(workload::Recompute::full, 0.5) - none, (full - none) / 2, 1e-6 * full);
  s.job.recompute_share = 1;
  EXPECT_NEAR(s.run().detail.recompute_s * 1e12, full - none, 1e-6 * full);
}

TEST(Step, FittedFactorScalesAStepWithoutCommunication) {
  Setting s;
  s.effects.memory_bound = false;  // the optimizer is not scaled: it is no kernel of the framework's layers
  const double once = double(s.run().parts.total);
  s.factor = 1.25;
  EXPECT_NEAR(double(s.run().parts.total), 1.25 * once, 1e-9 * once);
}

TEST(Step, SlotsCoverTheMicroBatches) {
  Setting s(4);
  s.pipeline(2);
  const std::size_t micro_batches = 16 / 4;
  EXPECT_EQ(s.run(true).slots.size(), 2 * 2 * micro_batches);
  EXPECT_TRUE(s.run().slots.empty());
}
