#include "workload/operations.hpp"

#include <algorithm>

#include "workload/layer_ops.hpp"

namespace trunkline::workload {
namespace {

double attention_flops(const Tower& t, double tokens) {
  const double width = t.latent.kv_rank > 0 ? double(t.latent.nope_dim + t.latent.rope_dim + t.latent.value_dim) / 2 : t.head_dim;
  return 4 * tokens * tokens * t.heads * width;
}

double tower_flops(const Tower& t, std::int64_t sequence) {
  const double tokens = double(t.tokens(sequence));
  const TowerParameters p = parameters_of(t);
  const int with_experts = moe_layers(t);
  const double in_layers = p.layer * (t.layers - with_experts) + p.moe_active * with_experts;
  double flops = 2 * tokens * in_layers + t.layers * attention_flops(t, tokens);
  if (t.vocab > 0 && t.head) flops += 2 * tokens * double(t.hidden) * double(t.vocab);
  if (t.image > 0) flops += 2 * tokens * double(t.patch) * t.patch * t.channels * double(t.hidden);
  flops += 2 * double(t.hidden) * double(t.projection + t.classes);
  return flops;
}

void scale_by_stage(TowerWork& work, const LayerBuilder& builder, const Tower& t) {
  const int with_experts = moe_layers(t);
  work.dense = builder.layer(false);
  work.dense.count = t.layers - with_experts;
  if (with_experts > 0) {
    work.experts = builder.layer(true);
    work.experts.count = with_experts;
  }
}

// CLIP's loss: the features of all ranks are gathered, then every rank compares its own samples with all of them.
void add_contrastive_loss(const Job& job, const Tower& t, TowerWork& work) {
  const double own = double(job.batch.micro), all = double(job.batch.global), width = double(t.projection);
  Op gather;
  gather.kind = Op::Kind::exchange;
  gather.name = "gather features";
  gather.exchange = Exchange::all_gather;
  gather.group = Group::data;
  gather.size = all * width * 2;
  work.after_forward.ops.push_back(gather);
  Op logits;
  logits.kind = Op::Kind::gemm;
  logits.name = "similarities";
  logits.m = own, logits.n = all, logits.k = width;
  work.after_forward.ops.push_back(logits);
  logits.batch = 2;
  work.after_backward.ops.push_back(logits);
}

}  // namespace

double forward_flops_per_sample(const Model& model, std::int64_t sequence) {
  double total = 0;
  for (const Tower& t : model.towers) total += tower_flops(t, sequence);
  return total;
}

StepWork operations_of(const Job& job, const Behaviour& behaviour) {
  StepWork step;
  step.model_flops_per_sample = 3 * forward_flops_per_sample(job.model, job.batch.sequence);
  for (const Tower& t : job.model.towers) {
    TowerWork work;
    const LayerBuilder builder(t, job, behaviour);
    scale_by_stage(work, builder, t);
    builder.before(work);
    builder.after(work);
    work.tokens = builder.local_tokens();
    work.boundary_bytes = builder.boundary_bytes();
    step.towers.push_back(std::move(work));
  }
  if (job.model.kind == Model::Kind::contrastive && !step.towers.empty()) {
    add_contrastive_loss(job, job.model.towers.back(), step.towers.back());
  }
  return step;
}

}  // namespace trunkline::workload
