#include "workload/layer_ops.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::workload {

using catalog::Precision;

namespace {

constexpr double kFp32Passes = 4;  // an unfused norm runs as about this many times the traffic of a fused one

// NVFP4 recipes keep about this share of the linear layers in bf16 (the last blocks; arXiv 2509.25149).
constexpr double kFp4Wide = 0.15;

}  // namespace

LayerBuilder::LayerBuilder(const Tower& tower, const Job& job, const Behaviour& behaviour)
    : t_(tower), job_(job), b_(behaviour), tp_(job.parallelism.tp), cp_(job.parallelism.cp), ep_(job.parallelism.ep) {
  sequences_ = double(job.batch.micro);
  full_length_ = double(tower.tokens(job.batch.sequence));
  tokens_ = sequences_ * full_length_ / cp_;
  norm_tokens_ = b_.sequence_parallel ? tokens_ / tp_ : tokens_;
  frozen_ = job.kind != TrainingKind::full;
  linear_ = job.precision.compute;
  width_ = linear_ == Precision::fp32 || linear_ == Precision::tf32 ? 2 : 1;
  // GPT's recipes drop out, Llama's do not; PyTorch's own modules do what the model's configuration says.
  dropout_ = b_.dropout ? t_.norm == Norm::layer : b_.library_modules && t_.dropout;
  expert_tp_ = job.parallelism.etp > 0 ? job.parallelism.etp : tp_;
}

// Tensor-parallel ranks hold the same activations between layers, or a slice each: either way each sends one slice.
double LayerBuilder::boundary_bytes() const { return width_ * tokens_ * double(t_.hidden) * kElement / tp_; }

void LayerBuilder::add_memory(Pass& pass, const char* name, double bytes, int launches, Traffic traffic) const {
  Op op;
  op.name = name;
  op.bytes = traffic == Traffic::cross_entropy ? bytes : width_ * bytes;  // the loss is worked out in fp32 anyway
  op.launches = launches;
  op.traffic = traffic;
  pass.ops.push_back(op);
}

void LayerBuilder::add_exchange(Pass& pass, const char* name, Exchange exchange, Group group, double size, double hidden) const {
  if (size <= 0) return;
  Op op;
  op.kind = Op::Kind::exchange;
  op.name = name;
  op.exchange = exchange;
  op.group = group;
  op.size = width_ * size;
  op.hidden = hidden;
  pass.ops.push_back(op);
}

// One linear layer: forward y = x·W, then in backward dx = dy·Wᵀ and dW = xᵀ·dy.
void LayerBuilder::add_linear(LayerWork& layer, const char* name, double m, double k, double n, double batch, bool trained,
                              bool bias) const {
  Op op;
  op.kind = Op::Kind::gemm;
  op.name = name;
  op.precision = linear_;
  op.wide_share = linear_ == Precision::fp4 ? kFp4Wide : 0;
  op.batch = batch;
  op.m = m, op.k = k, op.n = n;
  op.output_bytes = width_ * kElement;
  op.unaligned = !b_.pads_matrices && (std::fmod(k, 8) != 0 || std::fmod(n, 8) != 0);
  layer.forward.ops.push_back(op);
  op.k = n, op.n = k;
  op.exact = is_narrow(linear_);
  layer.backward.ops.push_back(op);
  const double weights = batch * k * n;
  if (trained) {
    op.m = k, op.k = m, op.n = n;
    op.output_bytes = b_.fused_weight_gradient ? 4 : width_ * kElement;
    op.weight_gradient = true;
    layer.backward.ops.push_back(op);
    if (bias && b_.plain_modules) add_plain_bias_gradient(layer, m * n);
    if (bias && !b_.plain_modules) add_memory(layer.backward, "bias gradient", m * n * kElement);
    if (b_.library_modules) {
      add_weight_gradient(layer, weights);
    } else if (!b_.fused_weight_gradient) {
      add_memory(layer.backward, "accumulate gradient", weights * (kElement + 2 * b_.accumulate_bytes / width_));
    }
  }
  if (b_.autocast_weights && width_ == 1) add_memory(layer.forward, "cast weights", weights * (4 + kElement));
  if (is_narrow(linear_)) {  // inputs and gradients are quantised, with a transposed copy for the backward GEMMs
    const double narrow = kElement + 2 * catalog::bytes_per_element(linear_);
    add_memory(layer.forward, "quantise input", batch * m * k * narrow, 2, Traffic::math);
    add_memory(layer.backward, "quantise gradient", batch * m * n * narrow, 2, Traffic::math);
    if (linear_ == Precision::fp4) {  // random Hadamard transform of both inputs of the weight-gradient product
      add_memory(layer.backward, "Hadamard transform", batch * m * (n + k) * 2 * kElement, 2, Traffic::math);
    }
  }
}

void LayerBuilder::add_gemm(LayerWork& layer, const char* name, double m, double k, double n, Block block, double batch, bool bias) const {
  add_linear(layer, name, m, k, n, batch, !frozen_, bias);
  layer.parameters += batch * k * n + (bias ? n : 0);
  const bool adapted = block == Block::attention || (block == Block::feed_forward && job_.lora.all_linear);
  if (frozen_ && adapted && batch == 1) add_adapter(layer, m, k, n);
}

// LoRA: y += (x·A)·B with A k×rank and B rank×n, both trained in 16 bits.
void LayerBuilder::add_adapter(LayerWork& layer, double m, double k, double n) const {
  LayerBuilder wide(*this);
  wide.linear_ = is_narrow(linear_) ? Precision::bf16 : linear_;
  const double rank = job_.lora.rank;
  wide.add_linear(layer, "adapter down", m, k, rank, 1, true, false);
  wide.add_linear(layer, "adapter up", m, rank, n, 1, true, false);
  add_memory(layer.forward, "add adapter", 3 * m * n * kElement);
  add_memory(layer.backward, "add adapter gradient", 3 * m * k * kElement);
  layer.adapter_parameters += rank * (k + n);
}

void LayerBuilder::add_norm(LayerWork& layer, double tokens, double width, int readers) const {
  const double tensor = tokens * width * kElement;
  layer.parameters += width * (t_.norm == Norm::layer && t_.norm_bias ? 2 : 1);
  if (b_.plain_modules) {
    add_plain_norm(layer, tokens * width, readers);
    return;
  }
  if (b_.autocast_kernels && t_.norm == Norm::layer) {
    add_autocast_norm(layer, tensor / width_);  // counts its fp32 tensors itself
    return;
  }
  const double factor = b_.fused_norm ? 1 : kFp32Passes;
  const int launches = b_.fused_norm ? 1 : 6;
  const bool plain = b_.fused_norm && !b_.tuned_norm;
  const double elements = tokens * width, stream = b_.stream_bytes;
  add_memory(layer.forward, "norm", (kElement + stream) * elements * factor, launches,
             plain ? Traffic::norm_forward : Traffic::elementwise);
  add_memory(layer.backward, "norm backward", (kElement + 2 * stream) * elements * factor, b_.fused_norm ? 2 : 8,
             plain ? Traffic::norm_backward : Traffic::elementwise);
}

// Queries and keys head by head: one scale a position in the head, shared by all heads.
void LayerBuilder::add_head_norms(LayerWork& layer) const {
  const double before = layer.parameters;
  add_norm(layer, tokens_, t_.heads / tp_ * t_.head_dim);
  add_norm(layer, tokens_, local_kv_heads() * t_.head_dim);
  layer.parameters = before + 2.0 * t_.head_dim;
}

// PyTorch's layer norm under autocast: to fp32, its kernel, back to 16 bits (in tensors of 16 bits; a cast moves three).
void LayerBuilder::add_autocast_norm(LayerWork& layer, double tensor) const {
  const bool casts = linear_ == Precision::fp16 || linear_ == Precision::bf16;
  add_memory(layer.forward, "norm", 4 * tensor, 1, Traffic::norm_forward);
  if (casts) add_memory(layer.forward, "cast for norm", 6 * tensor, 2, Traffic::copy);
  // Modules with written-out attention take the sequence first: the residual stream stays permuted, and each norm copies it.
  if (!b_.flash_attention) add_memory(layer.forward, "reorder stream", 4 * tensor * b_.strided_copy, 1, Traffic::copy);
  // Input gradient 6; weight gradients 4, by a kernel of a few dozen blocks that reaches a third of the bandwidth.
  add_memory(layer.backward, "norm backward", (6 + 3 * 4) * tensor, 2, Traffic::norm_backward);
  if (casts) add_memory(layer.backward, "cast for norm", 6 * tensor, 2, Traffic::copy);
}

void LayerBuilder::add_residual(LayerWork& layer, double tokens) const {
  const double tensor = tokens * double(t_.hidden) * kElement;
  const bool dropout = dropout_;
  if (b_.plain_modules) {
    add_plain_residual(layer, tokens * double(t_.hidden));
    return;
  }
  if (b_.fused_residual) {
    const double sum = (kElement + 2 * b_.stream_bytes) * tokens * double(t_.hidden);
    const double back = 3 * b_.stream_bytes * tokens * double(t_.hidden);
    const int own = b_.library_modules ? 0 : 1;  // a compiler joins it with the norm behind it
    add_memory(layer.forward, "residual", sum + tensor * (dropout ? 0.5 : 0), own);
    add_memory(layer.backward, "residual backward", back + tensor * (dropout ? 1.5 : 0), own * (dropout ? 2 : 1));
  } else {
    add_memory(layer.forward, "residual", tensor * (dropout ? 5.5 : 3) + (t_.biases ? 2 * tensor : 0), dropout ? 3 : 1);
    add_memory(layer.backward, "residual backward", tensor * (dropout ? 5.5 : 3), dropout ? 2 : 1);
  }
}

double LayerBuilder::local_kv_heads() const { return std::max(1.0, t_.kv_heads / tp_); }

void LayerBuilder::add_rotary(LayerWork& layer) const {
  if (t_.positions != Positions::rotary) return;
  const double tensor = tokens_ * double(t_.heads + t_.kv_heads) * t_.head_dim / tp_ * kElement;
  if (b_.plain_modules) {
    add_plain_rotary(layer, tensor / kElement);
    return;
  }
  const double passes = b_.fused_rotary ? 2 : 9;
  const int launches = b_.fused_rotary ? 2 : 10;
  add_memory(layer.forward, "rotary", passes * tensor, launches);
  add_memory(layer.backward, "rotary backward", passes * tensor, launches);
}

// Keys and values go round the ring of context-parallel ranks while attention runs on what has arrived.
void LayerBuilder::add_context_exchange(LayerWork& layer) const {
  if (cp_ <= 1) return;
  const double keys_values = 2 * tokens_ * double(t_.kv_heads) * t_.head_dim / tp_ * kElement;
  add_exchange(layer.forward, "pass keys and values", Exchange::ring_pass, Group::context, keys_values, 1);
  add_exchange(layer.backward, "pass keys and values", Exchange::ring_pass, Group::context, 2 * keys_values, 1);
}

// CLIP's modules tell attention that it is causal; decoders and vision classifiers build a mask.
bool LayerBuilder::masked() const { return b_.explicit_mask && job_.model.kind != Model::Kind::contrastive; }

void LayerBuilder::add_attention(LayerWork& layer) const {
  const bool latent = t_.latent.kv_rank > 0;
  Op op;
  op.kind = Op::Kind::attention;
  op.name = "attention";
  op.sequences = sequences_;
  op.heads = std::max(1.0, t_.heads / tp_);
  op.kv_heads = latent ? op.heads : std::max(1.0, t_.kv_heads / tp_);
  op.query_length = full_length_ / cp_;
  // Context parallelism deals the causal triangle out evenly: each rank's queries see half of all keys on average.
  const bool dealt = t_.causal && cp_ > 1;
  op.key_length = dealt ? full_length_ / 2 : full_length_;
  op.head_dim = latent ? (t_.latent.nope_dim + t_.latent.rope_dim + t_.latent.value_dim) / 2.0 : t_.head_dim;
  op.causal = t_.causal && !dealt;
  // A mask whose rows are odd leaves no fused kernel; one that is a tensor hides that half of it is empty.
  const bool odd_mask = masked() && std::fmod(op.key_length, 8) != 0;
  op.flash = b_.flash_attention && !odd_mask;
  if (masked()) op.causal = false;
  op.fused_softmax = b_.fused_softmax;
  op.dropout = dropout_;
  op.masked = masked();
  op.precision = is_narrow(linear_) ? Precision::bf16 : linear_;
  op.launches = op.flash ? 1 : (b_.fused_softmax ? 4 : 7);
  if (!op.flash) {  // batched GEMMs want heads in front: queries, keys, values and the result are copied into that order
    const double tensor = tokens_ * op.head_dim * (2 * op.heads + 2 * op.kv_heads) * kElement;
    add_memory(layer.forward, "reorder heads", 2 * tensor * b_.strided_copy, 4, Traffic::copy);
    add_memory(layer.backward, "reorder heads", 2 * tensor * b_.strided_copy, 4, Traffic::copy);
    if (b_.autocast_kernels && (linear_ == Precision::fp16 || linear_ == Precision::bf16)) {
      // Softmax reads 16 bits and writes fp32, which is cast back; its backward gets a gradient cast to fp32.
      const double scores = op.sequences * op.heads * op.query_length * op.key_length;
      add_memory(layer.forward, "cast scores", 8 * scores, 1, Traffic::copy);
      add_memory(layer.backward, "cast scores", 10 * scores, 1, Traffic::copy);
    }
  }
  layer.forward.ops.push_back(op);
  op.backward = true;
  op.launches = op.flash ? 3 : (b_.fused_softmax ? 7 : 11);
  layer.backward.ops.push_back(op);
  add_context_exchange(layer);
}

// Before a block whose first matrix is split by columns, and (mirrored) in backward.
void LayerBuilder::open_tensor_block(LayerWork& layer) const {
  if (tp_ <= 1) return;
  const double size = tokens_ * double(t_.hidden) * kElement;
  if (b_.sequence_parallel) {
    add_exchange(layer.forward, "gather tokens", Exchange::all_gather, Group::tensor, size, b_.tensor_overlap);
    add_exchange(layer.backward, "scatter gradients", Exchange::reduce_scatter, Group::tensor, size, b_.tensor_overlap);
    // The gathered input was not kept: weight gradients need it again, beside the data-gradient GEMM.
    add_exchange(layer.backward, "gather tokens again", Exchange::all_gather, Group::tensor, size, std::max(b_.tensor_overlap, 0.8));
  } else {
    add_exchange(layer.backward, "sum input gradients", Exchange::all_reduce, Group::tensor, size, b_.tensor_overlap);
  }
}

// Behind a block whose last matrix is split by rows.
void LayerBuilder::close_tensor_block(LayerWork& layer) const {
  if (tp_ <= 1) return;
  const double size = tokens_ * double(t_.hidden) * kElement;
  if (b_.sequence_parallel) {
    add_exchange(layer.forward, "scatter output", Exchange::reduce_scatter, Group::tensor, size, b_.tensor_overlap);
    add_exchange(layer.backward, "gather gradients", Exchange::all_gather, Group::tensor, size, b_.tensor_overlap);
  } else {
    add_exchange(layer.forward, "sum output", Exchange::all_reduce, Group::tensor, size, b_.tensor_overlap);
  }
}

int LayerBuilder::query_key_value_gemms() const { return b_.plain_modules && t_.fused_qkv ? 1 : b_.query_key_value_gemms; }

void LayerBuilder::add_latent_projections(LayerWork& layer) const {
  const double h = double(t_.hidden), heads = t_.heads / tp_;
  const Latent& l = t_.latent;
  const double q_width = heads * (l.nope_dim + l.rope_dim);
  if (l.q_rank > 0) {
    add_gemm(layer, "query down", tokens_, h, l.q_rank, Block::attention);
    add_norm(layer, tokens_, l.q_rank);
    add_gemm(layer, "query up", tokens_, l.q_rank, q_width, Block::attention);
  } else {
    add_gemm(layer, "query", tokens_, h, q_width, Block::attention);
  }
  add_gemm(layer, "key-value down", tokens_, h, l.kv_rank + l.rope_dim, Block::attention);
  add_norm(layer, tokens_, l.kv_rank);
  add_gemm(layer, "key-value up", tokens_, l.kv_rank, heads * (l.nope_dim + l.value_dim), Block::attention);
}

void LayerBuilder::add_projections(LayerWork& layer) const {
  const double h = double(t_.hidden);
  if (t_.latent.kv_rank > 0) {
    add_latent_projections(layer);
    return;
  }
  const double q = t_.heads * double(t_.head_dim) / tp_;
  const double kv = local_kv_heads() * t_.head_dim;
  const bool bias = t_.biases || t_.qkv_bias;
  if (query_key_value_gemms() == 1) {
    add_gemm(layer, "query, key, value", tokens_, h, q + 2 * kv, Block::attention, 1, bias);
  } else {
    add_gemm(layer, "query", tokens_, h, q, Block::attention, 1, bias);
    add_gemm(layer, "key", tokens_, h, kv, Block::attention, 1, bias);
    add_gemm(layer, "value", tokens_, h, kv, Block::attention, 1, bias);
  }
  if (t_.qk_norm) add_head_norms(layer);
}

void LayerBuilder::add_activation(LayerWork& layer, double tokens, double ffn) const {
  const double tensor = tokens * ffn * kElement;
  if (b_.plain_modules) {
    add_plain_activation(layer, tokens * ffn);
    return;
  }
  if (t_.gated) {
    add_memory(layer.forward, "gate", tensor * (b_.fused_activation ? 3 : 5), b_.fused_activation ? 1 : 2, Traffic::math);
    add_memory(layer.backward, "gate backward", tensor * (b_.fused_activation ? 5 : 8), b_.fused_activation ? 1 : 3, Traffic::math);
  } else {
    add_memory(layer.forward, "activation", tensor * (b_.fused_activation ? 2 : (t_.biases ? 4 : 2)), b_.fused_activation ? 1 : 2,
               Traffic::math);
    add_memory(layer.backward, "activation backward", tensor * 3, b_.fused_activation ? 1 : 2, Traffic::math);
  }
}

void LayerBuilder::add_feed_forward(LayerWork& layer, double tokens, double ffn, double batch, bool biases) const {
  const double h = double(t_.hidden);
  const int inputs = t_.gated ? 2 : 1, products = b_.plain_modules ? inputs : 1;
  for (int i = 0; i < products; ++i) add_gemm(layer, "up", tokens, h, ffn * inputs / products, Block::feed_forward, batch, biases);
  add_activation(layer, tokens * batch, ffn);
  add_gemm(layer, "down", tokens, ffn, h, Block::feed_forward, batch, biases);
}

// Between the ranks and their experts, one way: each rank's copies of its tokens to the ranks that hold their experts, there to
// all ranks that share an expert. The way back mirrors it, and backward mirrors both.
void LayerBuilder::add_expert_exchange(LayerWork& layer, double copies, bool there) const {
  const double size = copies * double(t_.hidden) * kElement, gathered = size * expert_tp_;
  const auto all_to_all = [&](Pass& pass) {
    if (ep_ > 1) add_exchange(pass, there ? "dispatch" : "combine", Exchange::all_to_all, Group::expert, size, 0);
  };
  const auto among_sharers = [&](Pass& pass, Exchange exchange, const char* name) {
    if (expert_tp_ > 1) add_exchange(pass, name, exchange, Group::expert_tensor, gathered, 0);
  };
  all_to_all(layer.forward);
  all_to_all(layer.backward);
  if (there) {
    among_sharers(layer.forward, Exchange::all_gather, "gather tokens of experts");
    among_sharers(layer.backward, Exchange::reduce_scatter, "scatter gradients of experts");
    among_sharers(layer.backward, Exchange::all_gather, "gather tokens of experts again");
  } else {
    among_sharers(layer.forward, Exchange::reduce_scatter, "scatter output of experts");
    among_sharers(layer.backward, Exchange::all_gather, "gather gradients of experts");
  }
}

// Routed experts with an even load. Two ways to spread them: like any block, every expert split over the tensor-parallel ranks,
// which all see all tokens; or whole experts (or 1/etp of each) on each rank, to which every rank sends copies of its slice of
// the tokens.
void LayerBuilder::add_experts(LayerWork& layer) const {
  const Experts& e = t_.experts;
  const double h = double(t_.hidden);
  const bool like_any_block = ep_ == 1 && expert_tp_ == tp_;
  const double copies = tokens_ / tp_ * e.per_token;            // of this rank's slice
  const double moved = like_any_block ? copies * tp_ : copies;  // that this rank sorts by expert
  if (like_any_block || e.shared > 0) open_tensor_block(layer);
  add_gemm(layer, "router", norm_tokens_, h, e.count, Block::other, 1, e.router_bias);
  add_memory(layer.forward, "permute", 2 * moved * h * kElement, 4);
  add_memory(layer.backward, "permute backward", 2 * moved * h * kElement, 4);
  if (!like_any_block) add_expert_exchange(layer, copies, true);
  const double local = e.count / ep_, before = layer.parameters;
  add_feed_forward(layer, copies * expert_tp_ / local, double(e.ffn) / expert_tp_, local, false);
  layer.expert_parameters += layer.parameters - before;
  if (!like_any_block) add_expert_exchange(layer, copies, false);
  add_memory(layer.forward, "combine", 2 * moved * h * kElement, 2);
  add_memory(layer.backward, "combine backward", 2 * moved * h * kElement, 2);
  if (e.shared > 0) add_feed_forward(layer, tokens_, double(e.ffn) * e.shared / tp_, 1, false);
  if (e.shared_gate) add_gemm(layer, "gate of shared experts", norm_tokens_, h, 1, Block::other);
  if (like_any_block || e.shared > 0) close_tensor_block(layer);
  if (!like_any_block && tp_ > 1 && !b_.sequence_parallel) {  // ranks that keep all tokens fetch the others' slices
    const double size = tokens_ * h * kElement;
    add_exchange(layer.forward, "gather slices", Exchange::all_gather, Group::tensor, size, 0);
    add_exchange(layer.backward, "gather slices", Exchange::all_gather, Group::tensor, size, 0);
  }
}

void LayerBuilder::add_selective_recompute(LayerWork& layer) const {
  // What is cheap to compute and large to keep: the attention core where it is not flash (Megatron), else the
  // elementwise operations of the layer (op-level rules of the PyTorch family keep the matrix products).
  for (const Op& op : layer.forward.ops) {
    const bool core = op.kind == Op::Kind::attention && !op.flash;
    const bool cheap = op.kind == Op::Kind::memory && b_.flash_attention;
    if (core || cheap) layer.recompute.ops.push_back(op);
  }
}

void LayerBuilder::finish(LayerWork& layer) const {
  if (job_.recompute == Recompute::full) {
    layer.recompute = layer.forward;
    // The last product and what follows it save nothing for backward.
    if (b_.recompute_stops_early) {
      auto& ops = layer.recompute.ops;
      while (!ops.empty() && ops.back().kind != Op::Kind::gemm) ops.pop_back();
      if (!ops.empty()) ops.pop_back();
    }
  }
  if (job_.recompute == Recompute::selective) add_selective_recompute(layer);
}

LayerWork LayerBuilder::layer(bool with_experts) const {
  LayerWork layer;
  layer.forward.ops.reserve(32);
  layer.backward.ops.reserve(48);
  const double h = double(t_.hidden);
  add_norm(layer, norm_tokens_, h, query_key_value_gemms());
  open_tensor_block(layer);
  add_projections(layer);
  add_rotary(layer);
  add_attention(layer);
  const double value_width = t_.latent.kv_rank > 0 ? t_.heads * double(t_.latent.value_dim) : t_.heads * double(t_.head_dim);
  add_gemm(layer, "attention output", tokens_, value_width / tp_, h, Block::attention, 1, t_.biases || t_.out_bias);
  close_tensor_block(layer);
  if (t_.norms == 4) add_norm(layer, norm_tokens_, h);
  add_residual(layer, norm_tokens_);
  if (t_.norms >= 2) add_norm(layer, norm_tokens_, h, t_.gated ? 2 : 1);
  if (with_experts) {
    add_experts(layer);
  } else {
    open_tensor_block(layer);
    add_feed_forward(layer, tokens_, double(t_.ffn) / tp_, 1, t_.biases);
    close_tensor_block(layer);
  }
  if (t_.norms == 4) add_norm(layer, norm_tokens_, h);
  add_residual(layer, norm_tokens_);
  finish(layer);
  return layer;
}

}  // namespace trunkline::workload
