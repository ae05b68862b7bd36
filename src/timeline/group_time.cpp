#include "timeline/group_time.hpp"

#include <algorithm>

namespace trunkline::timeline {
namespace {

using workload::Exchange;
using workload::Sharding;

class GroupTimer {
 public:
  explicit GroupTimer(const StepInput& in)
      : in_(in),
        p_(in.job.parallelism),
        pricer_(in.kernels, in.kernels, in.gpu, in.domains, in.behaviour, in.effects, in.collective_options),
        micro_batches_(double(std::max<std::int64_t>(1, in.job.batch.global / std::max<std::int64_t>(1, in.job.batch.micro * p_.dp)))),
        sharded_(p_.sharding == Sharding::zero3 || p_.sharding == Sharding::hsdp) {}

  GroupTimes run() {
    for (const auto& tower : in_.work.towers) add(tower);
    add_gradients();
    add_pipeline();
    return times_;
  }

 private:
  double& of(workload::Group group) {
    switch (group) {
      case workload::Group::tensor: return times_.tensor;
      case workload::Group::context: return times_.context;
      case workload::Group::expert: return times_.expert;
      case workload::Group::expert_tensor: return times_.expert_tensor;
      case workload::Group::data: return times_.data;
      case workload::Group::pipeline: return times_.pipeline;
    }
    return times_.tensor;
  }

  double exchange(Exchange kind, const collectives::Domain& domain, double bytes) const {
    return pricer_.exchange(kind, domain, bytes).time.si();
  }

  void add(const workload::Pass& pass, double times) {
    for (const auto& op : pass.ops) {
      if (op.kind != workload::Op::Kind::exchange || times <= 0) continue;
      of(op.group) += times * exchange(op.exchange, pricer_.domain(op.group), op.size);
    }
  }

  void add(const workload::TowerWork& tower) {
    const double stages = std::max(1, p_.pp), recomputed = in_.job.recompute == workload::Recompute::full ? in_.job.recompute_share : 1;
    const double each = micro_batches_ / stages;
    const bool full = in_.job.kind == workload::TrainingKind::full;
    for (const auto* layers : {&tower.dense, &tower.experts}) {
      add(layers->forward, each * layers->count);
      add(layers->backward, each * layers->count);
      add(layers->recompute, each * layers->count * recomputed);
      Held held{layers->parameters - layers->expert_parameters, layers->expert_parameters};
      held.trained = full ? held.dense : layers->adapter_parameters;
      held.trained_experts = full ? held.experts : 0;
      add_sharding(held, layers->count / stages, in_.behaviour.reshard_after_forward ? 2 : 1);
      trained_ += layers->count / stages * held.trained;
      trained_experts_ += layers->count / stages * held.trained_experts;
    }
    for (const auto* pass : {&tower.before_forward, &tower.before_backward, &tower.after_forward, &tower.after_backward}) add(*pass, each);
    for (const double parameters : {tower.before_parameters, tower.after_parameters}) {
      add_sharding({parameters, 0, full ? parameters : 0, 0}, 1 / stages, 1);
      if (full) trained_ += parameters / stages;
    }
  }

  // Parameters of one layer, or of what stands before or behind all layers.
  struct Held {
    double dense = 0, experts = 0, trained = 0, trained_experts = 0;
  };

  // Weights fetched `gathers` times a micro-batch and gradients scattered, `layers` times alike.
  void add_sharding(const Held& held, double layers, double gathers) {
    if (!sharded_ || layers <= 0) return;
    const auto& d = in_.domains;
    const double fetched = gathered_bytes(in_.job, in_.behaviour), reduced = in_.behaviour.reduce_bytes;
    const double fetches = layers * micro_batches_ * gathers;
    const double scatters = layers * (in_.behaviour.sharded_reduce_each_micro ? micro_batches_ : 1);
    times_.shard += fetches * exchange(Exchange::all_gather, d.shard, held.dense * fetched);
    times_.shard += scatters * exchange(Exchange::reduce_scatter, d.shard, held.trained * reduced);
    times_.expert_data += fetches * exchange(Exchange::all_gather, d.expert_data, held.experts * fetched);
    times_.expert_data += scatters * exchange(Exchange::reduce_scatter, d.expert_data, held.trained_experts * reduced);
    if (p_.sharding == Sharding::hsdp)
      times_.replica += scatters * exchange(Exchange::all_reduce, d.replica, held.trained * reduced / std::max(1, d.shard.ranks()));
  }

  void add_gradients() {
    if (sharded_) return;
    const auto& d = in_.domains;
    const double reduced = in_.behaviour.reduce_bytes, gathered = gathered_bytes(in_.job, in_.behaviour);
    const bool shared = p_.sharding != Sharding::none, scatter = shared && d.shard.ranks() == d.data.ranks();
    times_.data += exchange(scatter ? Exchange::reduce_scatter : Exchange::all_reduce, d.data, trained_ * reduced);
    times_.expert_data += exchange(shared ? Exchange::reduce_scatter : Exchange::all_reduce, d.expert_data, trained_experts_ * reduced);
    if (!shared) return;
    (scatter ? times_.data : times_.shard) += exchange(Exchange::all_gather, d.shard, trained_ * gathered);
    times_.expert_data += exchange(Exchange::all_gather, d.expert_data, trained_experts_ * gathered);
  }

  void add_pipeline() {
    if (p_.pp < 2) return;
    const auto copy = time_of(in_.domains.pipeline, collectives::Collective::send_recv,
                              scaled(Bytes(1), in_.work.towers.front().boundary_bytes), in_.collective_options);
    times_.pipeline += 2 * micro_batches_ * std::max(1, p_.vpp) * copy.time.si();
  }

  const StepInput& in_;
  const workload::Parallelism& p_;
  Pricer pricer_;
  double micro_batches_;
  bool sharded_;
  double trained_ = 0, trained_experts_ = 0;  // parameters of an average GPU
  GroupTimes times_;
};

}  // namespace

double gathered_bytes(const workload::Job& job, const workload::Behaviour& behaviour) {
  using catalog::Precision;
  if (behaviour.gathers_narrow && catalog::bytes_per_element(job.precision.compute) <= 1) return 1;
  return catalog::bytes_per_element(job.precision.parameters == Precision::fp32 ? Precision::bf16 : job.precision.parameters);
}

GroupTimes group_times(const StepInput& input) { return GroupTimer(input).run(); }

}  // namespace trunkline::timeline
