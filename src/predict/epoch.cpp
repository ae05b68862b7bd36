#include "predict/epoch.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/quantity_text.hpp"

namespace trunkline::predict {

using workload::CheckpointMode;
using workload::CheckpointTarget;
using workload::DataSource;
using workload::Sharding;
using workload::Staging;

namespace {

constexpr double kRequest = 256 * 1024;  // largest I/O that block volumes count as one operation (EBS io2: 256 KiB)
constexpr double kWeek = 7 * 86400.0, kMonth = 30 * 86400.0;

double ingest_rate(const topology::Platform& platform) {
  return platform.ingest ? platform.ingest->line.si() * platform.ingest->efficiency : 0;
}

// The storage that data is read from; zero rates = not stated.
struct Store {
  std::string name;
  double read = 0, write = 0, requests = 0;
  double capacity = 0;  // 0 = not stated
};

Store volume_of(const topology::Platform& platform) {
  if (!platform.volume) return {};
  return {"the storage volume", platform.volume->read.si(), platform.volume->write.si(), platform.volume->iops, 0};
}

Store disks_of(const topology::Platform& platform, int nodes) {
  if (!platform.node.local_disk) return {};
  const auto& disk = *platform.node.local_disk;
  return {"local disks", disk.read.si() * nodes, disk.write.si() * nodes, disk.iops * nodes, double(disk.capacity.count()) * nodes};
}

// Staged data lies on the shared volume where there is one, else on the disks of the nodes, to each its part.
Store staging_store(const topology::Platform& platform) {
  return platform.volume ? volume_of(platform) : disks_of(platform, platform.nodes);
}

Store store_of(const workload::Data& data, const topology::Platform& platform) {
  switch (data.source) {
    case DataSource::volume: return volume_of(platform);
    case DataSource::local: return disks_of(platform, platform.nodes);
    case DataSource::ingest: break;
  }
  if (data.staging == Staging::none) return {platform.ingest ? "the ingest line" : "", ingest_rate(platform), 0, 0, 0};
  return staging_store(platform);
}

double step_without_stalls(const Breakdown& b) { return b.compute_s + b.exposed_comm_s + b.bubble_s + b.other_s; }

// One GPU's way to host memory when all of its node copy at once.
double to_host(const topology::NodeType& node) {
  if (node.host_link.si() > 0) return node.host_link.si();
  const double slot = node.pcie_bandwidth.si();
  if (node.pcie_switches <= 0 || node.uplink_bandwidth.si() <= 0) return slot;
  return std::min(slot, node.uplink_bandwidth.si() * node.pcie_switches / std::max(1, node.gpus));
}

// GPUs that each hold a part of the state that no other writes.
int writing_gpus(const workload::Parallelism& p, const topology::Platform& platform) {
  const int copy = p.tp * p.pp;
  if (p.sharding == Sharding::none) return copy;
  const int replicas = p.dp * p.cp;
  if (p.sharding != Sharding::hsdp) return copy * replicas;
  const int group = p.shard_group > 0 ? p.shard_group : std::max(1, platform.node.gpus / p.tp);
  return copy * std::min(group, replicas);
}

}  // namespace

ReadPath read_path(const workload::Data& data, const topology::Platform& platform) {
  const Store store = store_of(data, platform);
  ReadPath path;
  if (store.read <= 0) return path;
  const double bytes = double(std::max<std::int64_t>(1, data.bytes_per_sample.count()));
  path.from = store.name;
  path.samples_per_s = store.read / bytes;
  if (store.requests <= 0) return path;
  const double requests = data.packed ? bytes / kRequest : std::ceil(bytes / kRequest);
  if (store.requests / requests < path.samples_per_s) {
    path.samples_per_s = store.requests / requests;
    path.by_requests = true;
  }
  return path;
}

double data_wait_s(double compute_s, double read_s) { return std::max(0.0, read_s - compute_s); }

int writing_nodes(const workload::Parallelism& parallelism, const topology::Platform& platform) {
  const int per_node = std::max(1, platform.node.gpus);
  return std::clamp((writing_gpus(parallelism, platform) + per_node - 1) / per_node, 1, std::max(1, platform.nodes));
}

std::optional<Checkpointing> checkpointing_of(const workload::Job& job, const topology::Platform& platform, double step_s) {
  if (!job.checkpoint || job.checkpoint->every_steps <= 0) return std::nullopt;
  const auto& asked = *job.checkpoint;
  const Store target =
      asked.to == CheckpointTarget::volume ? volume_of(platform) : disks_of(platform, writing_nodes(job.parallelism, platform));
  if (target.write <= 0) return std::nullopt;
  Checkpointing c;
  const double bytes = workload::checkpoint_bytes(job);
  c.bytes = scaled(Bytes(1), bytes);
  c.write_s = bytes / target.write;
  c.snapshot_s = bytes / writing_gpus(job.parallelism, platform) / to_host(platform.node);
  c.read_s = target.read > 0 ? bytes / target.read : c.write_s;
  const double training_s = double(asked.every_steps) * step_s;
  if (asked.mode == CheckpointMode::sync) {
    c.least_stall_s = c.stall_s = std::max(c.write_s, c.snapshot_s);
  } else {
    c.least_stall_s = c.snapshot_s;
    c.stall_s = c.snapshot_s + std::max(0.0, c.write_s - training_s);
  }
  c.interval_s = training_s + c.stall_s;
  return c;
}

double best_interval_s(double mtbf_s, const Checkpointing& c) { return std::max(std::sqrt(2 * mtbf_s * c.least_stall_s), c.write_s); }

double failure_loss_s(double train_s, double mtbf_s, double loss_s) {
  if (mtbf_s <= 0) return 0;
  const double x = loss_s / mtbf_s;
  return x < 1 ? train_s * x / (1 - x) : std::numeric_limits<double>::infinity();
}

namespace {

void note(Prediction& p, const char* what, std::string taken) { p.assumed.emplace_back(what, std::move(taken)); }

// What the job asks for and the platform says too little about: its time is missing from the answer.
void leave_out(Prediction& p, const char* what, const std::string& why) {
  p.not_modelled.emplace_back(what, why);
  note(p, what, "not modelled, as free: " + why);
}

// What a platform file would have to say about the source of the data.
std::string missing_source(const workload::Data& data) {
  switch (data.source) {
    case DataSource::volume: return "no storage.volume given";
    case DataSource::local: return "no local disks given";
    case DataSource::ingest: break;
  }
  return data.staging == Staging::none ? "no ingest line given" : "neither storage.volume nor local disks given";
}

void add_data_wait(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  const ReadPath path = read_path(*job.data, platform);
  if (path.samples_per_s <= 0) {
    leave_out(p, "data", missing_source(*job.data));
    return;
  }
  p.breakdown.data_wait_s = data_wait_s(step_without_stalls(p.breakdown), double(job.batch.global) / path.samples_per_s);
  if (path.by_requests) note(p, "data", fmt::format("requests to {} limit reading, not its bandwidth", path.from));
}

// Time to bring the dataset here; 0 where it already is, or stays where it is.
double staging_time(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  const auto& data = *job.data;
  if (data.source != DataSource::ingest || data.staging == Staging::none) return 0;
  const double line = ingest_rate(platform);
  if (line <= 0) {
    leave_out(p, "staging", "no ingest line given");
    return 0;
  }
  const Store store = staging_store(platform);
  const double bytes = data.samples * double(data.bytes_per_sample.count());
  if (store.write <= 0) note(p, "staging", "the platform states no rate for writing staged data: only the ingest line counts");
  if (store.capacity > 0 && bytes > store.capacity)
    note(p, "staging",
         fmt::format("the dataset ({}) does not fit {} ({})", to_text(scaled(Bytes(1), bytes)), store.name,
                     to_text(scaled(Bytes(1), store.capacity))));
  return bytes / (store.write > 0 ? std::min(line, store.write) : line);
}

Epoch epoch_of(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  Epoch e;
  e.steps = std::ceil(job.data->samples / double(job.batch.global));
  const Breakdown& b = p.breakdown;
  e.compute_s = e.steps * b.compute_s;
  e.sync_s = e.steps * b.exposed_comm_s;
  e.rest_s = e.steps * (b.bubble_s + b.data_wait_s + b.checkpoint_s + b.other_s);
  e.later_s = e.compute_s + e.sync_s + e.rest_s;
  e.staging_s = staging_time(job, platform, p);
  if (job.data->staging == Staging::overlap) e.staging_hidden_s = std::min(e.staging_s, e.later_s);
  e.s = e.staging_s - e.staging_hidden_s + e.compute_s + e.sync_s + e.rest_s;
  e.per_week = e.s >= kWeek ? kWeek / e.s : 1 + (kWeek - e.s) / e.later_s;
  return e;
}

double steps_of_run(const workload::Job& job, const Prediction& p) {
  if (job.run.steps) return std::ceil(*job.run.steps);
  if (job.run.tokens && p.tokens_per_s > 0) return std::ceil(*job.run.tokens / (p.tokens_per_s * p.step_s));
  if (job.run.epochs && p.epoch) return std::ceil(*job.run.epochs * p.epoch->steps);
  return 0;
}

// The dataset (where it lies there) and two checkpoints, for as long as the run takes.
std::optional<Money> volume_cost(const workload::Job& job, const topology::Platform& platform, const Prediction& p) {
  if (!platform.volume || !platform.volume->price_per_gb_month) return std::nullopt;
  double bytes = 0;
  const bool staged = job.data && job.data->source == DataSource::ingest && job.data->staging != Staging::none;
  if (job.data && (staged || job.data->source == DataSource::volume))
    bytes += job.data->samples * double(job.data->bytes_per_sample.count());
  if (p.checkpoint && job.checkpoint->to == CheckpointTarget::volume) bytes += 2 * double(p.checkpoint->bytes.count());
  if (bytes <= 0) return std::nullopt;
  const Money& price = *platform.volume->price_per_gb_month;
  return Money{price.amount * bytes * 1e-9 * p.run->total_s / kMonth, price.currency};
}

void add_failures(const topology::Platform& platform, Prediction& p, JobTime& t) {
  const auto& r = platform.reliability;
  if (!r.node_mtbf || r.node_mtbf->si() <= 0) return;
  const double mtbf = r.node_mtbf->si() / std::max(1, platform.nodes);
  const double interval = p.checkpoint ? std::min(p.checkpoint->interval_s, t.train_s) : t.train_s;
  if (!r.restart) note(p, "reliability.restart", "the platform states no restart time: only lost work counts");
  t.loss_each_s = 0.5 * interval + (r.restart ? r.restart->si() : 0) + (p.checkpoint ? p.checkpoint->read_s : 0);
  const double training = t.steps * p.step_s;  // what was staged is not lost
  t.failure_s = failure_loss_s(training, mtbf, t.loss_each_s);
  t.failures = (training + t.failure_s) / mtbf;
  if (!std::isfinite(t.failure_s))
    note(p, "failures",
         fmt::format(
             "the job never finishes: a failure comes every {} and costs {} (work since the last checkpoint, restart, reading it back)",
             to_text(seconds(mtbf)), to_text(seconds(t.loss_each_s))));
  if (!p.checkpoint) return;
  const double best = best_interval_s(mtbf, *p.checkpoint);
  p.checkpoint->best_every_steps = std::max(1.0, std::round(best / std::max(1e-9, p.step_s - p.breakdown.checkpoint_s)));
}

}  // namespace

void add_data_and_checkpoint(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  if (job.data) add_data_wait(job, platform, p);
  if (!job.checkpoint || job.checkpoint->every_steps <= 0) return;
  p.checkpoint = checkpointing_of(job, platform, step_without_stalls(p.breakdown) + p.breakdown.data_wait_s);
  if (p.checkpoint)
    p.breakdown.checkpoint_s = p.checkpoint->stall_s / double(job.checkpoint->every_steps);
  else
    leave_out(p, "checkpoint", job.checkpoint->to == CheckpointTarget::volume ? "no storage.volume given" : "no local disks given");
}

void add_epoch_and_cost(const workload::Job& job, const topology::Platform& platform, Prediction& p) {
  if (platform.price) {
    const double units = platform.price->per_gpu ? platform.gpus() : platform.nodes;
    p.hour = Money{platform.price->amount.amount * units, platform.price->amount.currency};
  }
  if (job.data && job.data->samples > 0) p.epoch = epoch_of(job, platform, p);
  const double steps = steps_of_run(job, p);
  if (steps <= 0) return;
  JobTime t;
  t.steps = steps;
  t.train_s = steps * p.step_s;
  if (p.epoch) {  // staging beside training is hidden behind the first epoch, or what there is of it
    const bool overlap = job.data->staging == Staging::overlap;
    const double beside = overlap ? std::min(p.epoch->staging_s, std::min(steps, p.epoch->steps) * p.step_s) : 0;
    t.train_s += p.epoch->staging_s - beside;
  }
  add_failures(platform, p, t);
  t.total_s = t.train_s + t.failure_s;
  p.run = t;
  if (!std::isfinite(t.total_s)) return;
  if (p.hour) p.cost = Money{p.hour->amount * t.total_s / 3600, p.hour->currency};
  p.storage_cost = volume_cost(job, platform, p);
}

}  // namespace trunkline::predict
