#include "timeline/pass_time.hpp"

#include <algorithm>

namespace trunkline::timeline {
namespace {

// fp8 products of gradients promote their sums as they go; measured on an H200 over nine training shapes, 1.03–1.09
// (tests/device/training_load.py, data/calibration/h200_training_load.csv).
constexpr double kExactFp8 = 1.07;

// FlashAttention 1 against 2: "1.7 to 3.0 times", 1.8 for long causal sequences (FlashAttention-2, arXiv 2307.08691).
constexpr double kFlash1 = 1.8;

kernels::MemoryKind kind_of(workload::Traffic traffic) {
  switch (traffic) {
    case workload::Traffic::elementwise: return kernels::MemoryKind::elementwise;
    case workload::Traffic::math: return kernels::MemoryKind::math;
    case workload::Traffic::norm_forward: return kernels::MemoryKind::norm_forward;
    case workload::Traffic::norm_backward: return kernels::MemoryKind::norm_backward;
    case workload::Traffic::cross_entropy: return kernels::MemoryKind::cross_entropy;
    case workload::Traffic::copy: return kernels::MemoryKind::copy;
  }
  return kernels::MemoryKind::elementwise;
}

}  // namespace

using collectives::Collective;
using workload::Exchange;
using workload::Op;

PassTime& PassTime::operator+=(const PassTime& o) {
  matrix_s += o.matrix_s;
  limited_s += o.limited_s;
  memory_s += o.memory_s;
  attention_s += o.attention_s;
  limited_attention_s += o.limited_attention_s;
  ring_s += o.ring_s;
  exposed_s += o.exposed_s;
  hidden_s += o.hidden_s;
  hidden_sm_s += o.hidden_sm_s;
  host_s += o.host_s;
  return *this;
}

PassTime operator*(PassTime t, double n) {
  t.matrix_s *= n;
  t.limited_s *= n;
  t.memory_s *= n;
  t.attention_s *= n;
  t.limited_attention_s *= n;
  t.ring_s *= n;
  t.exposed_s *= n;
  t.hidden_s *= n;
  t.hidden_sm_s *= n;
  t.host_s *= n;
  return t;
}

const collectives::Domain& Pricer::domain(workload::Group group) const {
  switch (group) {
    case workload::Group::tensor: return domains_.tensor;
    case workload::Group::context: return domains_.context;
    case workload::Group::expert: return domains_.expert;
    case workload::Group::expert_tensor: return domains_.expert_tensor;
    case workload::Group::data: return domains_.data;
    case workload::Group::pipeline: return domains_.pipeline;
  }
  return domains_.tensor;
}

namespace {

Collective collective_of(Exchange exchange) {
  switch (exchange) {
    case Exchange::all_reduce: return Collective::all_reduce;
    case Exchange::all_gather: return Collective::all_gather;
    case Exchange::reduce_scatter: return Collective::reduce_scatter;
    case Exchange::all_to_all: return Collective::all_to_all;
    case Exchange::ring_pass: return Collective::send_recv;
  }
  return Collective::all_reduce;
}

// Bytes over the narrowest link and nothing else: what is left of a collective when the effect `latency` is off.
Seconds bandwidth_only(const collectives::Domain& domain, Collective collective, Bytes size) {
  const Bandwidth narrowest = domain.nodes > 1 ? std::min(domain.ring, domain.network) : domain.ring;
  return size / narrowest * collectives::bus_factor(collective, domain.ranks());
}

}  // namespace

collectives::Cost Pricer::exchange(Exchange exchange, const collectives::Domain& domain, double bytes) const {
  return exchange_with(exchange, domain, bytes, options_);
}

double Pricer::sm_share(Exchange exchange, const collectives::Domain& domain, double bytes) const {
  if (!effects_.contention || gpu_.sms <= 0) return 0;
  collectives::Options rings = options_;
  if (!rings.algorithm) rings.algorithm = collectives::Algorithm::ring;
  if (!rings.protocol) rings.protocol = collectives::Protocol::simple;
  constexpr double kMostSms = 0.5;
  return std::min(kMostSms, double(exchange_with(exchange, domain, bytes, rings).channels) / gpu_.sms);
}

collectives::Cost Pricer::exchange_with(Exchange exchange, const collectives::Domain& domain, double bytes,
                                        const collectives::Options& options) const {
  if (domain.ranks() <= 1 || bytes <= 0) return {};
  const Bytes size = scaled(Bytes(1), bytes);
  const Collective collective = collective_of(exchange);
  collectives::Cost cost = time_of(domain, collective, size, options);
  if (!effects_.latency) cost.time = bandwidth_only(domain, collective, size);
  if (exchange == Exchange::ring_pass) cost.time = cost.time * double(domain.ranks() - 1);
  return cost;
}

double Pricer::gemm_s(const Op& op, const kernels::Kernels& kernels) const {
  if (!effects_.quantisation) {
    constexpr double kLargeMatrix = 0.75;  // of the peak
    const double left = &kernels == &kernels_ ? 1 : kernels_.sustained(op.precision);
    return 2 * op.batch * op.m * op.n * op.k / (kLargeMatrix * left * gpu_.rate(op.precision).si());
  }
  kernels::Gemm shape;
  shape.m = op.m, shape.n = op.n, shape.k = op.k, shape.batch = op.batch;
  shape.precision = op.precision;
  shape.output_bytes = int(op.output_bytes);
  if (op.convolution) return kernels.convolution(shape).si();
  if (op.unaligned) return kernels.unaligned_gemm(shape).si();
  const double narrow = kernels.gemm(shape).si() * (op.exact ? kExactFp8 : 1);
  if (op.wide_share <= 0) return narrow;
  shape.precision = catalog::Precision::bf16;
  return (1 - op.wide_share) * narrow + op.wide_share * kernels.gemm(shape).si();
}

double Pricer::attention_s(const Op& op, const kernels::Kernels& kernels) const {
  kernels::Attention shape;
  shape.batch = op.sequences;
  shape.heads = op.heads, shape.kv_heads = op.kv_heads;
  shape.query_length = op.query_length, shape.key_length = op.key_length, shape.head_dim = op.head_dim;
  shape.causal = op.causal;
  shape.precision = op.precision;
  shape.fused_softmax = op.fused_softmax;
  shape.dropout = op.dropout;
  shape.masked = op.masked;
  const bool has_newest = gpu_.generation == catalog::Generation::hopper || gpu_.generation == catalog::Generation::blackwell;
  const bool newest = behaviour_.attention_age == workload::AttentionAge::newest && has_newest;
  shape.kind = !op.flash ? kernels::AttentionKind::unfused : newest ? kernels::AttentionKind::flash3 : kernels::AttentionKind::flash2;
  const double age = op.flash && behaviour_.attention_age == workload::AttentionAge::flash1 ? kFlash1 : 1;
  return (op.backward ? kernels.attention_backward(shape) : kernels.attention_forward(shape)).si() * age;
}

void Pricer::add_kernel(const Op& op, PassTime& time) const {
  const bool one_rate = &limited_ == &kernels_;
  if (op.kind == Op::Kind::memory) {
    if (effects_.memory_bound) time.memory_s += kernels_.memory_bound(op.bytes, kind_of(op.traffic)).si();
    return;
  }
  const bool attention = op.kind == Op::Kind::attention;
  const double burst = attention ? attention_s(op, kernels_) : gemm_s(op, kernels_);
  const double limited = one_rate ? burst : attention ? attention_s(op, limited_) : gemm_s(op, limited_);
  time.matrix_s += burst;
  time.limited_s += std::max(burst, limited);
  if (attention) time.attention_s += burst, time.limited_attention_s += std::max(burst, limited);
}

void Pricer::add_exchange(const Op& op, PassTime& time) const {
  const collectives::Cost cost = exchange(op.exchange, domain(op.group), op.size);
  const double hidden = effects_.overlap ? op.hidden : 0;
  time.exposed_s += (1 - hidden) * cost.time.si();
  time.hidden_s += hidden * cost.time.si();
  if (hidden > 0) time.hidden_sm_s += hidden * cost.time.si() * sm_share(op.exchange, domain(op.group), op.size);
}

PassTime Pricer::price(const workload::Pass& pass, Part part) const {
  PassTime time;
  for (const Op& op : pass.ops) {
    if (part != Part::all && op.weight_gradient != (part == Part::weight_gradients)) continue;
    if (effects_.launch) time.host_s += op.launches * behaviour_.launch_s;
    if (op.kind != Op::Kind::exchange) {
      add_kernel(op, time);
    } else if (op.exchange == Exchange::ring_pass) {
      time.ring_s += exchange(op.exchange, domain(op.group), op.size).time.si();
    } else {
      add_exchange(op, time);
    }
  }
  return time;
}

}  // namespace trunkline::timeline
