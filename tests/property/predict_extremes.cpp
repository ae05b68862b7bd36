// Whatever a file may state, however absurd: a prediction is refused in words, or its times are whole, not negative, and more work or
// less bandwidth never makes any of them shorter.
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "predict/prediction.hpp"

namespace trunkline::property {
namespace {

using predict::Prediction;

// Values of one key, from what makes a step quick to what makes it slow; the ends are at the bounds that the readers set.
struct Ladder {
  const char* key;
  std::vector<const char*> values;
  bool step_only = false;  // an epoch has fewer steps of a larger batch, and rare checkpoints cost more in failures
};

const std::vector<Ladder>& job_ladders() {
  static const std::vector<Ladder> all = {
      {"batch.sequence", {"128", "4096", "131072", "10000000"}},
      {"batch.global", {"64", "4096", "65536", "99999744"}, true},
      {"model.layers", {"4", "32", "1000", "10000"}},
      {"model.ffn", {"1024", "16384", "9999360"}},
      {"model.vocab", {"1000", "32000", "100000000"}},
      {"data.samples", {"1", "1e6", "1e15"}},
      {"data.bytes_per_sample", {"1 B", "1 MB", "1 TB"}},
      {"checkpoint.every", {"9000000000000000 steps", "1000 steps", "1 step"}, true},
      {"run.steps", {"1", "1000", "1e15"}},
  };
  return all;
}

const std::vector<Ladder>& platform_ladders() {
  static const std::vector<Ladder> all = {
      {"fabric.rate", {"100 TB/s", "400 Gb/s", "1 Gb/s", "1 Mb/s"}},
      {"node.nics.efficiency", {"1", "0.9", "0.001"}},
      {"node.gpu_links.bandwidth", {"450 GB/s", "1 GB/s", "1 Mb/s"}},
      {"node.pcie_bandwidth", {"50 GB/s", "1 GB/s", "1 Mb/s"}},
      {"node.uplink_bandwidth", {"100 TB/s", "50 GB/s", "1 Mb/s"}},
      {"node.socket_bandwidth", {"100 TB/s", "20 GB/s", "1 Mb/s"}},
      {"node.memory_bandwidth", {"100 TB/s", "100 GB/s", "1 Mb/s"}},
      {"ingest.line", {"1000 TB/s", "10 Gb/s", "1 KB/s"}},
      {"ingest.efficiency", {"1", "0.9", "0.001"}},
      {"storage.volume.read", {"1000 TB/s", "8 GB/s", "1 KB/s"}},
      {"storage.volume.write", {"1000 TB/s", "8 GB/s", "1 KB/s"}},
      {"storage.volume.iops", {"1e12", "1e5", "1"}},
      {"reliability.node_mtbf", {"1e9 days", "4000 h", "1 min"}},
      {"reliability.restart", {"0 s", "10 min", "365 days"}},
  };
  return all;
}

const std::vector<std::string>& parallelisms() {
  static const std::vector<std::string> all = {"{tp: 8, dp: auto}",
                                               "{pp: 4, dp: auto}",
                                               "{pp: 2, vpp: 2, dp: auto}",
                                               "{pp: 4, dp: auto, schedule: zero-bubble-2p}",
                                               "{dp: auto, sharding: zero3}",
                                               "{cp: 4, dp: auto, sharding: zero1}",
                                               "auto"};
  return all;
}

// Which step of each ladder; -1 = the key stays out.
struct Case {
  std::vector<int> job, platform;
  std::string parallelism;
};

void climb(const std::vector<Ladder>& ladders, const std::vector<int>& steps, io::Value& document) {
  const auto file = std::make_shared<const std::string>("case.yaml");
  for (std::size_t i = 0; i < ladders.size(); ++i) {
    if (steps[i] < 0) continue;
    const std::string text = ladders[i].values[std::size_t(steps[i])];
    ASSERT_TRUE(document.set(ladders[i].key, io::Value::scalar(file, 1, text)));
  }
}

Result<Prediction> predicted(const Case& c) {
  io::Value job = *io::parse_yaml(
      "model: {layers: 8, hidden: 2048, heads: 16, kv_heads: 16, ffn: 8192, vocab: 32000, gated: true, norm: rms, positions: rotary, "
      "tied: false}\n"
      "training: {framework: megatron}\n"
      "batch: {global: 64, micro: 1, sequence: 2048}\n"
      "parallelism: " +
          c.parallelism +
          "\n"
          "data: {samples: 1e5, bytes_per_sample: 16 KB, source: ingest, staging: before}\n"
          "checkpoint: {every: 1000 steps, to: volume, mode: sync}\n"
          "run: {steps: 1000}\n",
      "job.yaml");
  io::Value platform = *io::parse_yaml(
      "node: {type: hgx-h100, count: 2}\n"
      "fabric: {kind: infiniband, rate: 400 Gb/s}\n"
      "ingest: {line: 10 Gb/s, efficiency: 0.9}\n"
      "storage: {volume: {write: 8 GB/s, read: 8 GB/s, iops: 120000, price: 0.5 CNY/GB/month}}\n"
      "price: {amount: 12 CNY, per: gpu-hour}\n",
      "platform.yaml");
  climb(job_ladders(), c.job, job);
  climb(platform_ladders(), c.platform, platform);
  TRUNKLINE_ASSIGN(read, workload::job_from(job, ""));
  TRUNKLINE_ASSIGN(machine, topology::platform_from(platform));
  return predict::predict(read, machine);
}

std::vector<int> random_steps(Rng& rng, const std::vector<Ladder>& ladders) {
  std::vector<int> steps;
  for (const Ladder& ladder : ladders) steps.push_back(rng.below(2) == 0 ? -1 : int(rng.below(ladder.values.size())));
  return steps;
}

std::string words(const Case& c) {
  std::string out = "parallelism=" + c.parallelism;
  const auto add = [&](const std::vector<Ladder>& ladders, const std::vector<int>& steps, const char* prefix) {
    for (std::size_t i = 0; i < ladders.size(); ++i) {
      if (steps[i] >= 0) out += std::string(" ") + prefix + ladders[i].key + "=" + ladders[i].values[std::size_t(steps[i])];
    }
  };
  add(job_ladders(), c.job, "");
  add(platform_ladders(), c.platform, "platform.");
  return out;
}

void expect_sound(const Prediction& p, const std::string& what) {
  const auto& b = p.breakdown;
  EXPECT_EQ(b.sum(), p.step_s);
  for (const double part : {b.compute_s, b.exposed_comm_s, b.bubble_s, b.data_wait_s, b.checkpoint_s, b.other_s})
    EXPECT_TRUE(std::isfinite(part) && part >= 0) << part << ": " << what;
  EXPECT_GT(p.step_s, 0) << what;
  EXPECT_GT(p.memory.per_gpu.count(), 0) << what;
  EXPECT_GT(p.scaling.speedup, 0) << what;
  EXPECT_TRUE(p.mfu > 0 && p.hfu >= p.mfu) << what;
  EXPECT_TRUE(p.bottleneck.share >= 0 && p.bottleneck.share <= 1 + 1e-9) << p.bottleneck.share << ": " << what;
  if (p.epoch) {
    EXPECT_TRUE(std::isfinite(p.epoch->s) && p.epoch->s > 0) << what;
  }
  if (p.run) {
    EXPECT_GT(p.run->total_s, 0) << what;
  }
  if (p.cost) {
    EXPECT_TRUE(std::isfinite(p.cost->amount) && p.cost->amount >= 0) << what;
  }
  if (p.storage_cost) {
    EXPECT_TRUE(std::isfinite(p.storage_cost->amount) && p.storage_cost->amount >= 0) << what;
  }
}

// Moves one key of `c` one step towards slow; nothing where there is none to move.
const Ladder* slow_down(Rng& rng, Case& c) {
  const bool of_job = rng.below(2) == 0;
  const auto& ladders = of_job ? job_ladders() : platform_ladders();
  auto& steps = of_job ? c.job : c.platform;
  const std::size_t i = rng.below(ladders.size());
  if (steps[i] < 0 || steps[i] + 1 >= int(ladders[i].values.size())) return nullptr;
  ++steps[i];
  return &ladders[i];
}

constexpr double kLastBits = 1 - 1e-12;

}  // namespace

TEST(Extremes, NoAcceptedValuesGiveANegativeOrWrappedTime) {
  constexpr int kCases = 2000;
  Rng rng(20261130);
  int predictions = 0, too_long = 0, pairs = 0;
  for (int i = 0; i < kCases; ++i) {
    Case quick{random_steps(rng, job_ladders()), random_steps(rng, platform_ladders()), parallelisms()[rng.below(parallelisms().size())]};
    const auto before = predicted(quick);
    if (!before) {
      ASSERT_FALSE(before.error().message.empty());
      too_long += before.error().message.find("longer than 106 days") != std::string::npos;
      continue;
    }
    ++predictions;
    expect_sound(*before, words(quick));
    Case slow = quick;
    const Ladder* moved = slow_down(rng, slow);
    if (!moved) continue;
    const auto after = predicted(slow);
    if (!after) continue;
    ++pairs;
    const std::string what = words(quick) + "\n  against " + words(slow);
    EXPECT_GE(after->step_s, before->step_s * kLastBits) << what;
    if (moved->step_only) continue;
    if (before->epoch && after->epoch) {
      EXPECT_GE(after->epoch->s, before->epoch->s * kLastBits) << what;
    }
    if (before->run && after->run) {
      EXPECT_GE(after->run->total_s, before->run->total_s * kLastBits) << what;
    }
  }
  EXPECT_GT(predictions, kCases / 4);  // or it says nothing
  EXPECT_GT(too_long, kCases / 100);
  EXPECT_GT(pairs, kCases / 20);
}

}  // namespace trunkline::property
