// What the tests of a step's operations share.
#pragma once

#include <string>

#include "workload/operations.hpp"

namespace trunkline::workload::testing_operations {

// A job with nothing left open: one GPU, one sample of `sequence` tokens a micro-batch.
inline Job job_of(const Model& model, std::int64_t sequence = 512) {
  Job job;
  job.model = model;
  job.framework = Framework::megatron;
  job.batch = {8, 1, sequence};
  return job;
}

inline Job job_of(const std::string& name, std::int64_t sequence = 512) { return job_of(*builtin_model(name), sequence); }

inline Behaviour plain() {
  Behaviour b;
  b.tensor_overlap = 0.5;
  return b;
}

inline StepWork work_of(const Job& job, bool sequence_parallel = false) {
  Behaviour b = plain();
  b.sequence_parallel = sequence_parallel;
  return operations_of(job, b);
}

// What a kernel computes of the model's mathematics: attention counted over the whole score matrix, its backward twice the
// forward (what flash kernels compute again is theirs).
inline double flops(const Op& op) {
  if (op.kind == Op::Kind::gemm) return 2 * op.batch * op.m * op.n * op.k;
  if (op.kind != Op::Kind::attention) return 0;
  return (op.backward ? 8 : 4) * op.sequences * op.heads * op.query_length * op.key_length * op.head_dim;
}

inline double flops(const Pass& pass, Op::Kind kind) {
  double sum = 0;
  for (const Op& op : pass.ops) sum += op.kind == kind ? flops(op) : 0;
  return sum;
}
inline double flops(const Pass& pass) { return flops(pass, Op::Kind::gemm) + flops(pass, Op::Kind::attention); }

// Sums over one GPU of a single pipeline stage.
template <class Of>
inline double over_layers(const StepWork& work, Of of) {
  double sum = 0;
  for (const TowerWork& t : work.towers) sum += t.dense.count * of(t.dense) + t.experts.count * of(t.experts);
  return sum;
}
inline double forward_flops(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return flops(l.forward); });
  for (const TowerWork& t : work.towers) sum += flops(t.before_forward) + flops(t.after_forward);
  return sum;
}
inline double backward_flops(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return flops(l.backward); });
  for (const TowerWork& t : work.towers) sum += flops(t.before_backward) + flops(t.after_backward);
  return sum;
}
inline double parameters(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return l.parameters; });
  for (const TowerWork& t : work.towers) sum += t.before_parameters + t.after_parameters;
  return sum;
}

inline const Op* find(const Pass& pass, const std::string& name) {
  for (const Op& op : pass.ops) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

struct Traffic {
  int count = 0;
  double bytes = 0;
};
inline Traffic exchanged(const Pass& pass, Exchange exchange, Group group) {
  Traffic t;
  for (const Op& op : pass.ops) {
    if (op.kind == Op::Kind::exchange && op.exchange == exchange && op.group == group) ++t.count, t.bytes += op.size;
  }
  return t;
}

inline bool contrastive(const Model& model) { return model.kind == Model::Kind::contrastive; }

// What every tensor-parallel rank holds in full: norms, positions, the biases that are added behind a sum over the ranks,
// and small matrices that nobody splits (router, patches, latent down-projections, projections and class heads).
inline double replicated(const Tower& t) {
  const double h = double(t.hidden), norm = t.norm == Norm::layer && t.norm_bias ? 2 * h : h;
  const bool latent = t.latent.kv_rank > 0;
  double layer = t.norms * norm + (t.biases || t.out_bias ? h : 0) + (t.qk_norm ? 2.0 * t.head_dim : 0);
  if (latent) layer += h * (t.latent.q_rank + t.latent.kv_rank + t.latent.rope_dim) + t.latent.q_rank + t.latent.kv_rank;
  const Experts& e = t.experts;
  const double with_experts = e.count > 0 ? e.count * (h + (e.router_bias ? 1 : 0)) + (e.shared_gate ? h : 0) : 0;
  double ends = double(t.token_types) * h + (t.embedding_norm ? norm : 0) + (t.final_norm ? norm : 0);
  if (t.is_vision()) ends += double(t.channels) * t.patch * t.patch * h + (t.patch_bias ? h : 0) + h;
  if (t.positions == Positions::learned) ends += double((t.is_vision() ? t.tokens(0) : t.max_positions) + t.extra_positions) * h;
  if (t.head_transform) ends += h * h + h + norm;
  ends += double(t.projection) * h + double(t.classes) * (h + 1);
  const int moe = moe_layers(t);
  return layer * t.layers + (t.biases ? h * (t.layers - moe) : 0) + with_experts * moe + ends;
}

}  // namespace trunkline::workload::testing_operations
