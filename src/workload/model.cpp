#include "workload/model.hpp"

#include <algorithm>

namespace trunkline::workload {

double kept_tensors(Activation activation) {
  switch (activation) {
    case Activation::single: return 1;
    case Activation::quick_gelu: return 2;
    case Activation::gelu_new: return 7;  // under autocast a chain in fp32
  }
  return 1;
}
namespace {

double norm_parameters(const Tower& t, double width) { return t.norm == Norm::layer && t.norm_bias ? 2 * width : width; }

double latent_attention_parameters(const Tower& t) {
  const Latent& l = t.latent;
  const double h = double(t.hidden), heads = t.heads, query = l.nope_dim + l.rope_dim;
  const double queries = l.q_rank > 0 ? h * l.q_rank + l.q_rank + l.q_rank * heads * query : h * heads * query;
  const double keys_values = h * (l.kv_rank + l.rope_dim) + l.kv_rank + l.kv_rank * heads * (l.nope_dim + l.value_dim);
  return queries + keys_values + heads * l.value_dim * h;
}

double attention_parameters(const Tower& t) {
  if (t.latent.kv_rank > 0) return latent_attention_parameters(t);
  const double h = double(t.hidden), q = double(t.heads) * t.head_dim, kv = double(t.kv_heads) * t.head_dim;
  double sum = h * q + 2 * h * kv + q * h;
  if (t.biases || t.qkv_bias) sum += q + 2 * kv;
  if (t.biases || t.out_bias) sum += h;
  if (t.qk_norm) sum += 2.0 * t.head_dim;
  return sum;
}

double feed_forward_parameters(const Tower& t, double ffn, bool biases) {
  const double h = double(t.hidden), inner = t.gated ? 2 : 1;
  return (inner + 1) * h * ffn + (biases ? inner * ffn + h : 0);
}

double embedding_parameters(const Tower& t) {
  const double h = double(t.hidden);
  double sum = double(t.vocab) * h + double(t.token_types) * h;
  if (t.is_vision()) sum += double(t.channels) * t.patch * t.patch * h + (t.patch_bias ? h : 0) + h;  // patches, class token
  if (t.positions == Positions::learned) {
    sum += double((t.is_vision() ? t.tokens(0) : t.max_positions) + t.extra_positions) * h;
  }
  if (t.embedding_norm) sum += norm_parameters(t, h);
  return sum;
}

double head_parameters(const Tower& t) {
  const double h = double(t.hidden);
  double sum = t.final_norm ? norm_parameters(t, h) : 0;
  if (t.head && t.vocab > 0 && !t.tied) sum += double(t.vocab) * h;
  if (t.head_transform) sum += h * h + h + norm_parameters(t, h) + double(t.vocab);
  if (t.classes > 0) sum += double(t.classes) * (h + 1);
  return sum + double(t.projection) * h;
}

}  // namespace

std::int64_t Tower::tokens(std::int64_t sequence) const {
  if (is_vision()) {
    const std::int64_t side = patch > 0 ? image / patch : 0;
    return side * side + 1;
  }
  return sequence > 0 ? sequence : max_positions;
}

int moe_layers(const Tower& tower) {
  if (tower.experts.count == 0) return 0;
  const int every = std::max(1, tower.experts.every);
  return std::max(0, (tower.layers - tower.experts.first_dense_layers + every - 1) / every);
}

TowerParameters parameters_of(const Tower& tower) {
  TowerParameters p;
  const double shared_by_all = attention_parameters(tower) + tower.norms * norm_parameters(tower, double(tower.hidden));
  p.layer = shared_by_all + feed_forward_parameters(tower, double(tower.ffn), tower.biases);
  if (tower.experts.count > 0) {
    const Experts& e = tower.experts;
    const double expert = feed_forward_parameters(tower, double(e.ffn), false);
    const double router = e.count * (double(tower.hidden) + (e.router_bias ? 1 : 0)) + (e.shared_gate ? double(tower.hidden) : 0);
    p.moe_layer = shared_by_all + router + expert * (e.count + e.shared);
    p.moe_active = shared_by_all + router + expert * (e.per_token + e.shared);
  }
  p.embedding = embedding_parameters(tower);
  p.head = head_parameters(tower);
  return p;
}

namespace {

double sum_of(const Model& model, bool active) {
  double sum = model.kind == Model::Kind::contrastive ? 1 : 0;  // CLIP's logit scale
  for (const Tower& t : model.towers) {
    const TowerParameters p = parameters_of(t);
    const int with_experts = moe_layers(t);
    sum += p.embedding + p.head + p.layer * (t.layers - with_experts) + (active ? p.moe_active : p.moe_layer) * with_experts;
  }
  return sum;
}

}  // namespace

double Model::parameters() const { return sum_of(*this, false); }
double Model::active_parameters() const { return sum_of(*this, true); }

}  // namespace trunkline::workload
