#include "predict/epoch.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::predict {

using workload::DataSource;
using workload::Staging;

namespace {

double ingest_rate(const topology::Platform& platform) { return platform.ingest ? platform.ingest->line.si() * platform.ingest->efficiency : 0; }

// Bytes per second at which all nodes together can read training data in steady state; 0 = not stated.
double read_rate(const workload::Data& data, const topology::Platform& platform) {
  const bool straight = data.staging == Staging::none && data.source == DataSource::ingest;
  if (straight) return ingest_rate(platform);
  if (data.source == DataSource::volume && platform.volume) return platform.volume->read.si();
  if (data.source == DataSource::local && platform.node.local_disk) return platform.node.local_disk->read.si() * platform.nodes;
  // Staged data is read from where it was put: the shared volume where there is one, else each node's disk.
  if (platform.volume) return platform.volume->read.si();
  if (platform.node.local_disk) return platform.node.local_disk->read.si() * platform.nodes;
  return 0;
}

double staged_write_rate(const topology::Platform& platform) {
  if (platform.volume) return platform.volume->write.si();
  if (platform.node.local_disk) return platform.node.local_disk->write.si() * platform.nodes;
  return 0;
}

double step_without_stalls(const Breakdown& b) { return b.compute_s + b.exposed_comm_s + b.bubble_s + b.other_s; }

// What a checkpoint holds: 16-bit weights, fp32 master weights and two moments (or the frozen weights' adapters only).
double checkpoint_bytes(const workload::Job& job) {
  const double parameters = job.model.parameters();
  if (job.kind != workload::TrainingKind::full) return parameters * 0.01 * 14;
  return parameters * (2 + 12);
}

double write_rate(const workload::Checkpoint& c, const topology::Platform& platform) {
  if (c.to == workload::CheckpointTarget::volume) return platform.volume ? platform.volume->write.si() : 0;
  return platform.node.local_disk ? platform.node.local_disk->write.si() * platform.nodes : 0;
}

double checkpoint_stall(const workload::Job& job, const topology::Platform& platform, double step_s, std::vector<std::pair<std::string, std::string>>& assumed) {
  const auto& c = *job.checkpoint;
  const double rate = write_rate(c, platform);
  if (rate <= 0) {
    assumed.emplace_back("checkpoint", "no write rate is stated for its target: its cost is left out");
    return 0;
  }
  const double bytes = checkpoint_bytes(job), persist = bytes / rate;
  const double every = double(std::max<std::int64_t>(1, c.every_steps));
  if (c.mode == workload::CheckpointMode::sync) return persist / every;
  const double snapshot = bytes / platform.gpus() / std::max(1e9, platform.node.pcie_bandwidth.si());
  return (snapshot + std::max(0.0, persist - every * step_s)) / every;
}

}  // namespace

void add_data_and_checkpoint(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  const double step_s = step_without_stalls(p.breakdown);
  if (job.data) {
    const double bytes = double(job.data->bytes_per_sample.count()) * double(job.batch.global);
    const double rate = read_rate(*job.data, platform);
    if (rate > 0) p.breakdown.data_wait_s = std::max(0.0, bytes / rate - step_s);
    else p.assumed.emplace_back("data", "the platform states no read rate for the data's source: reading is taken as free");
  }
  if (job.checkpoint && job.checkpoint->every_steps > 0) p.breakdown.checkpoint_s = checkpoint_stall(job, platform, step_s, p.assumed);
}

void add_epoch_and_cost(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  if (platform.price) {
    const double units = platform.price->per_gpu ? platform.gpus() : platform.nodes;
    p.hour = Money{platform.price->amount.amount * units, platform.price->amount.currency};
  }
  double staging = 0;
  bool before = false;
  if (job.data && job.data->samples > 0) {
    Epoch e;
    e.steps = std::ceil(job.data->samples / double(job.batch.global));
    const double train = e.steps * p.step_s;
    const double bytes = job.data->samples * double(job.data->bytes_per_sample.count());
    const double in = ingest_rate(platform), out = staged_write_rate(platform);
    if (job.data->source == DataSource::ingest && job.data->staging != Staging::none && in > 0) {
      staging = bytes / (out > 0 ? std::min(in, out) : in);
      before = job.data->staging == Staging::before;
    }
    e.staging_s = staging;
    e.s = before ? staging + train : std::max(staging, train);
    e.compute_s = e.steps * p.breakdown.compute_s;
    e.sync_s = e.steps * p.breakdown.exposed_comm_s;
    e.rest_s = e.s - e.compute_s - e.sync_s - (before ? staging : 0);
    e.per_week = 7 * 86400.0 / e.s;
    p.epoch = e;
  }
  double steps = 0;
  if (job.run.steps) steps = *job.run.steps;
  else if (job.run.tokens && p.tokens_per_s > 0) steps = std::ceil(*job.run.tokens / (p.tokens_per_s * p.step_s));
  else if (job.run.epochs && p.epoch) steps = *job.run.epochs * p.epoch->steps;
  if (steps <= 0) return;
  JobTime t;
  t.steps = steps;
  const double train = steps * p.step_s;
  const double first_epoch = p.epoch ? std::min(steps, p.epoch->steps) * p.step_s : 0;
  t.train_s = before ? staging + train : std::max(staging, first_epoch) + train - first_epoch;
  const auto& r = platform.reliability;
  if (r.node_mtbf && r.node_mtbf->si() > 0) {
    const double failures = t.train_s * platform.nodes / r.node_mtbf->si();
    const double interval = job.checkpoint && job.checkpoint->every_steps > 0 ? double(job.checkpoint->every_steps) * p.step_s : train;
    t.failure_s = failures * (0.5 * std::min(interval, train) + (r.restart ? r.restart->si() : 0));
  }
  t.total_s = t.train_s + t.failure_s;
  p.run = t;
  if (p.hour) p.cost = Money{p.hour->amount * t.total_s / 3600, p.hour->currency};
}

}  // namespace trunkline::predict
