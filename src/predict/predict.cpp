#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "predict/epoch.hpp"
#include "predict/prediction.hpp"
#include "predict/settled.hpp"

namespace trunkline::predict {

using workload::Job;

namespace {

constexpr double kSecond = 1e-12;  // of a picosecond

// All that the time of a step follows from besides the groups' limits.
struct StepModel {
  const Job& job;
  const PlatformModel& platform;
  const Options& options;
  double factor;
  workload::Behaviour behaviour;
  workload::StepWork work;

  StepModel(const Job& job_in, const PlatformModel& platform_in, const Options& options_in, double factor_in)
      : job(job_in),
        platform(platform_in),
        options(options_in),
        factor(factor_in),
        behaviour(workload::behaviour_of(job, platform.platform().node.gpu.generation)),
        work(workload::operations_of(job, behaviour)) {}

  timeline::StepInput input(const timeline::Domains& domains) const {
    return {job,
            work,
            behaviour,
            platform.platform().node.gpu,
            platform.kernels(),
            domains,
            options.effects,
            options.collectives,
            &platform.limited(),
            factor};
  }
};

timeline::StepResult time_of_step(const Job& job, const PlatformModel& model, const Options& options, double factor,
                                  workload::StepWork& work) {
  StepModel step(job, model, options, factor);
  const timeline::Domains domains = domains_of(job.parallelism, model);
  timeline::StepResult result = timeline::time_step(step.input(domains), options.slots);
  work = std::move(step.work);
  return result;
}

// What the fabric leaves of the groups' limits; absent where it limits nothing.
Result<std::optional<FabricUse>> apply_fabric(const StepModel& step, timeline::Domains& domains) {
  const topology::Platform& platform = step.platform.platform();
  if (step.options.network != Network::flow || platform.nodes < 2) return std::optional<FabricUse>();
  const FabricInput input{step.platform, step.job, step.work,
                          [&](const timeline::Domains& d) { return timeline::time_step(step.input(d)); },
                          [&](const timeline::Domains& d) { return timeline::group_times(step.input(d)); }};
  TRUNKLINE_ASSIGN(use, limit_by_fabric(input, domains));
  return std::optional<FabricUse>(std::move(use));
}

void set_rates(Prediction& p, const Job& job, const workload::StepWork& work, const catalog::Gpu& gpu) {
  p.step_s = p.breakdown.sum();
  p.samples_per_s = double(job.batch.global) / p.step_s;
  double tokens = 0;
  for (const auto& tower : job.model.towers) tokens = std::max(tokens, double(tower.tokens(job.batch.sequence)));
  p.tokens_per_s = p.samples_per_s * tokens;
  p.tokens_per_s_per_gpu = p.tokens_per_s / p.gpus;
  const double model_flops = work.model_flops_per_sample * double(job.batch.global);
  p.model_flops_per_gpu_per_s = model_flops / p.step_s / p.gpus;
  const double peak = gpu.rate(job.precision.compute).si();
  p.mfu = p.model_flops_per_gpu_per_s / peak;
  p.hfu = p.mfu * (1 + work.recomputed_flops_per_sample / work.model_flops_per_sample);
}

Breakdown breakdown_of(const timeline::StepParts& parts) {
  Breakdown b;
  b.compute_s = double(parts.compute) * kSecond;
  b.exposed_comm_s = double(parts.exposed_comm) * kSecond;
  b.bubble_s = double(parts.bubble) * kSecond;
  b.other_s = double(parts.other) * kSecond;
  return b;
}

const Constants& constants_of(const Options& options) { return options.constants ? *options.constants : Constants::builtin(); }

std::string traffic_in_layers(const Job& job) {
  const auto& p = job.parallelism;
  if (p.ep > 1) return "tensor and expert parallel traffic";
  if (p.cp > 1) return "tensor and context parallel traffic";
  return p.tp > 1 ? "tensor parallel traffic" : "gathering features for the loss";
}

Bottleneck bottleneck_of(const Prediction& p) {
  struct Candidate {
    Trunk trunk;
    std::string link;
    double s;
  };
  const auto& d = p.detail;
  const double other_compute = std::max(0.0, p.breakdown.compute_s - d.memory_s - d.optimizer_s);
  const Candidate trunks[] = {
      {Trunk::data, "dataset reading", p.breakdown.data_wait_s},
      {Trunk::storage, "checkpoint writing", p.breakdown.checkpoint_s},
      {Trunk::interconnect, traffic_in_layers(p.job), d.tensor_s},
      {Trunk::interconnect, "data-parallel gradients and weights", d.data_s},
      {Trunk::interconnect, "sharded weights and gradients", d.shard_s},
      {Trunk::interconnect, "pipeline stage to stage", d.pipeline_s},
  };
  Bottleneck b;
  for (const Candidate& c : trunks) {
    if (c.s / p.step_s > b.weakest_share) b.weakest_trunk = c.trunk, b.weakest_link = c.link, b.weakest_share = c.s / p.step_s;
  }
  const Candidate all[] = {{Trunk::compute, "matrix rate", other_compute},
                           {Trunk::compute, "GPU memory bandwidth", d.memory_s + d.optimizer_s},
                           {Trunk::compute, "pipeline bubble", p.breakdown.bubble_s},
                           {Trunk::compute, "host launch cost", p.breakdown.other_s},
                           {b.weakest_trunk, b.weakest_link, b.weakest_share * p.step_s}};
  for (const Candidate& c : all) {
    if (c.s / p.step_s > b.share) b.trunk = c.trunk, b.link = c.link, b.share = c.s / p.step_s;
  }
  return b;
}

double step_only(const Job& job, const PlatformModel& platform, const Options& options, double factor) {
  workload::StepWork work;
  return double(time_of_step(job, platform, options, factor, work).parts.total) * kSecond;
}

// One copy of the model: no data parallelism, the same work a GPU.
Scaling scaling_of(const Job& job, const PlatformModel& platform, const Options& options, double factor, double step_s) {
  Scaling s;
  Job alone = job;
  auto& p = alone.parallelism;
  const int replica = p.tp * p.pp * p.cp;
  const bool sharded = p.sharding == workload::Sharding::zero3 || p.sharding == workload::Sharding::hsdp;
  const int base_dp = sharded ? std::min(p.dp, std::max(1, platform.platform().node.gpus / replica)) : std::min(p.dp, std::max(1, p.ep));
  alone.batch.global = job.batch.global / p.dp * base_dp;
  p.dp = base_dp;
  if (!sharded && base_dp == 1) p.sharding = workload::Sharding::none;
  s.baseline_gpus = replica * base_dp;
  s.fits = workload::memory_needed(alone).total() <= platform.platform().node.gpu.memory;
  const double alone_s = step_only(alone, platform, options, factor);
  const double ratio = double(job.batch.global) / double(alone.batch.global);
  s.speedup = ratio * alone_s / step_s;
  s.efficiency = s.speedup / ratio;
  return s;
}

// The interval comes from dense models trained whole; of the published rows of other kinds, a third lay inside theirs.
void note_interval(const Job& job, Prediction& p) {
  const bool experts = std::any_of(job.model.towers.begin(), job.model.towers.end(), [](const auto& t) { return t.experts.count > 0; });
  if (job.kind == workload::TrainingKind::full && !experts) return;
  p.assumed.emplace_back("interval", fmt::format("too narrow here: it comes from dense models trained whole; of published results of {} "
                                                 "about a third lie inside (docs/validation.md)",
                                                 experts ? "models with experts" : "fine-tuning"));
}

// What fits by less than allocators were seen to lose may still fail.
void note_tight(Prediction& p) {
  constexpr double kSeen = 0.056;  // of what is in use (data/calibration/h200_memory_limit.csv)
  const auto& m = p.memory;
  const double in_use = double((m.per_gpu - m.parts.framework - m.parts.communication - m.parts.fragmentation).count());
  const double room = double((m.capacity - m.per_gpu + m.parts.fragmentation).count());
  if (!m.fits || m.parts.fragmentation.count() == 0 || room >= kSeen * in_use) return;
  p.assumed.emplace_back("memory", fmt::format("fits by {:.2g} GiB: where the allocator's fragments take {:.1f} % of what is in use, as "
                                               "measured in the worst case, it would not",
                                               as_gib(m.capacity - m.per_gpu), 100 * kSeen));
}

// How the network between the nodes was taken into account.
void note_network(const topology::Platform& platform, Prediction& p) {
  const topology::Fabric& fabric = platform.fabric;
  if (p.fabric) {
    p.assumed.emplace_back("network",
                           fmt::format("flow: {} flows in {} queue pairs each share the fabric max-min fairly; collectives count as "
                                       "rings; no pauses, no convergence; hashes and places by seed {}",
                                       p.fabric->flows, p.fabric->queue_pairs, fabric.seed));
    if (p.fabric->unserved > 0) {
      p.assumed.emplace_back("network.unserved",
                             fmt::format("{} flows have no way through the fabric and are left out", p.fabric->unserved));
    }
    if (fabric.queue_pairs == 0) p.assumed.emplace_back("fabric.queue_pairs", fmt::format("{} (not stated)", p.fabric->queue_pairs));
    return;
  }
  if (platform.nodes > 1 &&
      (fabric.routing != topology::Routing::ideal || fabric.oversubscription > 1 || fabric.placement != topology::Placement::packed)) {
    p.assumed.emplace_back("network", "ideal: limited by the NICs alone; --network flow applies routing, oversubscription and placement");
  }
}

Result<void> check_platform(const Job& job, const topology::Platform& platform) {
  const int asked = job.parallelism.gpus();
  if (asked == platform.gpus()) return {};
  return bad_input({job.file, 0},
                   fmt::format("parallelism asks for {} GPUs (tp {} × pp {} × cp {} × dp {}), the platform \"{}\" has {} ({} nodes × {})",
                               asked, job.parallelism.tp, job.parallelism.pp, job.parallelism.cp, job.parallelism.dp, platform.name,
                               platform.gpus(), platform.nodes, platform.node.gpus),
                   "make the product equal, or set dp: auto");
}

// The schedule of a step is played turn by turn; more turns than this are a slip in the batch, and gigabytes.
Result<void> check_turns(const Job& job) {
  constexpr double kMostTurns = 1e7;  // the deepest published pipelines take some 1e4
  const auto& p = job.parallelism;
  const double micro_batches = double(job.batch.global) / (double(job.batch.micro) * p.dp);
  if (p.pp <= 1 || micro_batches * p.pp * p.vpp <= kMostTurns) return {};
  return bad_input({job.file, 0},
                   fmt::format("a batch of {} makes {:.0f} micro-batches a step through {} pipeline stages: too many to play through",
                               job.batch.global, micro_batches, p.pp),
                   fmt::format("expected at most {:.0f}: a smaller global batch, or a larger micro", kMostTurns / (p.pp * p.vpp)));
}

Result<void> check_length(const Job& job, const timeline::StepParts& parts) {
  if (parts.total < timeline::Picoseconds::forever()) return {};
  return bad_input({job.file, 0}, "a step would take longer than 106 days, the longest that is counted here",
                   "check the batch and the sequence of the job and the rates of the platform for a slip in a unit");
}

}  // namespace

double factor_of(const Job& job, const PlatformModel& platform, const Options& options) {
  if (options.compute_factor) return *options.compute_factor;
  const catalog::Generation generation = platform.platform().node.gpu.generation;
  // A library's modules are counted kernel by kernel; a factor stands for what a framework's description leaves out.
  if (workload::behaviour_of(job, generation).library_modules) return 1;
  return constants_of(options).factor(job.framework, generation);
}

double step_s_of(const Job& job, const PlatformModel& platform, const Options& options) {
  if (!check_turns(job)) return std::numeric_limits<double>::infinity();
  workload::StepWork work;
  const auto step = time_of_step(job, platform, options, factor_of(job, platform, options), work);
  if (!job.data && !job.checkpoint) return breakdown_of(step.parts).sum();
  Prediction p;
  p.breakdown = breakdown_of(step.parts);
  add_data_and_checkpoint(job, platform.platform(), p);
  return p.breakdown.sum();
}

std::string name_of(Trunk trunk) {
  switch (trunk) {
    case Trunk::compute: return "compute";
    case Trunk::data: return "data";
    case Trunk::storage: return "storage";
    case Trunk::interconnect: return "interconnect";
  }
  return {};
}

Result<Prediction> predict(const Job& asked, const topology::Platform& platform, const Options& options) {
  return predict(asked, PlatformModel(platform), options);
}

Result<Prediction> predict(const Job& asked, const PlatformModel& model, const Options& options) {
  const topology::Platform& platform = model.platform();
  TRUNKLINE_ASSIGN(job, settle(asked, model, options));
  TRUNKLINE_TRY(check_platform(job, platform));
  TRUNKLINE_TRY(check_turns(job));
  const Constants& constants = constants_of(options);
  const double factor = factor_of(job, model, options);
  Prediction p;
  p.platform = platform.name;
  p.gpus = platform.gpus();
  const StepModel of_step(job, model, options, factor);
  const workload::StepWork& work = of_step.work;
  timeline::Domains domains = domains_of(job.parallelism, model);
  TRUNKLINE_ASSIGN(fabric, apply_fabric(of_step, domains));
  p.fabric = std::move(fabric);
  timeline::StepResult step = timeline::time_step(of_step.input(domains), options.slots);
  TRUNKLINE_TRY(check_length(job, step.parts));
  p.detail = step.detail;
  p.slots = std::move(step.slots);
  p.lanes = std::move(step.lanes);
  p.breakdown = breakdown_of(step.parts);
  p.memory.parts = workload::memory_needed(job);
  p.memory.per_gpu = p.memory.parts.total();
  p.memory.capacity = platform.node.gpu.memory;
  p.memory.fits = p.memory.per_gpu <= p.memory.capacity;
  add_data_and_checkpoint(job, platform, p);
  set_rates(p, job, work, platform.node.gpu);
  if (options.extras) {
    if (!p.memory.fits) p.memory.suggestions = workload::what_would_fit(job, p.memory.capacity, p.gpus);
    p.scaling = scaling_of(job, model, options, factor, p.step_s);
    add_epoch_and_cost(job, platform, p);
    const bool seen = constants.seen(job.framework, platform.node.gpu.generation);
    p.interval = {p.step_s * (seen ? constants.low : constants.low_unseen), p.step_s * (seen ? constants.high : constants.high_unseen)};
    note_interval(job, p);
  }
  p.assumed.insert(p.assumed.begin(), platform.assumed.begin(), platform.assumed.end());
  p.assumed.insert(p.assumed.begin(), job.assumed.begin(), job.assumed.end());
  note_network(platform, p);
  note_tight(p);
  p.job = std::move(job);
  if (options.extras) p.bottleneck = bottleneck_of(p);
  return p;
}

}  // namespace trunkline::predict
