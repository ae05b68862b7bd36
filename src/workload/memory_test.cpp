#include "workload/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/rng.hpp"
#include "workload/memory_testing.hpp"

namespace trunkline::workload {
namespace {

using catalog::Precision;
using testing_memory::count;
using testing_memory::gpt_job;

// Megatron's GPT layer as Korthikanti et al. count it: no flash attention, dropout everywhere.
MemoryRules plain_rules() {
  MemoryRules r;
  r.flash_attention = false;
  r.dropout = true;
  r.logit = 0;
  return r;
}

TEST(LayerActivations, ClosedFormOfKorthikantiEtAl) {
  const double s = 2048, b = 2, h = 6144, a = 64;  // their 22B model
  for (const double t : {1.0, 8.0}) {
    Job job = gpt_job(h, int(a), std::int64_t(s), std::int64_t(b));
    job.parallelism.tp = int(t);
    const Tower& tower = job.model.towers.front();
    // sbh (10 + 24/t + 5as/(ht)): norm and dropout are not split by tensor parallelism.
    EXPECT_DOUBLE_EQ(layer_activations(tower, job, plain_rules(), false).none, s * b * h * (10 + 24 / t + 5 * a * s / (h * t)));
    EXPECT_DOUBLE_EQ(layer_activations(tower, job, plain_rules(), false).selective, s * b * h * (10 + 24 / t));
    EXPECT_DOUBLE_EQ(layer_activations(tower, job, plain_rules(), false).full, 2 * s * b * h);
    // Sequence parallelism splits those too: sbh/t (34 + 5as/h).
    job.parallelism.sequence_parallel = true;
    EXPECT_DOUBLE_EQ(layer_activations(tower, job, plain_rules(), false).none, s * b * h / t * (34 + 5 * a * s / h));
    EXPECT_DOUBLE_EQ(layer_activations(tower, job, plain_rules(), false).selective, 34 * s * b * h / t);
  }
}

TEST(LayerActivations, FlashAttentionKeepsARowSumInPlaceOfTheScores) {
  const Job job = gpt_job(4096, 32, 4096, 1);
  MemoryRules flash = plain_rules();
  flash.flash_attention = true;
  EXPECT_DOUBLE_EQ(layer_activations(job.model.towers.front(), job, flash, false).none, 4096.0 * (34 * 4096 + 4 * 32));
}

TEST(LayerActivations, GroupedQueriesAndGateByHand) {
  Job job;
  job.model = *builtin_model("llama-3-8b");
  job.batch = {8, 1, 8192};
  MemoryRules r;                                // flash, no dropout
  const double token = 2 * 4096 + 2 * 4096      // input of the norm, of the projections
                       + 2 * (4096 + 2 * 1024)  // q; k and v of 8 heads
                       + 2 * 4096 + 4 * 32      // attention output and row sums
                       + 2 * 4096 + 2 * 4096    // input of the second norm, of gate and up
                       + 2 * 14336 * 3;         // gate, up, their product
  EXPECT_DOUBLE_EQ(layer_activations(job.model.towers.front(), job, r, false).none, 8192.0 * token);
  // Context parallelism shares out the tokens; key-value heads are replicated once tp exceeds them.
  job.parallelism.cp = 4;
  EXPECT_DOUBLE_EQ(layer_activations(job.model.towers.front(), job, r, false).none, 2048.0 * token);
  job.parallelism.cp = 1;
  job.parallelism.tp = 16;
  job.parallelism.sequence_parallel = true;
  const double replicated = 2.0 * 128 * 2;  // one key and one value head instead of half of each
  EXPECT_DOUBLE_EQ(layer_activations(job.model.towers.front(), job, r, false).none, 8192.0 * ((token - 2 * 2 * 1024) / 16 + replicated));
}

TEST(LayerActivations, ExpertsKeepAsManyCopiesAsTheyServe) {
  Job job;
  job.model = *builtin_model("mixtral-8x7b");
  job.batch = {8, 1, 4096};
  const MemoryRules r;
  const Tower& t = job.model.towers.front();
  const double dense = layer_activations(t, job, r, false).none, moe = layer_activations(t, job, r, true).none;
  // Two experts a token: twice the inner tensors, two dispatched inputs, two results, and the router.
  EXPECT_DOUBLE_EQ(moe - dense, 4096.0 * (2 * 14336 * 3 + 2 * 2 * 4096 + 2 * 2 * 4096 + 2 * 4 * 8));
}

// Bytes a parameter of state, without activations: a model whose sequence is one token.
double state_bytes(Framework framework, Precision parameters, Precision optimizer, Sharding sharding, int dp,
                   Optimizer kind = Optimizer::adamw) {
  Job job = gpt_job(1024, 16, 1, 1);
  job.framework = framework;
  job.precision = {parameters == Precision::fp32 ? Precision::bf16 : parameters, parameters, optimizer};
  job.parallelism.dp = dp;
  job.parallelism.sharding = sharding;
  job.batch.global = std::int64_t(dp) * 2;  // two micro-batches: gradients accumulate
  job.optimizer = kind;
  MemoryRules rules = memory_rules(job);
  rules.gathered = 0;
  const MemoryParts m = memory_of(job, rules);
  return (count(m.weights) + count(m.gradients) + count(m.optimizer)) / job.model.parameters();
}

TEST(Memory, StateOfMegatronsDistributedOptimizer) {
  // Megatron-LM, docs: distributed optimizer. fp16 20 → 4 + 16/d; bf16 with fp32 gradients 18 → 6 + 12/d; fp32 16 → 8 + 8/d.
  const auto m = Framework::megatron;
  EXPECT_NEAR(state_bytes(m, Precision::fp16, Precision::fp32, Sharding::none, 8), 20, 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::fp16, Precision::fp32, Sharding::zero1, 8), 4 + 16 / 8., 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::bf16, Precision::fp32, Sharding::none, 8), 18, 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::bf16, Precision::fp32, Sharding::zero1, 8), 6 + 12 / 8., 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::fp32, Precision::fp32, Sharding::none, 8), 16, 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::fp32, Precision::fp32, Sharding::zero1, 8), 8 + 8 / 8., 1e-6);
}

TEST(Memory, StateOfZeroAndFsdp) {
  const auto ds = Framework::megatron_deepspeed;
  EXPECT_NEAR(state_bytes(ds, Precision::fp16, Precision::fp32, Sharding::zero2, 16), 2 + 18 / 16., 1e-6);
  EXPECT_NEAR(state_bytes(ds, Precision::fp16, Precision::fp32, Sharding::zero3, 16), 20 / 16., 1e-6);
  const auto fsdp = Framework::torchtitan;
  EXPECT_NEAR(state_bytes(fsdp, Precision::fp32, Precision::fp32, Sharding::zero3, 16), 16 / 16., 1e-6);
  EXPECT_NEAR(state_bytes(fsdp, Precision::fp32, Precision::fp32, Sharding::hsdp, 16), 16 / 8., 1e-6);  // a group is one node of 8
  // Autocast keeps 16-bit copies of fp32 weights; DDP keeps its buckets beside the gradients.
  EXPECT_NEAR(state_bytes(Framework::pytorch_eager, Precision::fp32, Precision::fp32, Sharding::none, 1), 16 + 2, 1e-6);
  EXPECT_NEAR(state_bytes(Framework::pytorch_ddp, Precision::fp32, Precision::fp32, Sharding::none, 8), 16 + 2 + 4, 1e-6);
  EXPECT_NEAR(state_bytes(Framework::pytorch_eager, Precision::bf16, Precision::bf16, Sharding::none, 1), 2 + 2 + 4, 1e-6);
}

TEST(Memory, StateOfOtherOptimizers) {
  const auto m = Framework::megatron;
  EXPECT_NEAR(state_bytes(m, Precision::bf16, Precision::fp32, Sharding::none, 1, Optimizer::lion), 14, 1e-6);
  EXPECT_NEAR(state_bytes(m, Precision::bf16, Precision::fp32, Sharding::none, 1, Optimizer::adafactor), 10, 1e-6);
}

TEST(Memory, FirstStageHoldsAsManyMicroBatchesAsThereAreStages) {
  Job job = gpt_job(4096, 32, 2048, 1);
  job.parallelism.pp = 4;
  MemoryRules r = plain_rules();
  const double layer = layer_activations(job.model.towers.front(), job, r, false).none;
  const double embedding_mask = 2048.0 * 4096;
  const MemoryParts m = memory_of(job, r);
  EXPECT_EQ(m.stage, 0);
  EXPECT_NEAR(count(m.activations), 4 * (6 * layer + embedding_mask), 8);
  // Interleaving: 1 + (pp − 1)/(pp·vpp) times as much.
  job.parallelism.vpp = 3;
  EXPECT_NEAR(count(memory_of(job, r).activations), 4 * (1 + 3 / 12.) * (6 * layer + embedding_mask), 8);
  // A batch of two micro-batches fills no more than two.
  job.batch.global = 2;
  EXPECT_NEAR(count(memory_of(job, r).activations) / (2 * 6 * layer), 1, 0.005);  // now of the last stage, which adds its ends
  job.parallelism.vpp = 1;
  job.batch.global = 1024;
  job.parallelism.schedule = Schedule::gpipe;
  EXPECT_NEAR(count(memory_of(job, r).activations), 1024 * (6 * layer + embedding_mask), 1024);
}

TEST(Memory, LogitsCanMakeTheLastStageTheFullest) {
  Job job = gpt_job(1024, 16, 2048, 8);
  job.parallelism.pp = 2;
  job.recompute = Recompute::full;
  MemoryRules r = plain_rules();
  EXPECT_EQ(memory_of(job, r).stage, 0);
  r.logit = 10;
  const MemoryParts m = memory_of(job, r);
  EXPECT_EQ(m.stage, 1);
  EXPECT_DOUBLE_EQ(count(m.logits), 10.0 * 8 * 2048 * 51200);
}

TEST(Memory, UnevenStagesAreCountedByTheLargest) {
  Job job = gpt_job(1024, 16, 128, 1);
  job.model.towers.front().layers = 23;
  job.parallelism.pp = 4;  // 6, 6, 6, 5
  Job even = gpt_job(1024, 16, 128, 1);
  even.parallelism.pp = 4;
  EXPECT_EQ(count(memory_of(job, plain_rules()).optimizer), count(memory_of(even, plain_rules()).optimizer));
  // Llama 3.1 405B on pp 16 × vpp 8: 126 layers and two ends, one layer a chunk; the embedding's chunk has none.
  Job llama;
  llama.model = *builtin_model("llama-3.1-405b");
  llama.parallelism.tp = 8;
  llama.parallelism.pp = 16;
  llama.parallelism.vpp = 8;
  llama.batch = {2048, 1, 8192};
  llama.recompute = Recompute::full;
  MemoryRules rules = memory_rules(Framework::megatron, llama.precision);
  rules.logit = 0;
  const TowerParameters p = parameters_of(llama.model.towers.front());
  const MemoryParts m = memory_of(llama, rules);
  const double seven = (7 * p.layer + p.embedding) * 2 / 8, eight = 8 * p.layer * 2 / 8;
  EXPECT_NEAR(count(m.weights), m.stage == 0 ? seven : eight, 1);
}

TEST(Memory, TiedOutputLayerIsKeptTwiceByAPipeline) {
  Job job = gpt_job(1024, 16, 1, 1);
  job.parallelism.pp = 2;
  MemoryRules r = plain_rules();
  r.logit = 1e6;  // look at the last stage
  const MemoryParts m = memory_of(job, r);
  ASSERT_EQ(m.stage, 1);
  const TowerParameters p = parameters_of(job.model.towers.front());
  EXPECT_NEAR(count(m.weights), 2 * (12 * p.layer + p.head + 51200.0 * 1024), 1);
}

TEST(Memory, ExpertsAreSharedOutByExpertParallelism) {
  Job job;
  job.model = *builtin_model("mixtral-8x7b");
  job.parallelism.dp = 8;
  job.batch = {8, 1, 1};
  const MemoryRules r = memory_rules(Framework::megatron, job.precision);
  const double alone = count(memory_of(job, r).weights);
  job.parallelism.ep = 8;
  const double experts = 32 * 8 * 3 * 4096.0 * 14336 * 2;
  EXPECT_NEAR(alone - count(memory_of(job, r).weights), experts * 7 / 8, 1);
  // The optimizer of an expert is shared among the ranks that hold the same expert: one here.
  job.parallelism.sharding = Sharding::zero1;
  const double shared = job.model.parameters() - experts / 2;
  EXPECT_NEAR(count(memory_of(job, r).optimizer), 12 * (shared / 8 + experts / 2 / 8), 16);
}

TEST(Memory, AdaptersLeaveTheBaseFrozen) {
  Job job;
  job.model = *builtin_model("llama-2-70b");
  job.kind = TrainingKind::lora;
  job.lora = {16, false};
  job.batch = {1, 1, 1};
  const MemoryRules r = memory_rules(Framework::megatron, job.precision);
  const MemoryParts m = memory_of(job, r);
  // q and o: 16 · (8192 + 8192); k and v: 16 · (8192 + 1024); 80 layers.
  const double adapters = 80 * 16.0 * (2 * 16384 + 2 * 9216);
  EXPECT_NEAR(count(m.optimizer), 12 * adapters, 1);
  EXPECT_NEAR(count(m.weights), 2 * (job.model.parameters() + adapters), 2);
  job.kind = TrainingKind::qlora;
  EXPECT_NEAR(count(memory_of(job, r).weights) / 1e9, 36, 1.0);  // 69 B × 4.127 bits, embeddings in 16 bits
}

TEST(Memory, GradientsOfASingleMicroBatchAppearAsActivationsGo) {
  Job job;
  job.model = *builtin_model("gpt2");
  job.framework = Framework::pytorch_eager;
  job.precision = {Precision::bf16, Precision::fp32, Precision::fp32};
  job.batch = {8, 8, 1024};
  EXPECT_EQ(count(memory_of(job, memory_rules(job)).gradients), 0);  // the loss is the peak, and meets none
  job.batch.global = 16;                                             // two micro-batches accumulate
  EXPECT_NEAR(count(memory_of(job, memory_rules(job)).gradients), 4 * 124'439'808., 1);
  job.batch = {1, 1, 1};  // nothing but state: the optimizer's step is the peak
  EXPECT_GT(count(memory_of(job, memory_rules(job)).gradients), 4 * 124'439'808. - 1e7);
}

// With one micro-batch the peak may be the end of backward, gradients and all: then recomputation saves nothing, and costs nothing.
TEST(Memory, RecomputationNeverNeedsMoreWithOneMicroBatch) {
  Rng rng(9);
  const char* names[] = {"gpt2", "gpt2-xl", "llama-3.2-1b", "llama-2-7b", "clip-vit-b-32", "mixtral-8x7b"};
  const Framework frameworks[] = {Framework::pytorch_eager, Framework::pytorch_ddp, Framework::pytorch_fsdp, Framework::torchtitan};
  for (int i = 0; i < 1000; ++i) {
    Job job;
    job.model = *builtin_model(names[rng.below(6)]);
    job.framework = frameworks[rng.below(4)];
    job.precision.parameters = parameter_habit(job.framework, job.precision.compute);
    job.parallelism.dp = 1 << rng.below(3);
    job.parallelism.sharding = Sharding(rng.below(4));
    job.batch = {0, std::int64_t(1) << rng.below(5), std::int64_t(128) << rng.below(4)};
    job.batch.global = job.batch.micro * job.parallelism.dp;
    Bytes needs[3];
    for (int r = 0; r < 3; ++r) {
      job.recompute = Recompute(r);
      needs[r] = memory_needed(job).total();
    }
    EXPECT_LE(needs[1], needs[0] + bytes(2)) << job.model.name << " " << name_of(job.framework);
    EXPECT_LE(needs[2], needs[0] + bytes(2)) << job.model.name << " " << name_of(job.framework);
  }
}

// What is not trained is kept in the format it is multiplied in: Llama 2 70B in fp8, one byte an element (embeddings two).
TEST(Memory, FrozenWeightsAreKeptOnce) {
  Job job;
  job.model = *builtin_model("llama-2-70b");
  job.framework = Framework::mlperf_nvidia;
  job.kind = TrainingKind::lora;
  job.lora = {16, false};
  job.precision.compute = Precision::fp8;
  job.batch = {1, 1, 8192};
  const double all = job.model.parameters(), ends = 2 * 32000.0 * 8192;
  EXPECT_NEAR(count(memory_of(job, memory_rules(job)).weights) / (all + ends), 1, 0.005);  // and the adapters
  job.precision.compute = Precision::bf16;
  EXPECT_NEAR(count(memory_of(job, memory_rules(job)).weights) / (2 * all), 1, 0.005);
}

// What is in use is not all that is needed: the allocator keeps fragments that it cannot give back, a stated part of the sum.
TEST(Memory, FragmentsThatCannotBeGivenBackCount) {
  Job job;
  job.model = *builtin_model("llama-3.2-1b");
  job.batch = {4, 4, 4096};
  for (const Framework framework : {Framework::pytorch_fsdp, Framework::megatron, Framework::maxtext, Framework::ideal}) {
    job.framework = framework;
    const MemoryParts m = memory_needed(job);
    const double in_use = count(m.total() - m.framework - m.communication - m.fragmentation);
    EXPECT_NEAR(count(m.fragmentation) / in_use, memory_rules(job).pinned, 1e-6);
    EXPECT_EQ(m.fragmentation > Bytes(0), framework != Framework::maxtext && framework != Framework::ideal);
  }
}

TEST(Memory, MoreSharingNeverNeedsMore) {
  Rng rng(7);
  const std::vector<std::string> names{"llama-2-7b", "llama-3-70b", "mixtral-8x7b", "gpt3-175b", "deepseek-v3", "clip-vit-l-14"};
  const Framework frameworks[] = {Framework::megatron, Framework::torchtitan, Framework::pytorch_ddp, Framework::nemo,
                                  Framework::megatron_deepspeed};
  for (int i = 0; i < 2000; ++i) {
    Job job;
    job.model = *builtin_model(names[rng.below(names.size())]);
    job.framework = frameworks[rng.below(5)];
    job.precision.parameters = parameter_habit(job.framework, job.precision.compute);
    job.recompute = Recompute(rng.below(3));
    job.parallelism.tp = 1 << rng.below(4);
    job.parallelism.dp = 1 << rng.below(5);
    job.parallelism.pp = job.model.towers.size() == 1 ? 1 << rng.below(3) : 1;
    job.parallelism.sharding = Sharding(rng.below(4));
    job.parallelism.sequence_parallel = rng.below(2) == 1;
    job.batch = {1024, std::int64_t(1) << rng.below(4), 2048};
    const MemoryRules rules = memory_rules(job);
    const MemoryParts before = memory_of(job, rules);
    const auto need = [&](const Job& other) { return memory_of(other, rules).total(); };
    EXPECT_EQ(before.total().count(), memory_of(job, rules).total().count());
    Job other = job;
    if (job.recompute < Recompute::full) {
      other.recompute = Recompute(int(job.recompute) + 1);
      MemoryRules tidy = rules;
      tidy.stranded_logit = 0;  // what the allocator strands may outweigh what a small model saves
      EXPECT_LE(memory_of(other, tidy).total(), memory_of(job, tidy).total() + bytes(1'000'000)) << job.model.name;
      other = job;
    }
    other.batch.micro *= 2;
    EXPECT_GE(need(other), before.total()) << job.model.name;
    other = job;
    other.parallelism.dp *= 2;
    if (job.parallelism.dp > 1 && job.parallelism.sharding != Sharding::none) {
      EXPECT_LE(need(other), before.total()) << job.model.name;
    }
    other = job;
    other.parallelism.tp *= 2;
    if (job.parallelism.tp > 1) {
      EXPECT_LE(need(other), before.total()) << job.model.name;
    }
  }
}

TEST(Memory, AbsurdSizesSaturate) {
  Job job = gpt_job(1e6, 100, 100'000'000, 1'000'000);
  job.model.towers.front().layers = 10'000;
  const MemoryParts m = memory_of(job, plain_rules());
  EXPECT_EQ(m.activations, Bytes(1'000'000'000'000'000'000));
  EXPECT_GT(m.total(), m.activations);
}

TEST(Memory, LeastRecomputationThatFits) {
  Job job;
  job.model = *builtin_model("llama-2-7b");
  job.parallelism.tp = 8;
  job.batch = {8, 4, 4096};
  job.flash_attention = false;  // so that selective recomputation has scores to drop
  const MemoryRules rules = memory_rules(job);
  Bytes needs[3];
  for (int i = 0; i < 3; ++i) {
    job.recompute = Recompute(i);
    needs[i] = memory_of(job, rules).total();
  }
  ASSERT_GT(needs[0], needs[1]);
  ASSERT_GT(needs[1], needs[2]);
  EXPECT_EQ(least_recompute_that_fits(job, rules, needs[0]), Recompute::none);
  EXPECT_EQ(least_recompute_that_fits(job, rules, needs[0] - bytes(1)), Recompute::selective);
  EXPECT_EQ(least_recompute_that_fits(job, rules, needs[2]), Recompute::full);
  EXPECT_EQ(least_recompute_that_fits(job, rules, needs[2] - bytes(1)), std::nullopt);
}

TEST(WhatWouldFit, SuggestionsHoldWhatTheyPromise) {
  Job job;
  job.model = *builtin_model("llama-2-70b");
  job.parallelism.tp = 8;
  job.parallelism.pp = 4;
  job.parallelism.dp = 4;
  job.batch = {1024, 4, 4096};
  const Bytes capacity = gbytes(80);
  ASSERT_GT(memory_of(job, memory_rules(job)).total(), capacity);
  const auto suggestions = what_would_fit(job, capacity, 128);
  ASSERT_FALSE(suggestions.empty());
  EXPECT_TRUE(suggestions.front().fits);
  bool still_fits = true;
  for (const Suggestion& s : suggestions) {
    EXPECT_EQ(memory_needed(s.job).total(), s.bytes) << s.change;
    EXPECT_EQ(s.fits, s.bytes <= capacity) << s.change;
    EXPECT_EQ(s.gpus, s.job.parallelism.gpus()) << s.change;
    EXPECT_FALSE(s.change.empty());
    EXPECT_TRUE(still_fits || !s.fits) << "those that fit come first";
    still_fits = s.fits;
    // A pipeline under Megatron shares out the optimizer at most.
    EXPECT_LE(s.job.parallelism.sharding, Sharding::zero1) << s.change;
  }
}

TEST(WhatWouldFit, AsksForMoreGpusOnlyWhenNothingElseHelps) {
  Job job;
  job.model = *builtin_model("llama-2-70b");
  job.framework = Framework::torchtitan;
  job.precision.parameters = Precision::fp32;
  job.parallelism.dp = 4;
  job.parallelism.sharding = Sharding::zero3;
  job.recompute = Recompute::full;
  job.batch = {64, 1, 4096};
  const auto suggestions = what_would_fit(job, gbytes(80), 4);
  ASSERT_TRUE(suggestions.front().fits);
  bool more = false;
  for (const Suggestion& s : suggestions) more = more || (s.fits && s.gpus > 4);
  EXPECT_TRUE(more);  // 69 B × 16 bytes do not fit 4 × 80 GB
}

}  // namespace
}  // namespace trunkline::workload
