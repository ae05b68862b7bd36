// The tensors that one layer keeps between its forward and its backward pass.
#include <algorithm>

#include "workload/memory.hpp"

namespace trunkline::workload {
namespace {

// Sizes of one micro-batch on one GPU, in elements.
struct Share {
  double tokens = 0;     // of the micro-batch, after context parallelism
  double tp = 1;         // tensor parallelism
  double stream = 1;     // share of the residual stream that a rank keeps: 1/tp with sequence parallelism
  double query = 0;      // a token's queries on this rank, all heads
  double key_value = 0;  // a token's keys (or values) on this rank
  double value = 0;      // a token's attention output on this rank
  double heads = 0;      // on this rank
  double scores = 0;     // elements of the score matrices on this rank
};

Share share_of(const Tower& t, const Job& job) {
  const Parallelism& p = job.parallelism;
  Share s;
  const double length = double(t.tokens(job.batch.sequence)), cp = t.is_vision() ? 1 : p.cp;
  s.tokens = double(job.batch.micro) * length / cp;
  s.tp = p.tp;
  s.stream = p.sequence_parallel ? 1 / s.tp : 1;
  s.heads = t.heads / s.tp;
  s.query = s.heads * t.head_dim;
  s.key_value = std::max(t.kv_heads / s.tp, 1.0) * t.head_dim;
  s.value = s.query;
  if (t.latent.kv_rank > 0) {
    s.key_value = s.query;
    s.value = s.heads * t.latent.value_dim;
  }
  s.scores = double(job.batch.micro) * s.heads * (length / cp) * length;
  return s;
}

bool keeps_masks(const Tower& t, const MemoryRules& r) {
  // Frameworks of GPT's time train with dropout unless told otherwise; families with rms norms never did.
  return t.dropout || (r.dropout && t.norm == Norm::layer);
}

// The input of one norm. An rms norm of separate operations keeps the fp32 input and the normalised tensor.
double norm_input(const Tower& t, const MemoryRules& r) { return !r.fused_norm && t.norm == Norm::rms ? 4 + r.residual : r.residual; }

double stream_bytes(const Tower& t, const Share& s) { return double(t.hidden) * s.tokens * s.stream; }

// q, k, v, the attention output, and what the core needs in between.
double attention(const Tower& t, const Share& s, const MemoryRules& r, bool with_scores) {
  double sum = stream_bytes(t, s) * (norm_input(t, r) + r.qkv_inputs * r.linear_input);
  sum += r.element * s.tokens * (s.query + s.key_value + (t.latent.kv_rank > 0 ? s.value : s.key_value));
  if (t.qk_norm) sum += r.element * s.tokens * (s.query + s.key_value);
  if (t.latent.kv_rank > 0) {  // compressed queries, keys and values, before and after their norms
    sum += s.tokens * (r.element + r.linear_input) * double(t.latent.q_rank + t.latent.kv_rank);
  }
  sum += r.element * s.tokens * s.value;
  if (r.linear_input < r.element) sum += r.linear_input * s.tokens * s.value;
  const bool masks = keeps_masks(t, r);
  if (r.flash_attention) {
    sum += 4 * s.tokens * s.heads;  // log-sum-exp of each row
  } else if (with_scores) {
    // Softmax; its mask and what is left of it, or its 16-bit copy for the product with the values.
    sum += s.scores * (r.softmax + (masks ? 1 + r.element : r.softmax > r.element ? r.element : 0));
  }
  return sum + (masks ? stream_bytes(t, s) : 0);
}

// Inner tensors of a feed-forward block of width `ffn` (this rank's part) over `tokens`.
double inner(const Tower& t, double ffn, double tokens, const MemoryRules& r) {
  const double activation = r.fused_activation ? 1 : kept_tensors(t.activation);
  const double before = t.gated ? activation + (r.fused_activation ? 1 : 2) : activation;  // gate, up; silu(gate) where it is a tensor
  return tokens * ffn * (before * r.element + r.linear_input);
}

double feed_forward(const Tower& t, const Share& s, const MemoryRules& r) {
  const double norm = t.norms >= 2 ? norm_input(t, r) : 0;  // one norm serves both blocks where the family has but one
  const double inputs = (t.gated ? r.gate_inputs : 1) * r.linear_input;
  return stream_bytes(t, s) * (norm + inputs + (keeps_masks(t, r) ? 1 : 0)) + inner(t, double(t.ffn) / s.tp, s.tokens, r);
}

// Experts with an even load: every rank passes per_token · tokens / tp expert tokens through whole experts, or all of them
// through 1/etp of each.
double expert_layer(const Tower& t, const Share& s, const MemoryRules& r, double etp) {
  const Experts& e = t.experts;
  const double visits = s.tokens * e.per_token / s.tp;
  double sum =
      stream_bytes(t, s) * (norm_input(t, r) + r.linear_input) + 2 * 4 * s.tokens * s.stream * e.count;  // router logits, probabilities
  sum += visits * double(t.hidden) * (r.linear_input * etp + r.element);  // dispatched, and returned before they are weighted
  sum += inner(t, double(e.ffn), visits, r);
  if (e.shared > 0) sum += inner(t, double(e.ffn) * e.shared / s.tp, s.tokens, r);
  return sum;
}

// What is kept when matrix products are kept and the rest is computed again.
double matmuls(const Tower& t, const Share& s, const MemoryRules& r, bool with_experts, bool all) {
  const double width = with_experts ? double(t.experts.ffn) * (t.experts.per_token + t.experts.shared) : double(t.ffn);
  const double ffn = width / s.tp, gates = t.gated ? 2 : 1, stream = stream_bytes(t, s);
  double sum = s.tokens * s.value * r.element + 4 * s.tokens * s.heads;
  if (all) return sum + r.element * (s.tokens * (s.query + 2 * s.key_value + gates * ffn) + 2 * stream);
  // In order q, k, v, output, gate, up, down: the first, third, fifth and seventh. Without a gate the seventh does not exist.
  return sum + r.element * (s.tokens * (s.query + s.key_value + ffn) + (t.gated ? stream : 0));
}

}  // namespace

LayerActivations layer_activations(const Tower& t, const Job& job, const MemoryRules& r, bool with_experts) {
  const Share s = share_of(t, job);
  const double etp = job.parallelism.etp > 0 ? job.parallelism.etp : job.parallelism.tp;
  const double second = with_experts ? expert_layer(t, s, r, etp) : feed_forward(t, s, r);
  LayerActivations a;
  a.full = r.residual * stream_bytes(t, s);
  a.none = attention(t, s, r, true) + second;
  a.selective = r.selective == Selective::core_attention ? attention(t, s, r, false) + second
                                                         : a.full + matmuls(t, s, r, with_experts, r.selective == Selective::all_matmuls);
  a.selective = std::min(a.selective, a.none);
  return a;
}

}  // namespace trunkline::workload
