#include "timeline/step.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "timeline/chunk_time.hpp"
#include "timeline/group_time.hpp"
#include "timeline/layer_split.hpp"
#include "timeline/overlap.hpp"
#include "timeline/power.hpp"

namespace trunkline::timeline {

using workload::Exchange;
using workload::Sharding;

namespace {

Picoseconds ps(double s) { return Picoseconds::from_seconds(s); }

struct LayerPrices {
  PassTime forward, backward, recompute;  // backward with what it recomputes
  PassTime weights;                       // weight gradients, where the schedule runs them apart from backward
  double parameters = 0, expert_parameters = 0, adapters = 0;
};

// Bytes an update moves for one parameter: gradient, fp32 weight and states read and written, 16-bit copy, gradient norm.
double update_bytes(workload::Optimizer optimizer) {
  int states = 0;  // Adafactor's are a row and a column a matrix
  if (optimizer == workload::Optimizer::adamw) states = 2;
  if (optimizer == workload::Optimizer::sgd || optimizer == workload::Optimizer::lion) states = 1;
  return 4 + (1 + states) * 8 + 2 + 4;
}

class StepTimer {
 public:
  explicit StepTimer(const StepInput& in)
      : in_(in),
        p_(in.job.parallelism),
        pricer_(in.kernels, limited(in), in.gpu, in.domains, in.behaviour, in.effects, in.collective_options) {
    micro_batches_ = std::max<std::int64_t>(1, in.job.batch.global / std::max<std::int64_t>(1, in.job.batch.micro * p_.dp));
    sharded_ = p_.sharding == Sharding::zero3 || p_.sharding == Sharding::hsdp;
    stages_ = std::max(1, p_.pp);
    chunks_ = std::max(1, p_.vpp);
    // Sharded gradients are scattered layer by layer: their products cannot wait.
    const bool zero_bubble = p_.schedule == workload::Schedule::zero_bubble_1p || p_.schedule == workload::Schedule::zero_bubble_2p;
    weights_apart_ = zero_bubble && stages_ > 1 && !sharded_;
  }

  StepResult run(bool keep_slots) {
    for (const auto& tower : in_.work.towers) price(tower);
    PipelineInput pipeline;
    pipeline.micro_batches = int(micro_batches_);
    pipeline.schedule = p_.schedule;
    for (int s = 0; s < stages_; ++s) pipeline.stages.push_back(stage_cost(s));
    if (stages_ > 1) {
      const double transfer = time_of(in_.domains.pipeline, collectives::Collective::send_recv,
                                      scaled(Bytes(1), in_.work.towers[0].boundary_bytes), in_.collective_options)
                                  .time.si();
      pipeline.transfer = ps(transfer);
      pipeline.blocking = !in_.behaviour.pipeline_overlap || !in_.effects.overlap;
    }
    const PipelineResult timeline = run_pipeline(pipeline, keep_slots);
    return assemble(pipeline, timeline);
  }

 private:
  // The kernels at the power limit; the burst ones where the effect is off.
  const kernels::Kernels& limited(const StepInput& in) {
    if (!in.effects.sustained) return in.kernels;
    if (in.limited) return *in.limited;
    return own_limited_.emplace(at_power_limit(in.gpu, in.kernels));
  }

  struct TowerPrices {
    LayerPrices dense, experts;
    PassTime before_f, before_b, before_w, after_f, after_b, after_w;
  };

  void price(const workload::TowerWork& tower) {
    TowerPrices t;
    const Part rest = weights_apart_ ? Part::others : Part::all;
    const auto layer = [&](const workload::LayerWork& work) {
      LayerPrices l;
      if (work.count == 0) return l;
      l.forward = pricer_.price(work.forward);
      l.backward = pricer_.price(work.backward, rest);
      if (weights_apart_) l.weights = pricer_.price(work.backward, Part::weight_gradients);
      l.recompute = pricer_.price(work.recompute) * (in_.job.recompute == workload::Recompute::full ? in_.job.recompute_share : 1.0);
      l.backward += l.recompute;
      l.parameters = work.parameters;
      l.expert_parameters = work.expert_parameters;
      l.adapters = work.adapter_parameters;
      return l;
    };
    t.dense = layer(tower.dense);
    t.experts = layer(tower.experts);
    t.before_f = pricer_.price(tower.before_forward);
    t.before_b = pricer_.price(tower.before_backward, rest);
    t.after_f = pricer_.price(tower.after_forward);
    t.after_b = pricer_.price(tower.after_backward, rest);
    if (weights_apart_) {
      t.before_w = pricer_.price(tower.before_backward, Part::weight_gradients);
      t.after_w = pricer_.price(tower.after_backward, Part::weight_gradients);
    }
    towers_.push_back(t);
  }

  LayerSplit held_by(const workload::TowerWork& tower, int stage, int c) const {
    return layers_of_chunk(tower, c * stages_ + stage, stages_ * chunks_);
  }

  double gathered_bytes() const { return timeline::gathered_bytes(in_.job, in_.behaviour); }

  double bucket_bytes(const collectives::Domain& domain) const {
    if (in_.behaviour.bucket_grows) return std::max(40e6, 1e6 * domain.ranks()) * in_.behaviour.reduce_bytes;
    return double(in_.behaviour.bucket.count());
  }

  // What of the sharded optimizer's update every rank fetches back.
  Overlapped gather_parameters(const collectives::Domain& domain, double parameters, double first_forward) const {
    const double bytes = parameters * gathered_bytes();
    const bool overlap = in_.effects.overlap && in_.behaviour.gather_overlap;
    if (in_.behaviour.gathers_by_broadcast) {
      const double owners = domain.ranks();
      const Seconds one =
          time_of(domain, collectives::Collective::broadcast, scaled(Bytes(1), bytes / owners), in_.collective_options).time;
      return bucketed_gather(owners, one.si(), first_forward, overlap);
    }
    const double pieces = std::max(1.0, std::ceil(parameters * in_.behaviour.reduce_bytes / bucket_bytes(domain)));
    return bucketed_gather(pieces, pricer_.exchange(Exchange::all_gather, domain, bytes / pieces).time.si(), first_forward, overlap);
  }

  // What sharding adds to a run: weights fetched ahead of use, gradients scattered behind it.
  void add_sharding(LayerRun& run, double parameters, double experts, double trained, bool fetched, bool backward) const {
    if (!sharded_) return;
    const auto both = [&](Exchange exchange, double dense_bytes, double expert_bytes) {
      return pricer_.exchange(exchange, in_.domains.shard, dense_bytes).time.si() +
             pricer_.exchange(exchange, in_.domains.expert_data, expert_bytes).time.si();
    };
    const double dense = parameters - experts, bytes = in_.behaviour.reduce_bytes;
    run.sharding_sms = pricer_.sm_share(Exchange::all_gather, in_.domains.shard, dense * gathered_bytes());
    if (fetched) run.gather_s = both(Exchange::all_gather, dense * gathered_bytes(), experts * gathered_bytes());
    if (!backward || !(in_.behaviour.sharded_reduce_each_micro || micro_batches_ == 1)) return;
    const double trained_experts = in_.job.kind == workload::TrainingKind::full ? experts : 0;
    run.reduce_s = both(Exchange::reduce_scatter, (trained - trained_experts) * bytes, trained_experts * bytes);
    if (p_.sharding == Sharding::hsdp) {
      run.reduce_s += pricer_.exchange(Exchange::all_reduce, in_.domains.replica, trained * bytes / in_.domains.shard.ranks()).time.si();
    }
  }

  void add_run(std::vector<LayerRun>& runs, const LayerPrices& l, double layers, bool backward) const {
    if (layers <= 0) return;
    LayerRun run;
    run.layers = layers;
    run.pass = backward ? l.backward : l.forward;
    if (backward) run.recompute = l.recompute;
    const double trained = in_.job.kind == workload::TrainingKind::full ? l.parameters : l.adapters;
    add_sharding(run, l.parameters, l.expert_parameters, trained, !backward || in_.behaviour.reshard_after_forward, backward);
    runs.push_back(run);
  }

  // Embedding or output layer: fetched for the forward, and kept.
  void add_end(std::vector<LayerRun>& runs, const PassTime& pass, double parameters, bool backward) const {
    LayerRun run;
    run.pass = pass;
    const double trained = in_.job.kind == workload::TrainingKind::full ? parameters : 0;
    add_sharding(run, parameters, 0, trained, !backward, backward);
    runs.push_back(run);
  }

  ChunkTime time_of_chunk(int stage, int c, bool backward) {
    runs_.clear();
    for (std::size_t i = 0; i < towers_.size(); ++i) {
      const TowerPrices& t = towers_[i];
      const workload::TowerWork& work = in_.work.towers[i];
      const LayerSplit held = held_by(work, stage, c);
      if (!backward) {
        if (held.first) add_end(runs_, t.before_f, work.before_parameters, false);
        add_run(runs_, t.dense, held.dense, false);
        add_run(runs_, t.experts, held.experts, false);
        if (held.last) add_end(runs_, t.after_f, work.after_parameters, false);
      } else {
        if (held.last) add_end(runs_, t.after_b, work.after_parameters, true);
        add_run(runs_, t.experts, held.experts, true);
        add_run(runs_, t.dense, held.dense, true);
        if (held.first) add_end(runs_, t.before_b, work.before_parameters, true);
      }
    }
    return chunk_time(runs_, rules(backward));
  }

  // Weight gradients alone: each chunk's products, and nothing that they could hide.
  ChunkTime time_of_weights(int stage, int c) {
    runs_.clear();
    for (std::size_t i = 0; i < towers_.size(); ++i) {
      const TowerPrices& t = towers_[i];
      const LayerSplit held = held_by(in_.work.towers[i], stage, c);
      const auto add = [&](const PassTime& pass, double layers) {
        runs_.emplace_back();
        runs_.back().layers = layers;
        runs_.back().pass = pass;
      };
      if (held.last) add(t.after_w, 1);
      add(t.experts.weights, held.experts);
      add(t.dense.weights, held.dense);
      if (held.first) add(t.before_w, 1);
    }
    return chunk_time(runs_, rules(true));
  }

  ChunkRules rules(bool backward) const {
    ChunkRules r;
    r.factor = in_.effects.fitted ? in_.compute_factor : 1;
    r.power_limit = in_.effects.sustained;
    r.overlap = in_.effects.overlap;
    r.backward = backward;
    return r;
  }

  StageCost stage_cost(int stage) {
    StageCost cost;
    ChunkTime stage_sum;
    for (int c = 0; c < chunks_; ++c) {
      const ChunkTime f = time_of_chunk(stage, c, false), b = time_of_chunk(stage, c, true);
      cost.forward.push_back(ps(f.total()));
      const ChunkTime w = weights_apart_ ? time_of_weights(stage, c) : ChunkTime{};
      cost.weight_gradient.push_back(ps(w.total()));
      cost.backward.push_back(ps(b.total()) + ps(w.total()));
      forward_[std::size_t(stage)] += f;
      backward_[std::size_t(stage)] += b;
      backward_[std::size_t(stage)] += w;
      passes_[std::size_t(stage)].forward += f.total();
      passes_[std::size_t(stage)].backward += b.total() + w.total();
      gap_[std::size_t(stage)] += f.launch_gap() + b.launch_gap() + w.launch_gap();
    }
    return cost;
  }

  // Parameters of this GPU's stage that are trained (after tensor and expert parallelism, before sharding): all, or LoRA's.
  double stage_parameters(int stage, bool experts_only) const {
    const bool adapters = in_.job.kind != workload::TrainingKind::full;
    if (adapters && experts_only) return 0;
    double sum = 0;
    for (std::size_t i = 0; i < towers_.size(); ++i) {
      for (int c = 0; c < chunks_; ++c) {
        const LayerSplit held = held_by(in_.work.towers[i], stage, c);
        const auto of = [&](const LayerPrices& l) {
          return adapters ? l.adapters : experts_only ? l.expert_parameters : l.parameters - l.expert_parameters;
        };
        sum += held.dense * of(towers_[i].dense) + held.experts * of(towers_[i].experts);
        if (adapters) continue;
        if (!experts_only && held.first) sum += in_.work.towers[i].before_parameters;
        if (!experts_only && held.last) sum += in_.work.towers[i].after_parameters;
      }
    }
    return sum;
  }

  struct Tail {
    double reduce = 0, gather = 0, optimizer = 0, hidden = 0, contention = 0, other = 0;
  };

  // What follows (or runs beside) the last backward: gradient reduction, optimizer, parameter gathering.
  Tail tail(int stage) const {
    Tail t;
    const double held = stage_parameters(stage, false), experts = stage_parameters(stage, true);
    // Beside what gradients and weights travel: the last micro-batch's backward and the first one's forward; interleaved
    // schedules finish a chunk for a whole group of micro-batches before the next, so the group's passes count.
    const double group = chunks_ > 1 ? double(std::min<std::int64_t>(stages_, micro_batches_)) : 1;
    double last_backward = passes_[std::size_t(stage)].backward * group, first_forward = passes_[std::size_t(stage)].forward * group;
    const bool zero1 = p_.sharding == Sharding::zero1 || p_.sharding == Sharding::zero2;
    const auto sync = [&](const collectives::Domain& domain, const collectives::Domain& sharers, double parameters) {
      if (sharded_ || domain.ranks() <= 1 || parameters <= 0) return;
      const double bytes = parameters * in_.behaviour.reduce_bytes;
      const double buckets = std::max(1.0, std::ceil(bytes / bucket_bytes(domain)));
      const bool overlap = in_.effects.overlap && in_.behaviour.reduce_overlap;
      const bool scatter = zero1 && sharers.ranks() == domain.ranks();
      const Exchange kind = scatter ? Exchange::reduce_scatter : Exchange::all_reduce;
      const Overlapped reduce =
          bucketed_reduction(buckets, pricer_.exchange(kind, domain, bytes / buckets).time.si(), last_backward, overlap);
      const Overlapped gather = zero1 ? gather_parameters(sharers, parameters, first_forward) : Overlapped{};
      t.reduce += reduce.exposed_s;
      t.gather += gather.exposed_s;
      last_backward -= reduce.hidden_s;  // what hides one group's traffic hides no other's
      first_forward -= gather.hidden_s;
      const double hidden = reduce.hidden_s + gather.hidden_s;
      t.hidden += hidden;
      t.contention += hidden * pricer_.sm_share(kind, domain, bytes / buckets);
    };
    sync(in_.domains.data, in_.domains.shard, held);
    sync(in_.domains.expert_data, in_.domains.expert_data, experts);
    const bool shared = zero1 || sharded_;
    const double shards = shared ? in_.domains.shard.ranks() : 1, expert_shards = shared ? in_.domains.expert_data.ranks() : 1;
    if (in_.effects.memory_bound) {
      t.optimizer =
          in_.kernels
              .memory_bound((held / shards + experts / expert_shards) * update_bytes(in_.job.optimizer), kernels::MemoryKind::optimizer)
              .si();
    }
    t.other = in_.effects.launch ? in_.behaviour.step_overhead_s : 0;
    return t;
  }

  StepResult assemble(const PipelineInput& pipeline, const PipelineResult& timeline) const {
    int busiest = 0;
    for (int s = 1; s < stages_; ++s) {
      if (timeline.busy[std::size_t(s)] > timeline.busy[std::size_t(busiest)]) busiest = s;
    }
    Picoseconds reduced = 0, after = 0;
    for (int s = 0; s < stages_; ++s) {
      const Tail t = tail(s);
      // Weights are fetched beside the stage's first forward: what that does not hide delays the stage.
      reduced = std::max(reduced, ps(t.gather) + timeline.stage_end[std::size_t(s)] + ps(t.reduce) + ps(t.contention));
      after = std::max(after, ps(t.optimizer) + ps(t.other));
    }
    const auto b = std::size_t(busiest);
    const Tail t = tail(busiest);
    const double m = double(micro_batches_);
    ChunkTime all = forward_[b];
    all += backward_[b];
    StepResult result;
    StepParts& parts = result.parts;
    parts.total = reduced + after;
    parts.exposed_comm = ps((all.tensor + all.shard) * m) + ps(t.reduce) + ps(t.gather);
    const Picoseconds blocked = pipeline.blocking && stages_ > 1 ? pipeline.transfer * 2 * micro_batches_ * chunks_ : 0;
    parts.exposed_comm += blocked;
    parts.other = ps(gap_[b] * m) + ps(t.other);
    parts.compute = timeline.busy[b] - (ps((all.tensor + all.shard) * m) + blocked + ps(gap_[b] * m)) + ps(t.optimizer) + ps(t.contention);
    parts.bubble = parts.total - parts.compute - parts.exposed_comm - parts.other;
    if (!in_.effects.bubbles || stages_ == 1) {
      parts.total -= parts.bubble;
      parts.bubble = 0;
    }
    if (reduced + after == Picoseconds::forever()) parts = {reduced + after, reduced + after, 0, 0, 0};  // nothing of it can be told apart
    StepDetail& d = result.detail;
    d.matrix_s = all.matrix * m;
    d.memory_s = all.memory * m;
    d.contention_s = all.contention * m + t.contention;
    d.optimizer_s = t.optimizer;
    d.tensor_s = all.tensor * m;
    d.shard_s = all.shard * m;
    d.data_s = t.reduce + t.gather;
    d.pipeline_s = blocked.seconds();
    d.hidden_comm_s = all.hidden * m + t.hidden;
    d.launch_s = gap_[b] * m;
    d.busiest_stage = busiest;
    d.recompute_s = all.recompute * m;
    result.slots = timeline.slots;
    if (!result.slots.empty()) result.lanes = lanes_of(result.slots);
    return result;
  }

  std::vector<StageLane> lanes_of(const std::vector<PipelineSlot>& slots) const {
    std::vector<StageLane> lanes;
    for (int s = 0; s < stages_; ++s) {
      const Tail t = tail(s);
      lanes.push_back({0, ps(t.gather), ps(t.reduce) + ps(t.contention), ps(t.optimizer) + ps(t.other)});
    }
    const bool own_starts =
        chunks_ == 1 && (p_.schedule == workload::Schedule::zero_bubble_1p || p_.schedule == workload::Schedule::zero_bubble_2p);
    if (!own_starts) return lanes;
    for (const PipelineSlot& slot : slots) {  // a stage's first one is a forward of micro-batch 0
      if (slot.micro_batch == 0 && !slot.backward) lanes[std::size_t(slot.stage)].start = slot.start;
    }
    return lanes;
  }

  const StepInput& in_;
  const workload::Parallelism& p_;
  std::optional<kernels::Kernels> own_limited_;  // before pricer_, which refers to it
  Pricer pricer_;
  std::int64_t micro_batches_ = 1;
  bool sharded_ = false;
  int stages_ = 1, chunks_ = 1;
  std::vector<TowerPrices> towers_;
  std::vector<LayerRun> runs_;
  bool weights_apart_ = false;
  std::vector<ChunkTime> forward_ = std::vector<ChunkTime>(std::size_t(std::max(1, in_.job.parallelism.pp)));
  std::vector<ChunkTime> backward_ = forward_;
  struct Passes {
    double forward = 0, backward = 0;  // seconds of all chunks, launch gaps included
  };
  std::vector<Passes> passes_ = std::vector<Passes>(forward_.size());
  std::vector<double> gap_ = std::vector<double>(forward_.size());
};

}  // namespace

StepResult time_step(const StepInput& input, bool keep_slots) { return StepTimer(input).run(keep_slots); }

}  // namespace trunkline::timeline
