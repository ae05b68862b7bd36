#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "predict/prediction.hpp"

namespace trunkline::predict {

using workload::Job;
using workload::Recompute;
using workload::Sharding;

namespace {

// What must be there at once: the caching allocator gives fragments back before it fails.
Bytes memory_of(const Job& job) {
  const auto parts = workload::memory_of(job, workload::memory_rules(job));
  return parts.total() - parts.fragmentation;
}

// The least recomputation that fits: none, else full recomputation of as few layers as need be (memory is linear in their
// share), else of all.
void recompute_least(Job& job, Bytes capacity) {
  job.recompute_share = 1;
  job.recompute = Recompute::none;
  const double none = double(memory_of(job).count()), room = double(capacity.count());
  if (none <= room) return;
  job.recompute = Recompute::selective;
  if (double(memory_of(job).count()) <= room) return;
  job.recompute = Recompute::full;
  const double full = double(memory_of(job).count());
  constexpr double kStep = 1.0 / 64;  // whole layers, about
  if (full < room && none > full) job.recompute_share = std::min(1.0, std::ceil((none - room) / (none - full) / kStep) * kStep);
}

Result<int> data_parallel(const Job& job, const topology::Platform& platform) {
  const auto& p = job.parallelism;
  const int replica = p.tp * p.pp * p.cp;
  if (platform.gpus() % replica != 0) {
    return bad_input({job.file, 0},
                     fmt::format("tp {} × pp {} × cp {} = {} GPUs a copy does not divide the {} GPUs of \"{}\"", p.tp, p.pp, p.cp, replica,
                                 platform.gpus(), platform.name),
                     "choose tp, pp and cp whose product divides the number of GPUs, or write parallelism: auto");
  }
  return platform.gpus() / replica;
}

Result<void> settle_batch(Job& job) {
  const int dp = job.parallelism.dp;
  if (job.batch.global % dp != 0) {
    return bad_input({job.file, 0}, fmt::format("a global batch of {} does not divide over {} data-parallel ranks", job.batch.global, dp),
                     fmt::format("use a global batch that is a multiple of {}", dp));
  }
  const std::int64_t local = job.batch.global / dp;
  if (job.open.micro) {
    job.batch.micro = std::clamp<std::int64_t>(job.batch.micro, 1, local);
    while (local % job.batch.micro != 0) --job.batch.micro;
  }
  if (local % job.batch.micro != 0) {
    return bad_input({job.file, 0}, fmt::format("{} samples a rank do not divide into micro-batches of {}", local, job.batch.micro),
                     "choose a micro-batch that divides global / dp, or leave it out");
  }
  return {};
}

void note(Job& job, const char* what, std::string taken) { job.assumed.emplace_back(what, std::move(taken)); }

// All that is open once tp, pp, vpp, cp and ep are given.
Result<Job> finish(Job job, const topology::Platform& platform) {
  const Bytes capacity = platform.node.gpu.memory;
  if (job.open.dp) {
    TRUNKLINE_ASSIGN(dp, data_parallel(job, platform));
    job.parallelism.dp = dp;
    job.open.dp = false;
  }
  TRUNKLINE_TRY(settle_batch(job));
  if (job.open.sequence_parallel) {
    job.parallelism.sequence_parallel = workload::behaviour_of(job, platform.node.gpu.generation).sequence_parallel;
    job.open.sequence_parallel = false;
    if (job.parallelism.sequence_parallel) note(job, "sequence_parallel", "true (the framework's habit)");
  }
  if (job.open.sharding) {
    job.parallelism.sharding = Sharding::none;
    for (Sharding s : {Sharding::none, Sharding::zero1, Sharding::zero3}) {
      job.parallelism.sharding = s;
      Job fullest = job;
      if (job.open.recompute) fullest.recompute = Recompute::full;
      if (job.parallelism.dp * job.parallelism.cp == 1 || memory_of(fullest) <= capacity) break;
    }
    job.open.sharding = false;
    note(job, "sharding", workload::name_of(job.parallelism.sharding) + " (the least that fits)");
  }
  if (job.open.recompute) {
    recompute_least(job, capacity);
    job.open.recompute = false;
    const bool part = job.recompute == Recompute::full && job.recompute_share < 1;
    note(job, "recompute",
         workload::name_of(job.recompute) + (part ? fmt::format(" for {:.0f} % of the layers", 100 * job.recompute_share) : "") +
             " (the least that fits)");
  }
  job.open = {};
  return job;
}

bool divides(const Job& job, const topology::Platform& platform, int tp, int pp) {
  const auto& tower = job.model.towers.front();
  if (tower.heads % tp != 0 || (pp > 1 && (job.model.towers.size() > 1 || tower.layers % pp != 0))) return false;
  const int replica = tp * pp * job.parallelism.cp;
  if (platform.gpus() % replica != 0) return false;
  return job.batch.global % (platform.gpus() / replica) == 0;
}

std::vector<int> degrees(bool open, int stated, int most) {
  if (!open) return {stated};
  std::vector<int> out;
  for (int n = 1; n <= most; n *= 2) out.push_back(n);
  return out;
}

// `job` with the given degrees, everything else settled; the micro-batch only where the job leaves it open.
Result<Job> candidate(Job job, const topology::Platform& platform, int tp, int pp, std::int64_t micro) {
  const bool dp_stated = !job.open.dp;
  if (dp_stated && tp * pp * job.parallelism.cp * job.parallelism.dp != platform.gpus())
    return bad_input({}, "the stated dp leaves no room");
  job.open.tp = job.open.pp = false;
  job.parallelism.tp = tp;
  job.parallelism.pp = pp;
  job.batch.micro = micro;
  job.open.micro = false;
  return finish(std::move(job), platform);
}

// `parallelism: auto`: every tp within a node, pp and micro-batch that divide; the fastest that fits, else the smallest.
Result<Job> search(const Job& asked, const PlatformModel& model, const Options& options) {
  const topology::Platform& platform = model.platform();
  std::optional<Job> best, smallest;
  double best_s = std::numeric_limits<double>::infinity();
  Bytes least = Bytes(std::numeric_limits<std::int64_t>::max());
  Options inner = options;
  inner.extras = false;
  inner.slots = false;
  for (int tp : degrees(asked.open.tp, asked.parallelism.tp, platform.node.gpus)) {
    for (int pp : degrees(asked.open.pp, asked.parallelism.pp, 64)) {
      if (!divides(asked, platform, tp, pp)) continue;
      for (int micro : degrees(asked.open.micro, int(asked.batch.micro), 16)) {
        const auto done = candidate(asked, platform, tp, pp, micro);
        if (!done) continue;
        const Bytes memory = memory_of(*done);
        if (memory < least) least = memory, smallest = *done;
        if (memory > platform.node.gpu.memory) continue;
        const auto p = predict(*done, model, inner);
        if (p && p->step_s < best_s) best_s = p->step_s, best = *done;
      }
    }
  }
  if (!best) best = smallest;
  if (!best) {
    return bad_input(
        {asked.file, 0},
        fmt::format("no tensor and pipeline parallelism divides the model and the {} GPUs of \"{}\"", platform.gpus(), platform.name),
        "choose a global batch that is a multiple of the GPUs, or state tp and pp");
  }
  const auto& p = best->parallelism;
  note(*best, "parallelism",
       fmt::format("tp {}, pp {}, dp {}, micro-batch {} (the fastest that fits)", p.tp, p.pp, p.dp, best->batch.micro));
  return *best;
}

}  // namespace

Result<Job> settle(const Job& job, const PlatformModel& platform, const Options& options) {
  if (job.open.tp || job.open.pp) return search(job, platform, options);
  return finish(job, platform.platform());
}

}  // namespace trunkline::predict
