#include <algorithm>
#include <cmath>

#include "kernels/kernels.hpp"

namespace trunkline::kernels {
namespace {

constexpr double kBlock = 128;                            // queries and keys of a block
constexpr double kHeadStep = 32;                          // head sizes are padded to a multiple of this
constexpr double kForwardFlops = 4, kBackwardFlops = 10;  // a score and element of the head: 2 and 5 products
constexpr double kUnalignedSmRate = 0.5e12;               // FLOP/s of an SM: 0.4–0.7 on an H200 (data/calibration/h200_score_products.csv)
// cuDNN 9 on an H200 (data/calibration/h200_step_kernels.csv): adding a mask that is read as a tensor, both ways (Llama 1B, GPT-2);
// drawing random bits for every score (GPT-2).
constexpr double kMask = 1.8, kDropoutForward = 2.4, kDropoutBackward = 1.25;
constexpr double kForwardTensors = 2, kBackwardTensors = 4;  // of the query's size, read or written

catalog::Precision attention_precision(catalog::Precision p) {
  return p == catalog::Precision::fp8 || p == catalog::Precision::fp4 ? catalog::Precision::bf16 : p;
}

bool empty(const Attention& a) { return a.batch <= 0 || a.heads <= 0 || a.query_length <= 0 || a.key_length <= 0 || a.head_dim <= 0; }

// Keys that all blocks of queries of one head visit, in whole blocks; causal: the last query sees the last key.
double visited_keys(const Attention& a, double query_blocks) {
  const double key_blocks = std::ceil(a.key_length / kBlock);
  const double all = query_blocks * key_blocks;
  if (!a.causal) return all * kBlock;
  const double before = std::ceil(std::max(0.0, a.key_length - a.query_length) / kBlock);
  return std::min(all, query_blocks * before + query_blocks * (query_blocks + 1) / 2) * kBlock;
}

}  // namespace

double Kernels::flash(const Attention& a, const FlashShare& how, double flops_per_score, double tensors) const {
  const catalog::Precision precision = attention_precision(a.precision);
  const double head = std::ceil(a.head_dim / kHeadStep) * kHeadStep;
  const double share = how.share * std::pow(std::min(head / 128, 1.0), how.head_exponent);
  const double sm_rate = gpu_.rate(precision).si() * share / sms_;
  const double key_s = flops_per_score * head * kBlock / sm_rate;  // a block of queries and one key

  const double sequences = a.batch * a.heads;
  const double blocks = std::ceil(a.query_length / kBlock);
  const double work = sequences * (visited_keys(a, blocks) + how.overhead_keys * blocks);
  const double longest = std::ceil(a.key_length / kBlock) * kBlock + how.overhead_keys;
  const double waves = std::max(1.0, sequences * blocks / sms_);
  const double compute = std::max(longest, work / sms_ + how.tail * longest * (1 - 1 / waves)) * key_s;

  const double bytes = std::max(2.0, catalog::bytes_per_element(precision));
  const double query = sequences * a.query_length * a.head_dim * bytes;
  const double kv_heads = a.kv_heads > 0 ? std::min(a.kv_heads, a.heads) : a.heads;
  const double keys = a.batch * kv_heads * a.key_length * a.head_dim * bytes;
  const bool backward = tensors > kForwardTensors;
  // Backward with grouped heads writes the gradients of every head and then adds them up within a group.
  const double grouped = backward && kv_heads < a.heads ? 4 * sequences * a.key_length * a.head_dim * bytes : 0;
  double slowed = a.masked ? kMask : 1;
  if (a.dropout && a.kind == AttentionKind::flash3) slowed *= backward ? kDropoutBackward : kDropoutForward;
  const double rate = memory_rate(MemoryKind::copy);
  const double least = (tensors * query + tensors * keys) / rate;
  return std::max(compute * slowed, least) + (how.passes * query + grouped) / rate + how.latency_s;
}

Seconds Kernels::attention_forward(const Attention& a) const {
  if (empty(a)) return {};
  if (a.kind == AttentionKind::unfused) return unfused_forward(a);
  return seconds(flash(a, a.kind == AttentionKind::flash3 ? efficiencies_.flash3_forward : efficiencies_.flash2_forward, kForwardFlops,
                       kForwardTensors));
}

Seconds Kernels::attention_backward(const Attention& a) const {
  if (empty(a)) return {};
  if (a.kind == AttentionKind::unfused) return unfused_backward(a);
  return seconds(flash(a, a.kind == AttentionKind::flash3 ? efficiencies_.flash3_backward : efficiencies_.flash2_backward, kBackwardFlops,
                       kBackwardTensors));
}

// Rows that do not begin at 16-byte steps (sequences of 77, 197 or 257) leave the libraries kernels that load element by
// element; they are bound by instructions, whole tiles counted.
Seconds Kernels::score_product(const Gemm& g) const {
  const Seconds aligned = gemm(g);
  const int step = 16 / std::max(1, g.output_bytes);
  const auto odd = [&](double length) { return std::fmod(length, step) != 0; };
  if (!odd(g.m) && !odd(g.n) && !odd(g.k)) return aligned;
  const auto whole = [&](double length) {  // in tiles; head sizes fit as they are
    const double tile = length > 64 ? 128 : 64;
    return odd(length) ? std::ceil(length / tile) * tile : length;
  };
  return std::max(aligned, seconds(2 * g.batch * whole(g.m) * whole(g.n) * g.k / (kUnalignedSmRate * sms_)));
}

Seconds Kernels::unfused_forward(const Attention& a) const {
  const catalog::Precision precision = attention_precision(a.precision);
  const double element = std::max(2.0, catalog::bytes_per_element(precision));
  const double scores = a.batch * a.heads * a.query_length * a.key_length;
  const int out = int(element);
  const Gemm score{a.query_length, a.key_length, a.head_dim, a.batch * a.heads, precision, out};
  const Gemm value{a.query_length, a.head_dim, a.key_length, a.batch * a.heads, precision, out};
  Seconds time = score_product(score) + score_product(value) + memory_bound(2 * element * scores);
  if (!a.fused_softmax) time += memory_bound(2 * element * scores) * (a.causal ? 2 : 1);  // scale, mask
  if (a.dropout) time += memory_bound((2 * element + 1) * scores, MemoryKind::math);
  return time;
}

Seconds Kernels::unfused_backward(const Attention& a) const {
  const catalog::Precision precision = attention_precision(a.precision);
  const double element = std::max(2.0, catalog::bytes_per_element(precision));
  const double scores = a.batch * a.heads * a.query_length * a.key_length, sequences = a.batch * a.heads;
  const int out = int(element);
  const Gemm grad_value{a.key_length, a.head_dim, a.query_length, sequences, precision, out};
  const Gemm grad_probability{a.query_length, a.key_length, a.head_dim, sequences, precision, out};
  const Gemm grad_query{a.query_length, a.head_dim, a.key_length, sequences, precision, out};
  Seconds time = 2.0 * score_product(grad_value) + score_product(grad_probability) +
                 score_product(grad_query);                               // the key's gradient has the value's shape
  time += memory_bound(3 * element * scores, MemoryKind::cross_entropy);  // probabilities and their gradient in, scores' out
  if (!a.fused_softmax) time += memory_bound(2 * element * scores) * (a.causal ? 2 : 1);
  if (a.dropout) time += memory_bound((2 * element + 1) * scores);
  return time;
}

}  // namespace trunkline::kernels
