#include "workload/operations.hpp"

#include <algorithm>

#include "workload/layer_ops.hpp"

namespace trunkline::workload {
namespace {

double attention_flops(const Tower& t, double tokens) {
  const double width = t.latent.kv_rank > 0 ? double(t.latent.nope_dim + t.latent.rope_dim + t.latent.value_dim) / 2 : t.head_dim;
  return 4 * tokens * tokens * t.heads * width;
}

// Elements of the matrices that a token meets in one layer: attention's, then the feed-forward block's or its experts'.
double layer_matrices(const Tower& t, bool with_experts) {
  const double h = double(t.hidden), heads = t.heads, inputs = t.gated ? 2 : 1;
  const Latent& l = t.latent;
  double sum = 0;
  if (l.kv_rank > 0) {
    const double query = l.nope_dim + l.rope_dim;
    sum += l.q_rank > 0 ? l.q_rank * (h + heads * query) : h * heads * query;
    sum += h * (l.kv_rank + l.rope_dim) + l.kv_rank * heads * (l.nope_dim + l.value_dim) + heads * l.value_dim * h;
  } else {
    sum += 2 * h * t.head_dim * (heads + double(t.kv_heads));
  }
  if (!with_experts) return sum + (inputs + 1) * h * double(t.ffn);
  const Experts& e = t.experts;
  return sum + h * e.count + (e.shared_gate ? h : 0) + (inputs + 1) * h * double(e.ffn) * (e.per_token + e.shared);
}

struct Forward {
  double layer_matrices = 0, attention = 0, ends = 0;  // FLOPs of one sample
  double total() const { return layer_matrices + attention + ends; }
  double layers() const { return layer_matrices + attention; }
};

Forward tower_flops(const Tower& t, std::int64_t sequence) {
  const double tokens = double(t.tokens(sequence)), h = double(t.hidden);
  const int with_experts = moe_layers(t);
  Forward f;
  f.layer_matrices = 2 * tokens * layer_matrices(t, false) * (t.layers - with_experts);
  if (with_experts > 0) f.layer_matrices += 2 * tokens * layer_matrices(t, true) * with_experts;
  f.attention = t.layers * attention_flops(t, tokens);
  if (t.vocab > 0 && t.head) f.ends += 2 * tokens * h * (double(t.vocab) + (t.head_transform ? h : 0));
  if (t.is_vision()) f.ends += 2 * tokens * double(t.patch) * t.patch * t.channels * h;
  f.ends += 2 * h * double(t.projection + t.classes);
  return f;
}

// Backward: two products for each of forward's; frozen matrices need only the one that passes gradients on. LoRA's own products,
// below a hundredth, are left out.
double model_flops(const Job& job) {
  const double products = job.kind == TrainingKind::full ? 3 : 2;
  double sum = 0;
  for (const Tower& t : job.model.towers) {
    const Forward f = tower_flops(t, job.batch.sequence);
    sum += products * (f.layer_matrices + f.ends) + 3 * f.attention;
  }
  return sum;
}

// Selective recomputation repeats attention's products where it keeps no score matrix, and no other.
double recomputed_flops(const Job& job, const Behaviour& behaviour) {
  double sum = 0;
  for (const Tower& t : job.model.towers) {
    const Forward f = tower_flops(t, job.batch.sequence);
    if (job.recompute == Recompute::full) sum += f.layers() * job.recompute_share;
    if (job.recompute == Recompute::selective && !behaviour.flash_attention) sum += f.attention;
  }
  return sum;
}

void add_layers(TowerWork& work, const LayerBuilder& builder, const Tower& t) {
  const int with_experts = moe_layers(t);
  if (with_experts < t.layers) work.dense = builder.layer(false);
  work.dense.count = t.layers - with_experts;
  if (with_experts > 0) work.experts = builder.layer(true);
  work.experts.count = with_experts;
  work.leading_dense = t.experts.first_dense_layers;
  work.every = std::max(1, t.experts.every);
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
  for (const Tower& t : model.towers) total += tower_flops(t, sequence).total();
  return total;
}

StepWork operations_of(const Job& job, const Behaviour& behaviour) {
  StepWork step;
  step.model_flops_per_sample = model_flops(job);
  step.recomputed_flops_per_sample = recomputed_flops(job, behaviour);
  for (const Tower& t : job.model.towers) {
    TowerWork work;
    const LayerBuilder builder(t, job, behaviour);
    add_layers(work, builder, t);
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
