// Properties that any prediction has, whatever the job and the platform.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "predict_cases.hpp"

namespace trunkline::property {
namespace {

using predict::Prediction;

constexpr int kCases = 3000;
constexpr double kLastBits = 1 + 1e-15;     // a step is a sum of six doubles
constexpr double kLastBitsRun = 1 + 1e-13;  // failures within lost time amplify a step's last bit

Prediction predicted(const Case& c) {
  auto p = predict::predict(c.job, c.platform);
  EXPECT_TRUE(p) << (p ? "" : p.error().text()) << described(c);
  return p ? *std::move(p) : Prediction{};
}

struct Upgrade {
  const char* name;
  std::function<void(topology::Platform&, double)> apply;  // better by a factor above 1
};

void faster_chip(catalog::Gpu& gpu, double by) {
  for (FlopRate* rate : {&gpu.fp32, &gpu.tf32, &gpu.fp16, &gpu.bf16, &gpu.fp8, &gpu.fp4}) *rate = *rate * by;
}

const std::vector<Upgrade>& upgrades() {
  static const std::vector<Upgrade> all = {
      {"NIC rate", [](auto& p, double by) { p.node.nics.rate = p.node.nics.rate * by; }},
      {"NIC slot", [](auto& p, double by) { p.node.nics.slot = p.node.nics.slot * by; }},
      {"GPU links", [](auto& p, double by) { p.node.link_bandwidth = p.node.link_bandwidth * by; }},
      {"PCIe",
       [](auto& p, double by) {
         p.node.pcie_bandwidth = p.node.pcie_bandwidth * by, p.node.pcie_line = p.node.pcie_line * by,
         p.node.uplink_bandwidth = p.node.uplink_bandwidth * by;
       }},
      {"socket link", [](auto& p, double by) { p.node.socket_bandwidth = p.node.socket_bandwidth * by; }},
      {"host memory", [](auto& p, double by) { p.node.memory_bandwidth = p.node.memory_bandwidth * by; }},
      {"GPU memory", [](auto& p, double by) { p.node.gpu.memory_bandwidth = p.node.gpu.memory_bandwidth * by; }},
      {"FLOP/s", [](auto& p, double by) { faster_chip(p.node.gpu, by); }},
      {"power", [](auto& p, double by) { p.node.gpu.tdp_w *= by; }},
      {"volume",
       [](auto& p, double by) {
         if (p.volume) p.volume->read = p.volume->read * by, p.volume->write = p.volume->write * by, p.volume->iops *= by;
       }},
      {"local disk",
       [](auto& p, double by) {
         if (p.node.local_disk)
           p.node.local_disk->read = p.node.local_disk->read * by, p.node.local_disk->write = p.node.local_disk->write * by,
           p.node.local_disk->iops *= by;
       }},
      {"ingest",
       [](auto& p, double by) {
         if (p.ingest) p.ingest->line = p.ingest->line * by;
       }},
      {"reliability",
       [](auto& p, double by) {
         if (p.reliability.node_mtbf)
           p.reliability.node_mtbf = *p.reliability.node_mtbf * by, p.reliability.restart = *p.reliability.restart / by;
       }},
  };
  return all;
}

}  // namespace

// Whatever gets faster, with everything else the same, no step, epoch or run takes longer: no tolerance but the last bits.
TEST(Predictions, NothingFasterMakesAnythingSlower) {
  Rng rng(20260711);
  for (int i = 0; i < kCases; ++i) {
    const Case slow = random_case(rng);
    const Upgrade& upgrade = one_of(rng, upgrades());
    Case fast = slow;
    upgrade.apply(fast.platform, 1 + 3 * rng.uniform());
    const Prediction before = predicted(slow), after = predicted(fast);
    const std::string what = std::string(upgrade.name) + ": " + described(slow);
    EXPECT_LE(after.step_s, before.step_s * kLastBits) << what;
    if (before.epoch) {
      EXPECT_LE(after.epoch->s, before.epoch->s * kLastBits) << what;
    }
    if (before.run) {
      EXPECT_LE(after.run->total_s, before.run->total_s * kLastBitsRun) << what;
    }
  }
}

TEST(Predictions, EveryPartIsThereAndTheyAddUp) {
  Rng rng(2);
  for (int i = 0; i < kCases; ++i) {
    const Case c = random_case(rng);
    const Prediction p = predicted(c);
    const auto& b = p.breakdown;
    EXPECT_EQ(b.sum(), p.step_s);
    EXPECT_TRUE(std::isfinite(p.step_s) && p.step_s > 0) << described(c);
    for (double part : {b.compute_s, b.exposed_comm_s, b.bubble_s, b.data_wait_s, b.checkpoint_s, b.other_s})
      EXPECT_GE(part, 0) << described(c);
    EXPECT_LE(p.interval.low_s, p.step_s);
    EXPECT_GE(p.interval.high_s, p.step_s);
    EXPECT_GE(p.bottleneck.share, 0);
    EXPECT_LE(p.bottleneck.share, 1 + 1e-12);
    EXPECT_EQ(p.memory.per_gpu, p.memory.parts.total());
  }
}

// No GPU does more than its peak: the step lasts at least what its share of the mathematics takes there. A causal model needs only
// half of the scores that the definition of MFU counts.
TEST(Predictions, NoStepBeatsThePeakOfItsGpus) {
  Rng rng(3);
  for (int i = 0; i < kCases; ++i) {
    const Case c = random_case(rng);
    const Prediction p = predicted(c);
    double unneeded = 0;
    for (const auto& t : c.job.model.towers) {
      const double tokens = double(t.tokens(c.job.batch.sequence));
      const double width = t.latent.kv_rank > 0 ? (t.latent.nope_dim + t.latent.rope_dim + t.latent.value_dim) / 2.0 : t.head_dim;
      if (t.causal) unneeded += 3 * 2 * tokens * tokens * t.heads * width * t.layers;
    }
    const double peak = c.platform.node.gpu.rate(c.job.precision.compute).si();
    const double least = (p.model_flops_per_gpu_per_s * p.step_s - unneeded * double(c.job.batch.global) / p.gpus) / peak;
    EXPECT_GE(p.step_s, least) << described(c);
    EXPECT_GE(p.hfu, p.mfu);
  }
}

TEST(Predictions, TheSameQuestionHasTheSameAnswer) {
  Rng rng(4);
  for (int i = 0; i < 300; ++i) {
    const Case c = random_case(rng);
    const predict::PlatformModel ready(c.platform);
    const Prediction a = predicted(c), b = predicted(c), d = *predict::predict(c.job, ready);
    for (const Prediction* other : {&b, &d}) {
      EXPECT_EQ(a.step_s, other->step_s);
      EXPECT_EQ(a.breakdown.exposed_comm_s, other->breakdown.exposed_comm_s);
      EXPECT_EQ(a.memory.per_gpu, other->memory.per_gpu);
      EXPECT_EQ(a.scaling.efficiency, other->scaling.efficiency);
    }
  }
}

// Links named in another order, from the other end, or as bundles instead of one by one are the same links.
TEST(Predictions, LinksMayBeNamedInAnyOrder) {
  Rng rng(5);
  int meshes = 0;
  for (int i = 0; i < 2000 && meshes < 100; ++i) {
    Case c = random_case(rng);
    if (c.platform.node.mesh.empty()) continue;
    ++meshes;
    const double step_s = predicted(c).step_s;
    auto& mesh = c.platform.node.mesh;
    for (std::size_t k = mesh.size(); k > 1; --k) std::swap(mesh[k - 1], mesh[rng.below(k)]);
    for (auto& link : mesh) {
      if (rng.below(2) == 0) std::swap(link.a, link.b);
    }
    EXPECT_EQ(predicted(c).step_s, step_s) << described(c);
  }
  EXPECT_GT(meshes, 20);
}

// Two runs of a job, `two` with twice the data-parallel ranks on twice the nodes, without reading and checkpoints. A mesh is left
// out: there a larger group of GPUs has more links a GPU than a pair. So is what collectives take from computation: inside a node they
// use more SMs than across nodes.
struct Doubled {
  Case one, two;
  bool fits = false;
};
Doubled doubled(Rng& rng) {
  Doubled d{random_case(rng), {}, false};
  d.one.job.data.reset();
  d.one.job.checkpoint.reset();
  d.one.job.run = {};
  d.two = d.one;
  d.two.platform.nodes *= 2;
  d.two.platform.fabric.present = true;
  d.two.job.parallelism.dp *= 2;
  d.fits = d.one.platform.node.nics.count > 0 && d.one.platform.node.mesh.empty();
  return d;
}

Prediction without_contention(const Case& c, bool nvls = true) {
  predict::Options options;
  options.effects.contention = false;
  options.collectives.nvls = nvls;
  return *predict::predict(c.job, c.platform, options);
}

// The same batch on twice the GPUs: at best in half the time. Left out are PyTorch's own modules, which store the first micro-batch's
// gradient and add the others: with half as many micro-batches less than half is added.
TEST(Predictions, TwiceTheGpusNeverMoreThanHalveTheStep) {
  Rng rng(6);
  for (int i = 0; i < kCases; ++i) {
    Doubled d = doubled(rng);
    if (!d.fits || workload::behaviour_of(d.one.job, d.one.platform.node.gpu.generation).library_modules) continue;
    d.one.job.batch.global *= 2;
    d.two.job.batch.global = d.one.job.batch.global;
    EXPECT_GE(2 * without_contention(d.two).step_s * kLastBits, without_contention(d.one).step_s) << described(d.one);
  }
}

// The same work a GPU on twice the GPUs: with gradients to exchange a step is never shorter. Left out is what does get faster with more
// ranks: a sharded optimizer (each updates less), buckets that grow with the ranks, and sums inside the switch ((1 + 1/n) bytes a byte).
TEST(Predictions, MoreReplicasOfTheSameWorkNeverTakeLess) {
  Rng rng(7);
  for (int i = 0; i < kCases; ++i) {
    Doubled d = doubled(rng);
    if (!d.fits) continue;
    d.one.job.parallelism.sharding = d.two.job.parallelism.sharding = workload::Sharding::none;
    d.two.job.batch.global *= 2;
    if (workload::behaviour_of(d.one.job, d.one.platform.node.gpu.generation).bucket_grows) continue;
    const Prediction a = without_contention(d.one, false), b = without_contention(d.two, false);
    EXPECT_GE(b.step_s * kLastBits, a.step_s) << described(d.one);
    EXPECT_LE(b.scaling.efficiency, a.scaling.efficiency * (1 + 1e-12)) << described(d.one);
  }
}

TEST(Predictions, MemoryRisesWithWhatIsKeptAndFallsWithWhatIsShared) {
  Rng rng(8);
  for (int i = 0; i < kCases; ++i) {
    const Case c = random_case(rng);
    const auto bytes = [](const workload::Job& job) { return workload::memory_of(job, workload::memory_rules(job)).total(); };
    const Bytes base = bytes(c.job);
    workload::Job job = c.job;
    job.batch.micro *= 2, job.batch.global *= 2;
    EXPECT_GE(bytes(job), base) << "micro-batch: " << described(c);
    job = c.job;
    job.batch.sequence *= 2;
    EXPECT_GE(bytes(job), base) << "sequence: " << described(c);
    job = c.job;
    job.model.towers[0].layers += job.parallelism.pp * job.parallelism.vpp * std::max(1, job.model.towers[0].experts.every);
    EXPECT_GT(bytes(job), base) << "layers: " << described(c);
    job = c.job;
    job.batch.global *= 2;  // more than one micro-batch: gradients are there when activations are
    job.recompute = workload::Recompute::none;
    const Bytes none = bytes(job);
    job.recompute = workload::Recompute::selective;
    const Bytes selective = bytes(job);
    job.recompute = workload::Recompute::full, job.recompute_share = 1;
    EXPECT_LE(selective - workload::memory_of(job, workload::memory_rules(job)).fragmentation, none) << "selective: " << described(c);
    EXPECT_LE(bytes(job) - workload::memory_of(job, workload::memory_rules(job)).fragmentation, none) << "full: " << described(c);
    job = c.job;
    job.parallelism.dp *= 2, job.batch.global *= 2;
    // Every rank of a contrastive model compares its samples with the whole batch.
    if (c.job.parallelism.dp > 1 && job.model.kind != workload::Model::Kind::contrastive) {
      EXPECT_LE(bytes(job), base) << "dp: " << described(c);
    }
  }
}

}  // namespace trunkline::property
