// The operations of one transformer layer and of what stands before and behind the layers. Used by operations.cpp.
#pragma once

#include "workload/operations.hpp"

namespace trunkline::workload {

inline constexpr double kElement = 2;  // bytes of an activation in mixed precision; fp32 and tf32 keep twice that (LayerBuilder::width_)

inline bool is_narrow(catalog::Precision p) { return p == catalog::Precision::fp8 || p == catalog::Precision::fp4; }

class LayerBuilder {
 public:
  LayerBuilder(const Tower& tower, const Job& job, const Behaviour& behaviour);

  LayerWork layer(bool with_experts) const;
  void before(TowerWork& work) const;  // embedding, or patches
  void after(TowerWork& work) const;   // final norm, output layer, loss, projection

  double local_tokens() const { return tokens_; }
  double boundary_bytes() const;

 private:
  enum class Block { attention, feed_forward, other };
  void add_gemm(LayerWork& layer, const char* name, double m, double k, double n, Block block, double batch = 1, bool bias = false) const;
  void add_linear(LayerWork& layer, const char* name, double m, double k, double n, double batch, bool trained, bool bias) const;
  void add_adapter(LayerWork& layer, double m, double k, double n) const;
  void add_memory(Pass& pass, const char* name, double bytes, int launches = 1, Traffic traffic = Traffic::elementwise) const;
  void add_norm(LayerWork& layer, double tokens, double width, int readers = 0) const;
  void add_head_norms(LayerWork& layer) const;
  void add_autocast_norm(LayerWork& layer, double tensor) const;
  void add_residual(LayerWork& layer, double tokens) const;
  bool autocast() const;
  void add_readers(LayerWork& layer, double elements, int readers) const;
  void add_plain_norm(LayerWork& layer, double elements, int readers) const;
  void add_plain_residual(LayerWork& layer, double elements) const;
  void add_plain_rotary(LayerWork& layer, double elements) const;
  void add_plain_activation(LayerWork& layer, double elements) const;
  void add_plain_loss(LayerWork& layer, double logits) const;
  void add_plain_bias_gradient(LayerWork& layer, double outputs) const;
  void add_weight_gradient(LayerWork& layer, double weights) const;
  void add_rotary(LayerWork& layer) const;
  void add_attention(LayerWork& layer) const;
  void add_context_exchange(LayerWork& layer) const;
  void add_projections(LayerWork& layer) const;
  void add_latent_projections(LayerWork& layer) const;
  void add_feed_forward(LayerWork& layer, double tokens, double ffn, double batch, bool biases) const;
  void add_activation(LayerWork& layer, double tokens, double ffn) const;
  void add_experts(LayerWork& layer) const;
  void add_expert_exchange(LayerWork& layer, double copies, bool there) const;
  void add_patches(LayerWork& part) const;
  void add_output_layer(LayerWork& part) const;
  void open_tensor_block(LayerWork& layer) const;
  void close_tensor_block(LayerWork& layer) const;
  void add_exchange(Pass& pass, const char* name, Exchange exchange, Group group, double size, double hidden) const;
  void finish(LayerWork& layer) const;
  void add_selective_recompute(LayerWork& layer) const;

  const Tower& t_;
  const Job& job_;
  const Behaviour& b_;
  double local_kv_heads() const;
  int query_key_value_gemms() const;
  bool masked() const;

  double tp_, cp_, ep_;
  double expert_tp_ = 1;  // ranks that share one expert
  double tokens_;         // of one micro-batch on this GPU, before tensor parallelism
  double norm_tokens_;    // after sequence parallelism
  double sequences_;      // samples of the micro-batch
  double full_length_;    // tokens of a sample, all context-parallel ranks
  bool frozen_;           // LoRA: no weight gradients of the base matrices
  bool dropout_ = false;
  catalog::Precision linear_;  // precision of the layer's matrices
  double width_ = 1;           // of an activation, in 16-bit ones
};

}  // namespace trunkline::workload
