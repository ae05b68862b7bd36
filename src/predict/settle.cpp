#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "predict/formats.hpp"
#include "predict/plans.hpp"
#include "predict/search.hpp"
#include "predict/settled.hpp"

namespace trunkline::predict {

using workload::Job;
using workload::Recompute;
using workload::Sharding;

void recompute_part(Job& job, Bytes capacity) {
  job.recompute = Recompute::full;
  const auto need = [&](double share) {
    job.recompute_share = share;
    return double(workload::memory_needed(job).total().count());
  };
  const double none = need(0), full = need(1), room = double(capacity.count());
  if (full >= room || none <= full) return;
  constexpr double kStep = 1.0 / 64;  // whole layers, about
  // Memory is linear in the share, up to the peak of a single layer.
  double share = std::clamp(std::ceil((none - room) / (none - full) / kStep) * kStep, 0.0, 1.0);
  while (share < 1 && need(share) > room) share = std::min(1.0, share + kStep);
  job.recompute_share = share;
}

void recompute_least(Job& job, Bytes capacity) {
  job.recompute_share = 1;
  for (const Recompute r : {Recompute::none, Recompute::selective}) {
    job.recompute = r;
    if (workload::memory_needed(job).total() <= capacity) return;
  }
  recompute_part(job, capacity);
}

void note(Job& job, const std::string& what, std::string taken) {
  for (auto& [key, text] : job.assumed) {
    if (key == what) return void(text = std::move(taken));
  }
  job.assumed.emplace_back(what, std::move(taken));
}

namespace {

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

Result<void> check_batch(const Job& job) {
  const int dp = job.parallelism.dp;
  if (job.batch.global % dp != 0) {
    return bad_input({job.file, 0}, fmt::format("a global batch of {} does not divide over {} data-parallel ranks", job.batch.global, dp),
                     fmt::format("use a global batch that is a multiple of {}", dp));
  }
  const std::int64_t local = job.batch.global / dp;
  if (job.open.micro || local % job.batch.micro == 0) return {};
  return bad_input({job.file, 0}, fmt::format("{} samples a rank do not divide into micro-batches of {}", local, job.batch.micro),
                   "choose a micro-batch that divides global / dp, or leave it out");
}

std::string recompute_words(const Job& job) {
  const bool part = job.recompute == Recompute::full && job.recompute_share < 1;
  return workload::name_of(job.recompute) + (part ? fmt::format(" for {:.0f} % of the layers", 100 * job.recompute_share) : "");
}

// A group that several ranks share one copy in must divide the ranks; as large as all of them or larger, it is all of them.
Result<void> check_shard_group(const Job& job) {
  const auto& p = job.parallelism;
  const int ranks = p.dp * p.cp;
  if (p.sharding == Sharding::none || p.shard_group <= 0 || p.shard_group >= ranks || ranks % p.shard_group == 0) return {};
  return bad_input({job.file, 0},
                   fmt::format("parallelism.shard_group: {} does not divide the {} data-parallel ranks (dp {} × cp {})", p.shard_group,
                               ranks, p.dp, p.cp),
                   "choose a divisor of dp·cp, or leave shard_group out");
}

// What is open where no plan is: the ranks that are left, sequence parallelism, recomputation.
Result<Job> finish(Job job, const topology::Platform& platform) {
  const Bytes capacity = platform.node.gpu.memory;
  if (job.open.sequence_parallel) {
    job.parallelism.sequence_parallel = workload::behaviour_of(job, platform.node.gpu.generation).sequence_parallel;
    if (job.parallelism.tp > 1) {
      note(job, "parallelism.sequence_parallel",
           fmt::format("{} (the habit of {})", job.parallelism.sequence_parallel, workload::name_of(job.framework)));
    }
  }
  if (job.open.recompute) {
    recompute_least(job, capacity);
    const bool fits = workload::memory_needed(job).total() <= capacity;
    note(job, "recompute", recompute_words(job) + (fits ? " (the least that fits)" : " (and even that does not fit)"));
  }
  job.open = {};
  return job;
}

std::string plan_words(const Job& job) {
  const auto& p = job.parallelism;
  std::string words = fmt::format("tp {}, pp {}, dp {}", p.tp, p.pp, p.dp);
  if (p.vpp > 1) words += fmt::format(", vpp {}", p.vpp);
  if (p.cp > 1) words += fmt::format(", cp {}", p.cp);
  if (p.ep > 1) words += fmt::format(", ep {}", p.ep) + (p.etp > 0 ? fmt::format(", etp {}", p.etp) : "");
  return words +
         fmt::format(", sharding {}, micro-batch {}, recompute {}", workload::name_of(p.sharding), job.batch.micro, recompute_words(job));
}

// What would help most, of what fits.
std::string way_out(const Job& job, Bytes capacity, int gpus) {
  constexpr std::size_t kMost = 2;
  std::vector<std::string> ways;
  for (const auto& s : workload::what_would_fit(job, capacity, gpus)) {
    if (s.fits && ways.size() < kMost) ways.push_back(fmt::format("{} ({:.3g} GiB)", s.change, as_gib(s.bytes)));
  }
  return ways.empty() ? "no single change would make it fit" : "would fit: " + join(ways, "; ");
}

Result<Job> settle_plan(const Job& asked, const PlatformModel& model, const Options& options) {
  TRUNKLINE_ASSIGN(ranking, search(asked, model, options));
  const topology::Platform& platform = model.platform();
  const bool fits = !ranking.fastest.empty();
  Job job = fits ? ranking.fastest.front().job : ranking.closest->job;
  std::erase_if(job.assumed, [](const auto& pair) { return pair.second == "chosen (not stated)"; });
  if (fits) {
    note(job, "parallelism",
         fmt::format("{}: the fastest of the {} plans that fit, of {} tried", plan_words(job), ranking.fitting, ranking.tried));
    return job;
  }
  const Bytes capacity = platform.node.gpu.memory;
  note(job, "parallelism",
       fmt::format("nothing that was tried fits ({} plans); the closest needs {:.3g} of {:.3g} GiB a GPU: {}; {}", ranking.tried,
                   as_gib(ranking.closest->memory), as_gib(capacity), plan_words(job), way_out(job, capacity, platform.gpus())));
  return job;
}

}  // namespace

Result<Job> settle(const Job& asked, const PlatformModel& model, const Options& options) {
  const bool plan_open = leaves_plan_open(asked), degrees_open = asked.open.tp || asked.open.pp || asked.open.cp;
  Job job = asked;
  TRUNKLINE_TRY(settle_format(job, model.platform().node.gpu));
  if (job.open.dp && !degrees_open) {
    TRUNKLINE_ASSIGN(dp, data_parallel(job, model.platform()));
    job.parallelism.dp = dp;
    job.open.dp = false;
  }
  if (!degrees_open) TRUNKLINE_TRY(check_batch(job));
  if (!degrees_open && !job.open.sharding) TRUNKLINE_TRY(check_shard_group(job));
  return plan_open ? settle_plan(job, model, options) : finish(std::move(job), model.platform());
}

}  // namespace trunkline::predict
