// What stands before and behind a tower's layers.
#include "workload/layer_ops.hpp"

namespace trunkline::workload {

using catalog::Precision;

// A matrix product in effect. PyTorch runs it as a convolution, whose three channels leave no tensor-core kernel. Images get no
// gradient.
void LayerBuilder::add_patches(LayerWork& part) const {
  add_gemm(part, "patches", tokens_, double(t_.patch) * t_.patch * t_.channels, double(t_.hidden), Block::other, 1, t_.patch_bias);
  std::erase_if(part.backward.ops, [](const Op& op) { return op.kind == Op::Kind::gemm && !op.weight_gradient; });
  if (!b_.patch_convolution) return;
  for (Pass* pass : {&part.forward, &part.backward}) {
    for (Op& op : pass->ops) op.convolution = op.kind == Op::Kind::gemm;
  }
}

void LayerBuilder::before(TowerWork& work) const {
  const double h = double(t_.hidden);
  LayerWork part;
  if (t_.is_vision()) {
    add_patches(part);
    part.parameters += h;  // class token
  } else if (t_.vocab > 0) {
    const double tensor = tokens_ * h * kElement;
    add_memory(part.forward, "embedding", 2 * tensor, 2);
    add_memory(part.backward, "embedding backward", 3 * tensor, 2);
    part.parameters += double(t_.vocab) * h / tp_ + double(t_.token_types) * h;
    if (tp_ > 1) {
      add_exchange(part.forward, "sum embeddings", b_.sequence_parallel ? Exchange::reduce_scatter : Exchange::all_reduce, Group::tensor,
                   tensor, 0);
      if (b_.sequence_parallel) add_exchange(part.backward, "gather gradients", Exchange::all_gather, Group::tensor, tensor, 0);
    }
  }
  if (t_.positions == Positions::learned) {
    part.parameters += double((t_.is_vision() ? t_.tokens(0) : t_.max_positions) + t_.extra_positions) * h;
  }
  if (t_.embedding_norm) add_norm(part, norm_tokens_, h);
  work.before_forward = std::move(part.forward);
  work.before_backward = std::move(part.backward);
  work.before_parameters = part.parameters;
}

void LayerBuilder::after(TowerWork& work) const {
  LayerWork part;
  if (t_.final_norm) add_norm(part, norm_tokens_, double(t_.hidden), t_.vocab > 0 && t_.head ? 1 : 0);
  if (t_.vocab > 0 && t_.head) add_output_layer(part);
  if (t_.projection > 0) add_gemm(part, "projection", sequences_, double(t_.hidden), double(t_.projection), Block::other);
  if (t_.classes > 0) add_gemm(part, "classes", sequences_, double(t_.hidden), double(t_.classes), Block::other, 1, true);
  work.after_forward = std::move(part.forward);
  work.after_backward = std::move(part.backward);
  work.after_parameters = part.parameters;
}

void LayerBuilder::add_output_layer(LayerWork& part) const {
  const double h = double(t_.hidden), vocab = double(t_.vocab) / tp_;
  LayerBuilder wide(*this);  // the output layer stays in 16 bits
  wide.linear_ = is_narrow(linear_) ? Precision::bf16 : linear_;
  if (t_.head_transform) {
    wide.add_gemm(part, "head transform", norm_tokens_, h, h, Block::other, 1, true);
    add_norm(part, norm_tokens_, h);
  }
  open_tensor_block(part);
  const double before = part.parameters;
  wide.add_gemm(part, "output layer", tokens_, h, vocab, Block::other, 1, t_.head_transform);
  // A shared table is counted where it stands; the last stage of a pipeline keeps its own copy of it.
  if (t_.tied && job_.parallelism.pp == 1) part.parameters = before + (t_.head_transform ? vocab : 0);
  const double logits = tokens_ * vocab;
  if (b_.plain_modules) {
    add_plain_loss(part, logits);
    return;
  }
  const bool fused = b_.fused_cross_entropy;
  add_memory(part.forward, "cross-entropy", logits * (fused ? 6 : 18), fused ? 3 : 8, Traffic::cross_entropy);
  add_memory(part.backward, "cross-entropy backward", logits * (fused ? 4 : 10), fused ? 1 : 3, Traffic::cross_entropy);
  if (tp_ > 1) {
    add_exchange(part.forward, "largest logits", Exchange::all_reduce, Group::tensor, tokens_ * 4, 0);
    add_exchange(part.forward, "sum of exponentials", Exchange::all_reduce, Group::tensor, tokens_ * 8, 0);
  }
}

}  // namespace trunkline::workload
