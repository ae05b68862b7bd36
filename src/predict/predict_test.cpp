#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

#include "base/rng.hpp"
#include "predict/prediction.hpp"

using namespace trunkline;
using namespace trunkline::predict;
using workload::Job;
using workload::Recompute;
using workload::Sharding;

namespace {

topology::Platform platform_of(const char* type, int nodes) {
  topology::Platform p;
  p.name = type;
  p.node = *topology::node_type(type);
  p.nodes = nodes;
  p.fabric.present = nodes > 1;
  return p;
}

// Llama 2 7B, settled: `dp` ranks, one micro-batch of one sample each.
Job job_of(int dp, const char* model = "llama-2-7b") {
  Job job;
  job.file = "job.yaml";
  job.model = *workload::builtin_model(model);
  job.framework = workload::Framework::nemo;
  job.batch = {dp, 1, 4096};
  job.parallelism.dp = dp;
  return job;
}

Prediction predicted(const Job& job, const topology::Platform& platform, const Options& options = {}) {
  auto p = predict::predict(job, platform, options);
  EXPECT_TRUE(p) << (p ? "" : p.error().text());
  return p ? *std::move(p) : Prediction{};
}

std::string assumption(const Prediction& p, const std::string& what) {
  for (const auto& [key, taken] : p.assumed) {
    if (key == what) return taken;
  }
  return {};
}

}  // namespace

// ------------------------------------------------------------------------------------------------ rates

TEST(Predict, RatesFollowFromTheStep) {
  Job job = job_of(8);
  job.batch.global = 64;
  const Prediction p = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_EQ(p.gpus, 8);
  EXPECT_EQ(p.breakdown.sum(), p.step_s);
  EXPECT_DOUBLE_EQ(p.samples_per_s * p.step_s, 64);
  EXPECT_DOUBLE_EQ(p.tokens_per_s * p.step_s, 64 * 4096);
  EXPECT_DOUBLE_EQ(p.tokens_per_s_per_gpu * 8, p.tokens_per_s);
  const double flops = 3 * workload::forward_flops_per_sample(job.model, 4096) * 64;
  EXPECT_NEAR(p.model_flops_per_gpu_per_s * 8 * p.step_s, flops, 1e-9 * flops);
  EXPECT_DOUBLE_EQ(p.mfu, p.model_flops_per_gpu_per_s / 989e12);  // dense bf16 peak of the H100
}

// Full recomputation adds the forward of the layers: HFU/MFU = 1 + layers/(3 · (layers + output layer)).
TEST(Predict, HardwareUtilisationAddsWhatIsRecomputed) {
  Job job = job_of(8);
  EXPECT_EQ(predicted(job, platform_of("hgx-h100", 1)).hfu, predicted(job, platform_of("hgx-h100", 1)).mfu);
  job.recompute = Recompute::full;
  const double all = workload::forward_flops_per_sample(job.model, 4096), output = 2 * 4096.0 * 4096 * 32000;
  const Prediction full = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_NEAR(full.hfu / full.mfu, 1 + (all - output) / (3 * all), 1e-12);
  job.recompute_share = 0.5;
  const Prediction half = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_NEAR(half.hfu / half.mfu, 1 + (all - output) / (6 * all), 1e-12);
}

TEST(Predict, PlatformModelAnswersAsThePlatformDoes) {
  const topology::Platform platform = platform_of("hgx-a100-80", 4);
  const PlatformModel model(platform);
  const Job job = job_of(32);
  const Prediction a = predicted(job, platform), b = *predict::predict(job, model);
  EXPECT_EQ(a.step_s, b.step_s);
  EXPECT_EQ(a.assumed, b.assumed);
}

// The inner loop of a fit asks for the step alone.
TEST(Predict, ExtrasDoNotChangeTheStep) {
  Options bare;
  bare.extras = false;
  EXPECT_EQ(predicted(job_of(8), platform_of("hgx-h100", 1), bare).step_s, predicted(job_of(8), platform_of("hgx-h100", 1)).step_s);
}

TEST(Predict, AFactorInPlaceOfTheFittedOneStretchesComputation) {
  Options once, twice;
  once.compute_factor = 1, twice.compute_factor = 2;
  const Job job = job_of(1);
  topology::Platform one = platform_of("hgx-h100", 1);
  one.node.gpus = 1;
  const Prediction a = predicted(job, one, once), b = predicted(job, one, twice);
  const double optimizer = a.detail.optimizer_s;
  EXPECT_NEAR(b.step_s - optimizer, 2 * (a.step_s - optimizer), 1e-9);
}

// Slots describe the pipeline that the step was timed with.
TEST(Predict, TimelineEndsWithTheStep) {
  Job job = job_of(2);
  job.parallelism.pp = 4;
  job.batch.global = 16;
  Options options;
  options.slots = true;
  const Prediction p = predicted(job, platform_of("hgx-h100", 1), options);
  ASSERT_EQ(p.slots.size(), 2 * 4 * 8);
  timeline::Picoseconds end = 0;
  for (const auto& slot : p.slots) end = std::max(end, slot.end);
  EXPECT_LE(double(end) * 1e-12, p.step_s);
  EXPECT_TRUE(predicted(job, platform_of("hgx-h100", 1)).slots.empty());
}

// ------------------------------------------------------------------------------------------------ scaling

TEST(Scaling, OneReplicaIsItsOwnBaseline) {
  Job job = job_of(1);
  job.parallelism.tp = 8;
  const Prediction p = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_EQ(p.scaling.baseline_gpus, 8);
  EXPECT_DOUBLE_EQ(p.scaling.speedup, 1);
  EXPECT_DOUBLE_EQ(p.scaling.efficiency, 1);
}

TEST(Scaling, SpeedupIsEfficiencyTimesReplicas) {
  Job job = job_of(32);
  job.parallelism.tp = 4;
  const Prediction p = predicted(job, platform_of("hgx-h100", 16));
  EXPECT_EQ(p.scaling.baseline_gpus, 4);
  EXPECT_DOUBLE_EQ(p.scaling.speedup, 32 * p.scaling.efficiency);
  EXPECT_LT(p.scaling.efficiency, 1);
  EXPECT_GT(p.scaling.efficiency, 0.2);
}

// ------------------------------------------------------------------------------------------------ what a job leaves open

TEST(Settle, RanksAreWhatTheOtherDegreesLeave) {
  Job job = job_of(1);
  job.batch.global = 64;
  job.parallelism.tp = 2, job.parallelism.pp = 4;
  job.open.dp = true;
  EXPECT_EQ(predicted(job, platform_of("hgx-h100", 4)).job.parallelism.dp, 4);
}

// The least recomputation with which the job fits: none where there is room, else of as many layers as need be.
TEST(Settle, RecomputesNoMoreThanItMust) {
  Job job = job_of(8);
  job.parallelism.sharding = Sharding::zero3;
  job.open.recompute = true;
  EXPECT_EQ(predicted(job, platform_of("hgx-h100", 1)).job.recompute, Recompute::none);
  job.batch.global = 64, job.batch.micro = 8;
  const Prediction p = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_EQ(p.job.recompute, Recompute::full);
  EXPECT_LT(p.job.recompute_share, 1);
  EXPECT_TRUE(p.memory.fits);
  EXPECT_NE(assumption(p, "recompute"), "");
  Job one_layer_less = p.job;
  one_layer_less.recompute_share -= 1.0 / 64;
  EXPECT_FALSE(predicted(one_layer_less, platform_of("hgx-h100", 1)).memory.fits);
}

// Sharding left open: the fastest that fits, so a model that must be shared out is.
TEST(Settle, ShardsWhatMustBeShared) {
  Job job = job_of(32, "mpt-30b");
  job.framework = workload::Framework::pytorch_fsdp;
  job.open.sharding = job.open.recompute = true;
  const Prediction p = predicted(job, platform_of("hgx-h100", 4));
  EXPECT_GE(p.job.parallelism.sharding, Sharding::zero2);
  EXPECT_TRUE(p.memory.fits);
  job.framework = workload::Framework::megatron;  // whose distributed optimizer shares out no gradients and no weights
  const Prediction distributed = predicted(job, platform_of("hgx-h100", 4));
  EXPECT_LE(distributed.job.parallelism.sharding, Sharding::zero1);
  EXPECT_FALSE(distributed.memory.fits);
}

// `parallelism: auto` finds the fastest that fits, so no stated choice that fits is faster.
TEST(Settle, SearchedParallelismIsNotBeatenByAStatedOne) {
  Job open = job_of(1, "llama-2-13b");
  open.batch.global = 128;
  open.open.tp = open.open.pp = open.open.dp = open.open.micro = open.open.sharding = open.open.recompute = true;
  const topology::Platform platform = platform_of("hgx-h100", 4);
  const Prediction best = predicted(open, platform);
  EXPECT_TRUE(best.memory.fits);
  EXPECT_NE(assumption(best, "parallelism"), "");
  const auto& p = best.job.parallelism;
  EXPECT_EQ(p.gpus(), 32);
  for (int tp : {1, 2, 4, 8}) {
    for (int pp : {1, 2, 4}) {
      for (std::int64_t micro : {1, 2, 4}) {
        Job stated = open;
        stated.open.tp = stated.open.pp = stated.open.micro = false;
        stated.parallelism.tp = tp, stated.parallelism.pp = pp, stated.batch.micro = micro;
        const auto other = predict::predict(stated, platform);
        if (other && other->memory.fits) EXPECT_GE(other->step_s, best.step_s) << tp << " " << pp << " " << micro;
      }
    }
  }
}

TEST(Settle, WhatWasTakenIsSaid) {
  Job job = job_of(8);
  job.open.sharding = job.open.recompute = true;
  const Prediction p = predicted(job, platform_of("hgx-h100", 1));
  EXPECT_NE(assumption(p, "parallelism").find("sharding " + workload::name_of(p.job.parallelism.sharding)), std::string::npos);
  EXPECT_NE(assumption(p, "parallelism").find("the fastest of the"), std::string::npos);
  job.open.sharding = false;
  job.parallelism.sharding = Sharding::zero1;
  EXPECT_NE(assumption(predicted(job, platform_of("hgx-h100", 1)), "recompute").find("the least that fits"), std::string::npos);
}

TEST(Settle, FaultsNameWhatDoesNotMatch) {
  const topology::Platform platform = platform_of("hgx-h100", 1);
  const auto fault = [&](Job job) {
    const auto p = predict::predict(job, platform);
    return p ? std::string() : p.error().text();
  };
  EXPECT_NE(fault(job_of(16)).find("asks for 16 GPUs"), std::string::npos);
  Job job = job_of(8);
  job.batch.global = 12;
  EXPECT_NE(fault(job).find("12 does not divide over 8"), std::string::npos);
  job.batch.global = 24, job.batch.micro = 2;
  EXPECT_NE(fault(job).find("3 samples a rank do not divide into micro-batches of 2"), std::string::npos);
  job = job_of(1);
  job.open.dp = true;
  job.parallelism.tp = 3;
  EXPECT_NE(fault(job).find("does not divide the 8 GPUs"), std::string::npos);
}

// Whether dp is stated or follows from the GPUs, under any sharding.
TEST(Settle, AShardGroupThatDoesNotDivideTheRanksIsRefused) {
  for (const Sharding sharding : {Sharding::zero1, Sharding::zero2, Sharding::zero3, Sharding::hsdp}) {
    for (const bool open : {false, true}) {
      Job job = job_of(open ? 1 : 8);
      job.batch.global = 8;
      job.open.dp = open;
      job.parallelism.sharding = sharding;
      job.parallelism.shard_group = 3;
      const auto p = predict::predict(job, platform_of("hgx-h100", 1));
      ASSERT_FALSE(p);
      EXPECT_NE(p.error().text().find("shard_group: 3 does not divide the 8"), std::string::npos) << p.error().text();
      job.parallelism.shard_group = 4;
      EXPECT_TRUE(predict::predict(job, platform_of("hgx-h100", 1)));
    }
  }
}

// ------------------------------------------------------------------------------------------------ number formats

// fp8 and fp4 without units for them are refused, with the part's name, the key and what to write instead.
TEST(Formats, NarrowFormatsThatAGpuLacksAreRefused) {
  for (const auto& entry : topology::node_catalog()) {
    topology::Platform one = platform_of(entry.id.c_str(), 1);
    one.node.gpus = 1;
    for (const auto format : {catalog::Precision::fp8, catalog::Precision::fp4}) {
      Job job = job_of(1);
      job.precision.compute = format;
      const auto p = predict::predict(job, one);
      EXPECT_EQ(bool(p), entry.node.gpu.supports(format)) << entry.id << " " << catalog::name_of(format);
      if (p) continue;
      EXPECT_NE(p.error().text().find("has no units for " + catalog::name_of(format)), std::string::npos);
      EXPECT_NE(p.error().text().find("write precision"), std::string::npos) << p.error().text();
    }
  }
}

// A V100's tensor cores know fp16 alone: bf16 products run on its fp32 units, an eighth as fast, and the answer says so.
TEST(Formats, Bf16OnAV100DoesNotRunOnTensorCores) {
  topology::Platform one = platform_of("hgx-v100", 1);
  one.node.gpus = 1;
  Job job = job_of(1, "llama-3.2-1b");
  job.precision.compute = job.precision.parameters = catalog::Precision::fp16;
  const Prediction half = predicted(job, one);
  job.precision.compute = job.precision.parameters = catalog::Precision::bf16;
  const Prediction bf16 = predicted(job, one);
  EXPECT_GT(bf16.detail.matrix_s, 4 * half.detail.matrix_s);
  EXPECT_NE(assumption(bf16, "training.precision").find("at the rate of fp32"), std::string::npos);
  EXPECT_EQ(assumption(half, "training.precision"), "");
}

TEST(Formats, APrecisionLeftOpenIsOneThatTheGpuHas) {
  topology::Platform one = platform_of("hgx-v100", 1);
  one.node.gpus = 1;
  Job job = job_of(1, "llama-3.2-1b");
  job.open.precision = true;
  const Prediction p = predicted(job, one);
  EXPECT_EQ(p.job.precision.compute, catalog::Precision::fp16);
  EXPECT_EQ(p.job.precision.parameters, catalog::Precision::fp16);
  EXPECT_NE(assumption(p, "training.precision").find("fp16"), std::string::npos);
  topology::Platform newer = platform_of("hgx-h100", 1);
  newer.node.gpus = 1;
  EXPECT_EQ(predicted(job, newer).job.precision.compute, catalog::Precision::bf16);
}

// ------------------------------------------------------------------------------------------------ who talks to whom

namespace {

timeline::Domains domains(const topology::Platform& platform, int tp, int pp, int cp, int dp, int ep = 1, int etp = 0) {
  workload::Parallelism p;
  p.tp = tp, p.pp = pp, p.cp = cp, p.dp = dp, p.ep = ep, p.etp = etp;
  return domains_of(p, PlatformModel(platform));
}

}  // namespace

// Ranks fill nodes in the order tensor, context, data, pipeline: neighbours in a tensor-parallel group share a node, the eight
// data-parallel groups of a tp-8 job share the node's NICs.
TEST(Domains, TensorParallelGroupsStayInsideNodes) {
  const timeline::Domains d = domains(platform_of("hgx-h100", 4), 8, 1, 1, 4);
  EXPECT_EQ(d.tensor.ranks_per_node, 8);
  EXPECT_EQ(d.tensor.nodes, 1);
  EXPECT_EQ(d.data.ranks_per_node, 1);
  EXPECT_EQ(d.data.nodes, 4);
  EXPECT_EQ(d.data.sharing, 8);
}

TEST(Domains, GroupsHaveAsManyRanksAsTheirDegree) {
  Rng rng(1);
  const topology::Platform platform = platform_of("hgx-h100", 64);
  for (int i = 0; i < 300; ++i) {
    const int tp = 1 << rng.below(4), cp = 1 << rng.below(3), pp = 1 << rng.below(4), dp = 512 / (tp * cp * pp), ep = 1 << rng.below(3),
              etp = rng.below(2) == 0 ? 1 : tp;
    if (tp * cp * dp % (ep * etp) != 0) continue;
    const timeline::Domains d = domains(platform, tp, pp, cp, dp, ep, etp);
    EXPECT_EQ(d.tensor.ranks(), tp);
    EXPECT_EQ(d.context.ranks(), cp);
    EXPECT_EQ(d.data.ranks(), dp * cp);
    EXPECT_EQ(d.expert.ranks(), ep);
    EXPECT_EQ(d.expert_tensor.ranks(), etp);
    EXPECT_EQ(d.expert_data.ranks() * ep * etp, tp * cp * dp);
    EXPECT_EQ(d.pipeline.ranks(), std::min(pp, 2));
  }
}

// Twelve ranks on nodes of eight stand on two nodes: a group that does not fill its nodes still crosses the network.
TEST(Domains, GroupsThatDoNotFillNodesCrossTheNetwork) {
  const timeline::Domains d = domains(platform_of("hgx-h100", 3), 1, 2, 1, 12);
  EXPECT_EQ(d.data.ranks(), 12);
  EXPECT_EQ(d.data.nodes, 2);
}

// Two stages of four ranks stand on one node, but with four of them some neighbours are on different nodes.
TEST(Domains, PipelineNeighboursAreAsFarApartAsTheFarthest) {
  EXPECT_EQ(domains(platform_of("hgx-h100", 1), 4, 2, 1, 1).pipeline.nodes, 1);
  EXPECT_EQ(domains(platform_of("hgx-h100", 2), 4, 4, 1, 1).pipeline.nodes, 2);
  EXPECT_EQ(domains(platform_of("hgx-h100", 2), 4, 4, 1, 1).pipeline.sharing, 4);
}

// A rack of 72 GPUs over NVLink holds nine ranks that stand eight apart, and no two stages of 72.
TEST(Domains, RackOfNodesIsOneNodeToItsGroups) {
  const topology::Platform racks = platform_of("gb200-nvl72", 36);  // two of 18 nodes of 4
  EXPECT_EQ(domains(racks, 8, 1, 1, 18).tensor.nodes, 1);
  const timeline::Domains d = domains(racks, 8, 1, 1, 18);
  EXPECT_EQ(d.data.ranks_per_node, 9);
  EXPECT_EQ(d.data.nodes, 2);
  EXPECT_EQ(domains(racks, 8, 2, 1, 9).pipeline.nodes, 2);
  EXPECT_EQ(domains(racks, 8, 2, 1, 9).data.nodes, 1);
}

// hsdp shards over one node unless the job says otherwise, and repeats the shards over the others.
TEST(Domains, HybridShardingKeepsItsGatherInsideTheNode) {
  workload::Parallelism p;
  p.dp = 32;
  p.sharding = Sharding::hsdp;
  const PlatformModel model(platform_of("hgx-h100", 4));
  const timeline::Domains d = domains_of(p, model);
  EXPECT_EQ(d.shard.ranks(), 8);
  EXPECT_EQ(d.shard.nodes, 1);
  EXPECT_EQ(d.replica.ranks(), 4);
  p.shard_group = 16;
  EXPECT_EQ(domains_of(p, model).shard.ranks(), 16);
  EXPECT_EQ(domains_of(p, model).replica.ranks(), 2);
}

// ------------------------------------------------------------------------------------------------ stated in another way

// A platform is what it says, not how it says it: catalogued or spelt out, in bits or bytes.
TEST(Predict, ThePlatformMayBeStatedInAnyWay) {
  const auto platform = [](const std::string& text) {
    auto value = io::parse_yaml(text, "platform.yaml");
    EXPECT_TRUE(value);
    auto p = topology::platform_from(*value);
    EXPECT_TRUE(p) << (p ? "" : p.error().text());
    return *p;
  };
  const Job job = job_of(16);
  const double step_s =
      predicted(job, platform("name: a\nnode: {type: hgx-h100, count: 2}\nfabric: {kind: infiniband, rate: 400 Gb/s}\n")).step_s;
  EXPECT_EQ(predicted(job, platform("name: b\nnode: {type: hgx-h100, count: 2}\nfabric: {kind: infiniband, rate: 50 GB/s}\n")).step_s,
            step_s);
  EXPECT_EQ(predicted(job, platform("fabric: {rate: 0.4 Tb/s, kind: infiniband}\nnode: {count: 2, type: hgx-h100}\nname: c\n")).step_s,
            step_s);
}
