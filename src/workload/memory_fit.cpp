// What to change so that a job fits a GPU.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "workload/memory.hpp"
#include "workload/split_rules.hpp"

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

  Bytes need(const Job& job) const { return memory_needed(job).total(); }

  void add(std::string change, const Job& job) {
    const Bytes bytes = need(job);
    found_.push_back({std::move(change), job, bytes, job.parallelism.gpus(), bytes <= capacity_});
  }

  // More than the job has, and known to work: Megatron and DeepSpeed share out no more than the optimizer under a pipeline.
  bool allows(Sharding s) const {
    const Parallelism& p = job_.parallelism;
    if (p.dp * p.cp == 1) return false;
    if (s > Sharding::zero1 && p.pp > 1 && !memory_rules(job_).gathers_weights) return false;
    return p.sharding == Sharding::hsdp ? s == Sharding::zero3 : s > p.sharding;
  }

  void sharding() {
    for (const Sharding s : {Sharding::zero1, Sharding::zero2, Sharding::zero3}) {
      if (!allows(s)) continue;
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

  // The most ranks of a stage over which whole experts can be spread; 1 for dense models.
  int widest_experts() const {
    const Parallelism& p = job_.parallelism;
    if (job_.model.towers.size() != 1 || job_.model.towers.front().experts.count == 0) return 1;
    const int etp = p.etp > 0 ? p.etp : p.tp;
    return std::gcd(job_.model.towers.front().experts.count, std::max(1, p.dp * p.cp * p.tp / etp));
  }

  // Takes the ranks from data parallelism; false where they do not divide (more GPUs are a suggestion of their own).
  static bool take_ranks(Parallelism& p, int factor) {
    if (p.dp % factor != 0) return false;
    p.dp /= factor;
    return true;
  }

  void wider_model_parallelism() {
    if (const int ep = widest_experts(); ep > job_.parallelism.ep) {
      Job job = job_;
      job.parallelism.ep = ep;
      add(fmt::format("parallelism.ep: {}", ep), job);
    }
    for (int factor = 2; job_.parallelism.tp * factor <= kLargestTensorGroup; factor *= 2) {
      Job job = job_;
      job.parallelism.tp *= factor;
      if (!splits_over(job.model, job.parallelism.tp)) break;
      if (!take_ranks(job.parallelism, factor)) break;
      add(fmt::format("parallelism.tp: {}, dp: {}", job.parallelism.tp, job.parallelism.dp), job);
      if (found_.back().fits) break;
    }
    if (job_.model.towers.size() != 1) return;
    for (int factor = 2; factor <= 16; factor *= 2) {
      Job job = job_;
      job.parallelism.pp *= factor;
      if (job_.model.towers.front().layers % (job.parallelism.pp * job.parallelism.vpp) != 0) break;
      if (!take_ranks(job.parallelism, factor)) break;
      add(fmt::format("parallelism.pp: {}, dp: {}", job.parallelism.pp, job.parallelism.dp), job);
      if (found_.back().fits) break;
    }
  }

  // One step after another, cheapest for speed first, until the job fits; then every step that proves needless is dropped.
  void together() {
    const std::vector<Step> ladder = steps();
    std::vector<Step> taken;
    Job job = job_;
    for (const Step& step : ladder) {
      if (need(job) <= capacity_) break;
      Job next = job;
      step.apply(next);
      if (need(next) >= need(job)) continue;
      job = std::move(next);
      taken.push_back(step);
    }
    for (std::size_t i = 0; i < taken.size();) {
      std::vector<Step> fewer = taken;
      fewer.erase(fewer.begin() + std::ptrdiff_t(i));
      if (need(with(fewer)) <= capacity_) {
        taken = std::move(fewer);
      } else {
        ++i;
      }
    }
    if (taken.size() < 2) return;  // a single change stands in the list already
    std::string change;
    for (const Step& step : taken) change += (change.empty() ? "" : ", ") + step.words;
    add(std::move(change), with(taken));
  }

  struct Step {
    std::string words;
    std::function<void(Job&)> apply;
  };

  std::vector<Step> steps() const {
    std::vector<Step> out{{"training.flash_attention: true", [](Job& j) { j.flash_attention = true; }}};
    if (job_.parallelism.tp > 1)
      out.push_back({"parallelism.sequence_parallel: true", [](Job& j) { j.parallelism.sequence_parallel = true; }});
    if (const int ep = widest_experts(); ep > job_.parallelism.ep) {
      out.push_back({fmt::format("parallelism.ep: {}", ep), [ep](Job& j) { j.parallelism.ep = ep; }});
    }
    if (allows(Sharding::zero1)) out.push_back({"parallelism.sharding: zero1", [](Job& j) { j.parallelism.sharding = Sharding::zero1; }});
    if (allows(Sharding::zero3)) out.push_back({"parallelism.sharding: zero3", [](Job& j) { j.parallelism.sharding = Sharding::zero3; }});
    if (job_.recompute < Recompute::selective)
      out.push_back({"training.recompute: selective", [](Job& j) { j.recompute = Recompute::selective; }});
    if (job_.batch.micro > 1) out.push_back({"batch.micro: 1", [](Job& j) { j.batch.micro = 1; }});
    if (job_.recompute < Recompute::full) out.push_back({"training.recompute: full", [](Job& j) { j.recompute = Recompute::full; }});
    return out;
  }

  Job with(const std::vector<Step>& taken) const {
    Job job = job_;
    for (const Step& step : taken) step.apply(job);
    return job;
  }

  // The smallest number of GPUs, by doubling data parallelism with everything shared out that may be, with which it fits.
  void more_gpus() {
    if (std::any_of(found_.begin(), found_.end(), [](const Suggestion& s) { return s.fits; })) return;
    Job job = job_;
    job.parallelism.dp *= 2;  // so that sharding has ranks to share out to
    const Sharding most = job_.parallelism.pp > 1 && !memory_rules(job_).gathers_weights ? Sharding::zero1 : Sharding::zero3;
    job.parallelism.sharding = std::max(most, job_.parallelism.sharding == Sharding::hsdp ? Sharding::zero3 : job_.parallelism.sharding);
    for (const Recompute r : {job_.recompute, Recompute::full}) {
      job.recompute = r;
      for (std::int64_t dp = std::int64_t(job_.parallelism.dp) * 2; dp * job.batch.micro <= job_.batch.global && dp <= kMostGpus; dp *= 2) {
        job.parallelism.dp = int(dp);
        if (job.parallelism.gpus() > kMostGpus || need(job) > capacity_) continue;
        add(fmt::format("{} GPUs (parallelism.dp: {}), parallelism.sharding: {}, training.recompute: {}", job.parallelism.gpus(), dp,
                        name_of(job.parallelism.sharding), name_of(r)),
            job);
        return;
      }
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
