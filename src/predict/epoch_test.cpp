#include "predict/epoch.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "io/value.hpp"

namespace trunkline::predict {
namespace {

topology::Platform platform_of(const std::string& rest) {
  const auto value =
      io::parse_yaml("name: test\nnode: {type: hgx-a100-80, count: 2, local_disk: {read: 4 GB/s, write: 2 GB/s, capacity: 1 TB}}\n" + rest,
                     "platform.yaml");
  const auto platform = topology::platform_from(*value);
  if (!platform) throw std::runtime_error(platform.error().text());
  return *platform;
}

workload::Job job_of(const std::string& rest,
                     const std::string& training = "{kind: full, framework: megatron, precision: bf16, recompute: full}") {
  const auto value =
      io::parse_yaml("model: llama-2-7b\ntraining: " + training +
                         "\nbatch: {global: 64, micro: 1, sequence: 4096}\nparallelism: {tp: 8, pp: 1, dp: auto, sharding: zero1}\n" + rest,
                     "job.yaml");
  const auto job = workload::job_from(*value, ".");
  if (!job) throw std::runtime_error(job.error().text());
  return *job;
}

Prediction predicted(const std::string& job, const std::string& platform) {
  const auto p = predict(job_of(job), platform_of(platform));
  if (!p) throw std::runtime_error(p.error().text());
  return *p;
}

bool says(const Prediction& p, const std::string& key, const std::string& word) {
  for (const auto& [what, taken] : p.assumed) {
    if (what == key && taken.find(word) != std::string::npos) return true;
  }
  return false;
}

workload::Data data_of(std::int64_t bytes, bool packed) {
  workload::Data d;
  d.samples = 1e6;
  d.bytes_per_sample = Bytes(bytes);
  d.source = workload::DataSource::volume;
  d.packed = packed;
  return d;
}

// Reading.

TEST(Reading, ThePrefetchedBatchShowsOnlyWhereItOutlastsTheStep) {
  EXPECT_EQ(data_wait_s(2, 1.5), 0);
  EXPECT_EQ(data_wait_s(2, 2), 0);
  EXPECT_EQ(data_wait_s(2, 5), 3);  // T = max(2, 5)
}

TEST(Reading, BandwidthOverTheSampleSize) {
  const auto p = platform_of("storage: {volume: {read: 8 GB/s, write: 8 GB/s}}\n");
  const ReadPath path = read_path(data_of(100'000, true), p);
  EXPECT_DOUBLE_EQ(path.samples_per_s, 80'000);
  EXPECT_FALSE(path.by_requests);
  EXPECT_EQ(path.from, "the storage volume");
}

// 120,000 operations and 8 GB/s meet at 65 KiB: a sample of 28.5 KB in a file of its own gets 120,000 a second (3.4 GB/s),
// packed ones share requests of 256 KiB and get the full 8 GB/s.
TEST(Reading, RequestsLimitSmallFilesNotPackedOnes) {
  const auto p = platform_of("storage: {volume: {read: 8 GB/s, write: 8 GB/s, iops: 120000}}\n");
  const ReadPath files = read_path(data_of(28'500, false), p);
  EXPECT_DOUBLE_EQ(files.samples_per_s, 120'000);
  EXPECT_TRUE(files.by_requests);
  const ReadPath packed = read_path(data_of(28'500, true), p);
  EXPECT_DOUBLE_EQ(packed.samples_per_s, 8e9 / 28'500);
  EXPECT_FALSE(packed.by_requests);
  const ReadPath large = read_path(data_of(1 << 20, false), p);  // 4 requests each, 30,000 samples/s: bandwidth allows 7,629
  EXPECT_FALSE(large.by_requests);
}

TEST(Reading, FromWhereTheJobSays) {
  const auto p = platform_of("storage: {volume: {read: 8 GB/s, write: 8 GB/s}}\ningest: {line: 10 Gb/s, efficiency: 0.8}\n");
  workload::Data d = data_of(1000, true);
  d.source = workload::DataSource::local;
  EXPECT_DOUBLE_EQ(read_path(d, p).samples_per_s, 2 * 4e9 / 1000);  // two nodes' disks
  d.source = workload::DataSource::ingest;
  d.staging = workload::Staging::none;
  EXPECT_DOUBLE_EQ(read_path(d, p).samples_per_s, 1e9 / 1000);  // 10 Gb/s × 0.8
  d.staging = workload::Staging::before;
  EXPECT_DOUBLE_EQ(read_path(d, p).samples_per_s, 8e9 / 1000);  // staged to the volume
  EXPECT_EQ(read_path(d, platform_of("ingest: {line: 10 Gb/s}\n")).from, "local disks");
}

TEST(Reading, AVolumeThatStatesNothingIsSaidNotAssumed) {
  const Prediction p = predicted("data: {samples: 1e6, bytes_per_sample: 1 MB, source: volume, staging: none}\n", "");
  EXPECT_EQ(p.breakdown.data_wait_s, 0);
  EXPECT_TRUE(says(p, "data", "not modelled, as free: no storage.volume given"));
}

TEST(Reading, TheStepIsTheLongerOfComputingAndReading) {
  const std::string data = "data: {samples: 1e6, bytes_per_sample: 100 MB, source: volume, staging: none}\n";
  const double free_s = predicted("", "").step_s;
  double last = std::numeric_limits<double>::infinity();
  for (const char* rate : {"100 MB/s", "1 GB/s", "10 GB/s", "1000 GB/s"}) {
    const Prediction p = predicted(data, fmt::format("storage: {{volume: {{read: {0}, write: {0}}}}}\n", rate));
    const double read_s = 64 * 100e6 / platform_of(fmt::format("storage: {{volume: {{read: {0}, write: {0}}}}}\n", rate)).volume->read.si();
    EXPECT_NEAR(p.step_s, std::max(free_s, read_s), 1e-9 * p.step_s) << rate;
    EXPECT_LE(p.step_s, last);  // more bandwidth never slows
    last = p.step_s;
  }
}

// Checkpoints.

TEST(Checkpoints, BytesAreThoseOfTheTrainedParameters) {
  const double parameters = job_of("").model.parameters();
  EXPECT_DOUBLE_EQ(workload::checkpoint_bytes(job_of("")), 14 * parameters);  // bf16 weight, fp32 master, two fp32 moments
  const std::string fp32 = "{kind: full, framework: pytorch-fsdp, precision: {compute: bf16, parameters: fp32, optimizer: fp32}}";
  EXPECT_DOUBLE_EQ(workload::checkpoint_bytes(job_of("", fp32)), 12 * parameters);
  const std::string lion = "{kind: full, framework: megatron, precision: bf16, optimizer: lion}";
  EXPECT_DOUBLE_EQ(workload::checkpoint_bytes(job_of("", lion)), 10 * parameters);  // one moment
  // Rank 8 on attention alone: 32 layers × 4 matrices × 8 × (4096 + 4096) = 8.39 M adapter parameters, whatever the model holds.
  const std::string lora = "{kind: lora, framework: megatron, precision: bf16, lora: {rank: 8, targets: attention}}";
  EXPECT_DOUBLE_EQ(workload::checkpoint_bytes(job_of("", lora)), 14.0 * 32 * 4 * 8 * 8192);
}

TEST(Checkpoints, ASynchronousOneStopsTrainingWhileItIsWritten) {
  const auto platform = platform_of("storage: {volume: {read: 4 GB/s, write: 2 GB/s}}\n");
  workload::Job job = job_of("checkpoint: {every: 100 steps, to: volume, mode: sync}\n");
  job.parallelism.dp = 2;
  const auto c = checkpointing_of(job, platform, 3);
  ASSERT_TRUE(c);
  const double bytes = 14 * job.model.parameters();
  EXPECT_DOUBLE_EQ(c->write_s, bytes / 2e9);
  EXPECT_DOUBLE_EQ(c->read_s, bytes / 4e9);
  EXPECT_DOUBLE_EQ(c->stall_s, c->write_s);
  EXPECT_DOUBLE_EQ(c->interval_s, 300 + c->write_s);
}

TEST(Checkpoints, AnAsynchronousOneStopsForTheSnapshotAndWhatOutlastsTheInterval) {
  const auto platform = platform_of("storage: {volume: {read: 4 GB/s, write: 2 GB/s}}\n");
  workload::Job job = job_of("checkpoint: {every: 100 steps, to: volume, mode: async}\n");
  job.parallelism.dp = 2;
  const auto slow = checkpointing_of(job, platform, 3);
  EXPECT_DOUBLE_EQ(slow->stall_s, slow->snapshot_s);  // 47 s of writing fit into 300
  EXPECT_LT(slow->snapshot_s, 1);                     // 94 GB over 16 GPUs' PCIe
  const auto quick = checkpointing_of(job, platform, 0.1);
  EXPECT_DOUBLE_EQ(quick->stall_s, quick->snapshot_s + quick->write_s - 10);  // 10 s of interval hide 10 s
}

TEST(Checkpoints, LocalDisksOfTheNodesThatWrite) {
  const auto platform = platform_of("");
  workload::Job job = job_of("checkpoint: {every: 100 steps, to: local, mode: sync}\n");
  job.parallelism.dp = 2;
  const double bytes = 14 * job.model.parameters();
  EXPECT_DOUBLE_EQ(checkpointing_of(job, platform, 1)->write_s, bytes / 4e9);  // sharded optimizer: both nodes write
  job.parallelism.sharding = workload::Sharding::none;
  EXPECT_DOUBLE_EQ(checkpointing_of(job, platform, 1)->write_s, bytes / 2e9);  // one copy: the first node does
  job.parallelism.sharding = workload::Sharding::hsdp;
  job.parallelism.shard_group = 1;
  EXPECT_EQ(writing_nodes(job.parallelism, platform), 1);
}

TEST(Checkpoints, NoWriteRateIsSaid) {
  const Prediction p = predicted("checkpoint: {every: 10 steps, to: volume, mode: sync}\n", "");
  EXPECT_EQ(p.breakdown.checkpoint_s, 0);
  EXPECT_FALSE(p.checkpoint);
  EXPECT_TRUE(says(p, "checkpoint", "not modelled, as free: no storage.volume given"));
}

TEST(Checkpoints, TheStepCarriesItsPart) {
  const Prediction p =
      predicted("checkpoint: {every: 50 steps, to: volume, mode: sync}\n", "storage: {volume: {read: 4 GB/s, write: 2 GB/s}}\n");
  EXPECT_DOUBLE_EQ(p.breakdown.checkpoint_s, p.checkpoint->stall_s / 50);
  EXPECT_DOUBLE_EQ(p.step_s, p.breakdown.sum());
  EXPECT_NEAR(p.checkpoint->interval_s, 50 * p.step_s, 1e-9 * p.checkpoint->interval_s);
}

// Failures.

TEST(Failures, ExpectedLossIncludesFailuresDuringLostTime) {
  EXPECT_DOUBLE_EQ(failure_loss_s(1000, 100, 0), 0);
  EXPECT_DOUBLE_EQ(failure_loss_s(1000, 100, 1), 1000 * 0.01 / 0.99);  // total T = 1000 + T/100 · 1
  EXPECT_TRUE(std::isinf(failure_loss_s(1000, 100, 100)));             // lost as fast as trained
  EXPECT_EQ(failure_loss_s(1000, 0, 1), 0);                            // no failures stated
}

// d/dτ of cost/τ + τ/(2·mtbf) is zero at √(2·mtbf·cost).
TEST(Failures, TheSuggestedIntervalMinimisesStallsAndLostWork) {
  Checkpointing c;
  c.least_stall_s = 30;
  const double mtbf = 40'000, best = best_interval_s(mtbf, c);
  EXPECT_DOUBLE_EQ(best, std::sqrt(2 * 40'000.0 * 30));
  const auto lost = [&](double interval) { return c.least_stall_s / interval + interval / (2 * mtbf); };
  EXPECT_LT(lost(best), lost(best * 1.05));
  EXPECT_LT(lost(best), lost(best / 1.05));
  c.write_s = 5000;  // an asynchronous write must be done before the next
  EXPECT_EQ(best_interval_s(mtbf, c), 5000);
}

TEST(Failures, OfARun) {
  const std::string job = "checkpoint: {every: 50 steps, to: volume, mode: sync}\nrun: {steps: 100000}\n";
  const std::string storage = "storage: {volume: {read: 4 GB/s, write: 2 GB/s}}\n";
  const Prediction p = predicted(job, storage + "reliability: {node_mtbf: 2000 h, restart: 10 min}\n");
  ASSERT_TRUE(p.run);
  const double mtbf = 2000 * 3600.0 / 2;  // of two nodes
  const double loss = p.checkpoint->interval_s / 2 + 600 + p.checkpoint->read_s;
  EXPECT_DOUBLE_EQ(p.run->loss_each_s, loss);
  EXPECT_DOUBLE_EQ(p.run->failure_s, p.run->train_s * loss / mtbf / (1 - loss / mtbf));
  EXPECT_NEAR(p.run->failures, p.run->total_s / mtbf, 1e-9 * p.run->failures);
  EXPECT_DOUBLE_EQ(p.run->total_s, p.run->train_s + p.run->failure_s);
  const double best = std::sqrt(2 * mtbf * p.checkpoint->stall_s);
  EXPECT_NEAR(p.checkpoint->best_every_steps, best / (p.step_s - p.breakdown.checkpoint_s), 0.5);
  EXPECT_EQ(predicted(job, storage).run->failure_s, 0);  // nothing stated, nothing invented
}

TEST(Failures, AJobThatLosesMoreThanItTrainsDoesNotEnd) {
  const Prediction p =
      predicted("run: {steps: 10000000}\n", "price: {amount: 12 CNY, per: gpu-hour}\nreliability: {node_mtbf: 10 h, restart: 10 min}\n");
  EXPECT_TRUE(std::isinf(p.run->total_s));
  EXPECT_FALSE(p.cost);
  EXPECT_TRUE(says(p, "failures", "never finishes"));
}

// Epochs.

const char* const kIngest = "ingest: {line: 10 Gb/s, efficiency: 0.8}\nstorage: {volume: {read: 8 GB/s, write: 8 GB/s}}\n";  // 1 GB/s

std::string staged(const char* how) {
  return fmt::format("data: {{samples: 1e6, bytes_per_sample: 1 MB, source: ingest, staging: {}}}\nrun: {{epochs: 3}}\n", how);
}

void expect_parts_add_up(const Epoch& e) {
  EXPECT_DOUBLE_EQ(e.s, e.staging_s - e.staging_hidden_s + e.compute_s + e.sync_s + e.rest_s);
  EXPECT_GE(e.rest_s, 0);
  EXPECT_LE(e.staging_hidden_s, e.staging_s);
}

TEST(Epochs, StagingBeforeTrainingAddsUp) {
  const Prediction p = predicted(staged("before"), kIngest);
  const Epoch& e = *p.epoch;
  EXPECT_DOUBLE_EQ(e.steps, 15625);
  EXPECT_DOUBLE_EQ(e.staging_s, 1000);  // 1 TB at 1 GB/s
  EXPECT_EQ(e.staging_hidden_s, 0);
  EXPECT_NEAR(e.s, 1000 + e.steps * p.step_s, 1e-9 * e.s);
  expect_parts_add_up(e);
  EXPECT_NEAR(p.run->train_s, 1000 + 3 * e.later_s, 1e-9 * p.run->train_s);  // staged once
  EXPECT_NEAR(e.per_week, 1 + (7 * 86400 - e.s) / e.later_s, 1e-9);
}

TEST(Epochs, StagingBesideTrainingTakesTheLongerOfTheTwo) {
  const Prediction p = predicted(staged("overlap"), kIngest);
  EXPECT_NEAR(p.epoch->s, std::max(1000.0, p.epoch->later_s), 1e-9 * p.epoch->s);
  expect_parts_add_up(*p.epoch);
  const Prediction slow =
      predicted(staged("overlap"), "ingest: {line: 10 Mb/s, efficiency: 0.8}\nstorage: {volume: {read: 8 GB/s, write: 8 GB/s}}\n");
  EXPECT_NEAR(slow.epoch->s, 1e6, 1);  // staging cannot keep up
  expect_parts_add_up(*slow.epoch);
  EXPECT_NEAR(slow.run->train_s, 1e6 + 2 * slow.epoch->later_s, 1);
}

TEST(Epochs, WithoutStagingEveryEpochReadsOverTheLine) {
  const Prediction p = predicted(staged("none"), "ingest: {line: 10 Mb/s, efficiency: 0.8}\n");  // 1 MB/s for 64 MB a step
  EXPECT_EQ(p.epoch->staging_s, 0);
  EXPECT_NEAR(p.step_s, 64, 1e-6);
  EXPECT_NEAR(p.epoch->rest_s, p.epoch->steps * (p.breakdown.data_wait_s + p.breakdown.bubble_s + p.breakdown.other_s), 1e-6);
  expect_parts_add_up(*p.epoch);
}

TEST(Epochs, StagingIsNoFasterThanWhatWritesIt) {
  const Prediction p =
      predicted(staged("before"), "ingest: {line: 100 Gb/s, efficiency: 0.8}\nstorage: {volume: {read: 8 GB/s, write: 500 MB/s}}\n");
  EXPECT_DOUBLE_EQ(p.epoch->staging_s, 2000);
  double last = std::numeric_limits<double>::infinity();
  for (int gbit = 1; gbit <= 1024; gbit *= 2) {  // more line never slows
    const double s =
        predicted(staged("before"),
                  fmt::format("ingest: {{line: {} Gb/s, efficiency: 0.8}}\nstorage: {{volume: {{read: 8 GB/s, write: 8 GB/s}}}}\n", gbit))
            .epoch->s;
    EXPECT_LE(s, last);
    last = s;
  }
}

TEST(Epochs, ADatasetTooLargeForTheDisksIsSaid) {
  const std::string large = "data: {samples: 1e7, bytes_per_sample: 1 MB, source: ingest, staging: before}\n";  // 10 TB, two disks of 1 TB
  EXPECT_TRUE(says(predicted(large, "ingest: {line: 10 Gb/s}\n"), "staging", "does not fit local disks"));
  EXPECT_FALSE(says(predicted(large, kIngest), "staging", "does not fit"));
  EXPECT_TRUE(says(predicted(large, ""), "staging", "no ingest line"));
}

// Money.

TEST(Cost, HoursOfAllGpusOrNodes) {
  const std::string run = "run: {steps: 1000}\n";
  const Prediction gpu = predicted(run, "price: {amount: 12 CNY, per: gpu-hour}\n");
  EXPECT_DOUBLE_EQ(gpu.hour->amount, 12 * 16);
  EXPECT_DOUBLE_EQ(gpu.cost->amount, 12 * 16 * gpu.run->total_s / 3600);
  const Prediction node = predicted(run, "price: {amount: 90 USD, per: node-hour}\n");
  EXPECT_DOUBLE_EQ(node.hour->amount, 180);
  EXPECT_EQ(node.cost->currency, "USD");
  EXPECT_FALSE(predicted(run, "").cost);
}

TEST(Cost, WhatLiesOnTheVolumeMeanwhile) {
  const Prediction p =
      predicted(staged("before"),
                "ingest: {line: 10 Gb/s, efficiency: 0.8}\nstorage: {volume: {read: 8 GB/s, write: 8 GB/s, price: 0.5 CNY/GB/month}}\n");
  ASSERT_TRUE(p.storage_cost);
  EXPECT_DOUBLE_EQ(p.storage_cost->amount, 0.5 * 1000 * p.run->total_s / (30 * 86400));  // 1 TB
  EXPECT_FALSE(predicted(staged("before"), kIngest).storage_cost);
}

}  // namespace
}  // namespace trunkline::predict
