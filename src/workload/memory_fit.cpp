// What to change so that a job fits a GPU.
#include <fmt/format.h>

#include <algorithm>

#include "workload/memory.hpp"

namespace trunkline::workload {
namespace {

constexpr int kLargestTensorGroup = 8;  // tensor parallelism stays inside a node
constexpr int kMostGpus = 1 << 20;

class Suggester {
 public:
  Suggester(const Job& job, Bytes capacity, int gpus) : job_(job), capacity_(capacity), gpus_(gpus) {}

  std::vector<Suggestion> all() {
    sharding();
    recompute();
    micro_batch();
    small_switches();
    wider_model_parallelism();
    together();
    more_gpus();
    adapters();
    std::stable_sort(found_.begin(), found_.end(), [&](const Suggestion& a, const Suggestion& b) { return rank(a) < rank(b); });
    return std::move(found_);
  }

 private:
  // Fits at hand, fits with more GPUs, does not fit.
  int rank(const Suggestion& s) const { return s.fits ? (s.gpus <= std::max(gpus_, job_.parallelism.gpus()) ? 0 : 1) : 2; }

  Bytes need(const Job& job) const { return memory_of(job, memory_rules(job)).total(); }

  void add(std::string change, const Job& job) {
    const Bytes bytes = need(job);
    found_.push_back({std::move(change), job, bytes, job.parallelism.gpus(), bytes <= capacity_});
  }

  void sharding() {
    const Parallelism& p = job_.parallelism;
    if (p.dp * p.cp == 1) return;
    for (const Sharding s : {Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
      if (p.sharding == Sharding::hsdp ? s != Sharding::zero3 : s <= p.sharding) continue;
      Job job = job_;
      job.parallelism.sharding = s;
      add(fmt::format("parallelism.sharding: {}", name_of(s)), job);
    }
  }

  void recompute() {
    for (const Recompute r : {Recompute::selective, Recompute::full}) {
      if (r <= job_.recompute) continue;
      Job job = job_;
      job.recompute = r;
      if (need(job) < need(job_)) add(fmt::format("training.recompute: {}", name_of(r)), job);
    }
  }

  void micro_batch() {
    for (std::int64_t micro = job_.batch.micro / 2; micro >= 1; micro /= 2) {
      if (job_.batch.micro % micro != 0) continue;
      Job job = job_;
      job.batch.micro = micro;
      add(fmt::format("batch.micro: {}", micro), job);
      if (found_.back().fits) return;
    }
  }

  void small_switches() {
    Job job = job_;
    if (!memory_rules(job_).flash_attention) {
      job.flash_attention = true;
      add("training.flash_attention: true", job);
      job = job_;
    }
    if (job_.parallelism.tp > 1 && !job_.parallelism.sequence_parallel) {
      job.parallelism.sequence_parallel = true;
      add("parallelism.sequence_parallel: true", job);
    }
  }

  bool may_split(int tp) const {
    return std::all_of(job_.model.towers.begin(), job_.model.towers.end(), [&](const Tower& t) {
      return t.heads % tp == 0 && t.ffn % tp == 0 && (t.kv_heads % tp == 0 || tp % t.kv_heads == 0);
    });
  }

  // Takes the ranks from data parallelism where they divide, else asks for more GPUs.
  static void take_ranks(Parallelism& p, int factor) {
    if (p.dp % factor == 0) p.dp /= factor;
  }

  void wider_model_parallelism() {
    for (int factor = 2; job_.parallelism.tp * factor <= kLargestTensorGroup; factor *= 2) {
      Job job = job_;
      job.parallelism.tp *= factor;
      if (!may_split(job.parallelism.tp)) break;
      take_ranks(job.parallelism, factor);
      add(fmt::format("parallelism.tp: {}, dp: {}", job.parallelism.tp, job.parallelism.dp), job);
      if (found_.back().fits) break;
    }
    if (job_.model.towers.size() != 1) return;
    for (int factor = 2; factor <= 16; factor *= 2) {
      Job job = job_;
      job.parallelism.pp *= factor;
      if (job_.model.towers.front().layers % (job.parallelism.pp * job.parallelism.vpp) != 0) break;
      take_ranks(job.parallelism, factor);
      add(fmt::format("parallelism.pp: {}, dp: {}", job.parallelism.pp, job.parallelism.dp), job);
      if (found_.back().fits) break;
    }
  }

  void together() {
    Job job = job_;
    std::string change;
    if (job.parallelism.dp * job.parallelism.cp > 1 && job.parallelism.sharding != Sharding::zero3) {
      job.parallelism.sharding = Sharding::zero3;
      change = "parallelism.sharding: zero3";
    }
    if (job.recompute != Recompute::full) {
      job.recompute = Recompute::full;
      change += change.empty() ? "training.recompute: full" : ", training.recompute: full";
      if (change.find(',') != std::string::npos) add(change, job);
    }
    if (job.batch.micro > 1 && need(job) > capacity_) {
      job.batch.micro = 1;
      add(change.empty() ? "batch.micro: 1" : change + ", batch.micro: 1", job);
    }
  }

  // The smallest number of GPUs, by doubling data parallelism with everything shared out, with which the state fits.
  void more_gpus() {
    Job job = job_;
    job.parallelism.sharding = Sharding::zero3;
    for (const Recompute r : {job_.recompute, Recompute::full}) {
      job.recompute = r;
      for (int dp = std::max(1, job_.parallelism.dp) * 2; job.parallelism.gpus() < kMostGpus; dp *= 2) {
        if (dp * job.batch.micro > job_.batch.global) break;
        job.parallelism.dp = dp;
        if (need(job) > capacity_) continue;
        add(fmt::format("{} GPUs (parallelism.dp: {}), parallelism.sharding: zero3, training.recompute: {}", job.parallelism.gpus(), dp, name_of(r)), job);
        return;
      }
      job.parallelism.dp = job_.parallelism.dp;
    }
  }

  void adapters() {
    if (job_.kind == TrainingKind::qlora) return;
    for (const TrainingKind kind : {TrainingKind::lora, TrainingKind::qlora}) {
      if (kind <= job_.kind) continue;
      Job job = job_;
      job.kind = kind;
      add(fmt::format("training.kind: {} (adapters in place of all weights)", name_of(kind)), job);
    }
  }

  const Job& job_;
  Bytes capacity_;
  int gpus_;
  std::vector<Suggestion> found_;
};

}  // namespace

std::optional<Recompute> least_recompute_that_fits(Job job, const MemoryRules& rules, Bytes capacity) {
  for (const Recompute r : {Recompute::none, Recompute::selective, Recompute::full}) {
    job.recompute = r;
    if (memory_of(job, rules).total() <= capacity) return r;
  }
  return std::nullopt;
}

std::vector<Suggestion> what_would_fit(const Job& job, Bytes capacity, int gpus) { return Suggester(job, capacity, gpus).all(); }

}  // namespace trunkline::workload
