// Layers of PyTorch modules that nothing fuses: every operation is a kernel of its own. Bytes are counted operation by operation
// from what the modules of `transformers` compute, and confirmed by the kernels of whole steps on an H200
// (data/calibration/h200_step_kernels.csv). Under autocast the residual stream, norms and what `pow` touches are fp32 and every
// matrix product casts its own input; with 16-bit weights everything stays in 16 bits but the inside of an rms norm.
#include <algorithm>

#include "workload/layer_ops.hpp"

namespace trunkline::workload {
namespace {

// What such kernels cost beside one that streams tensors of one type (4.2 TB/s on an H200; data/calibration/h200_step_kernels.csv):
// those that convert as they read or broadcast a row reach 2.0–2.7 TB/s, those that address 16-bit or mixed operands element by
// element 0.9–1.7.
constexpr double streams(double bytes) { return bytes; }
constexpr double converts(double bytes) { return 1.6 * bytes; }
constexpr double indexes(double bytes) { return 3.5 * bytes; }

// Bytes an element, as streaming kernels would move them in the same time, and kernels, forward and backward.
struct Chain {
  double forward = 0;
  int forward_kernels = 0;
  double backward = 0;
  int backward_kernels = 0;
};

constexpr double kDown = streams(6), kUp = converts(6);  // fp32 to 16 bits and back

// Square, mean, scale, weight. Backward: by weight and scaled tensor, through the root mean square, through the square.
Chain rms_chain(bool autocast) {
  const double square = streams(8 + 4), scale = converts(8);
  const double through = converts(8) + streams(12) + converts(4) + streams(8) + converts(8) + streams(12);
  if (autocast) return {square + scale + converts(8), 6, converts(8) + streams(12) + converts(4) + through, 11};
  return {kUp + square + scale + kDown + indexes(4), 8, indexes(4) + streams(6) + converts(2) + kUp + through + kDown, 13};
}

Chain activation_chain(Activation activation, bool autocast) {
  switch (activation) {
    case Activation::single: return {streams(4), 1, streams(6), 1};
    case Activation::quick_gelu: return {streams(4 + 4 + 6), 3, streams(6 + 6 + 6 + 4 + 6), 5};
    case Activation::gelu_new: break;
  }
  if (!autocast) return {streams(6 * 4 + 2 * 6), 8, streams(6 + 6 + 4 + 6 + 4 + 4 + 14 + 12), 12};
  // `pow` answers in fp32 and what follows stays there, until the next product casts it back.
  const double cube = kUp + streams(8 + 8) + converts(10), tanh = streams(8 + 8 + 8), product = streams(4) + converts(10) + kDown;
  const double back =
      kUp + streams(12) + converts(10) + kDown + streams(4) + streams(12 + 8) + kDown + streams(8 + 28) + kDown + streams(12);
  return {cube + tanh + product, 10, back, 15};
}

// q·cos + rotate(q)·sin with rotate = (−second half, first half); under autocast the tables and the result are fp32.
Chain rotary_chain(bool autocast) {
  const double rotate = converts(2) + indexes(4), unrotate = converts(2) + streams(4) + indexes(4 + 6) + streams(6);
  if (autocast) return {indexes(6 + 6) + rotate + converts(12) + kDown, 6, kUp + converts(8 + 8) + 2 * kDown + unrotate, 13};
  return {indexes(4 + 4 + 4) + rotate, 5, indexes(4 + 4) + unrotate, 10};
}

// PyTorch's kernel for the weight gradient of a layer norm: 0.9–2.3 times its bytes at that rate over four shapes.
constexpr double kNormWeightGradient = 1.3;

}  // namespace

bool LayerBuilder::autocast() const { return b_.stream_bytes > kElement; }

// `readers` matrix products take the result: each casts it for itself, and each sends back a gradient that is cast and added.
void LayerBuilder::add_readers(LayerWork& layer, double elements, int readers) const {
  if (readers <= 0) return;
  if (autocast()) {
    add_memory(layer.forward, "cast input", readers * kDown * elements, readers);
    add_memory(layer.backward, "cast input gradient", readers * kUp * elements, readers);
  }
  if (readers > 1) add_memory(layer.backward, "add input gradients", (readers - 1) * 3 * b_.stream_bytes * elements, readers - 1);
}

void LayerBuilder::add_plain_norm(LayerWork& layer, double elements, int readers) const {
  const double stream = b_.stream_bytes;
  if (t_.norm == Norm::rms && b_.decomposed_rms) {
    const Chain chain = rms_chain(autocast());
    add_memory(layer.forward, "norm", chain.forward * elements, chain.forward_kernels);
    add_memory(layer.backward, "norm backward", chain.backward * elements, chain.backward_kernels);
  } else {
    add_memory(layer.forward, "norm", 2 * stream * elements, 1, Traffic::norm_forward);
    add_memory(layer.backward, "norm backward", 3 * stream * elements, 1, autocast() ? Traffic::elementwise : Traffic::norm_backward);
    add_memory(layer.backward, "norm weight gradient", kNormWeightGradient * 2 * 4 * elements, 1, Traffic::norm_backward);
  }
  add_readers(layer, elements, readers);
}

void LayerBuilder::add_plain_residual(LayerWork& layer, double elements) const {
  const double stream = b_.stream_bytes;
  if (dropout_) {
    add_memory(layer.forward, "dropout", 5 * elements, 1, Traffic::math);
    add_memory(layer.backward, "dropout backward", 5 * elements, 1);
  }
  const double sum = kElement + 2 * stream;
  add_memory(layer.forward, "residual", (autocast() ? converts(sum) : streams(sum)) * elements);
  add_memory(layer.backward, "residual backward", streams(3 * stream) * elements);
  if (autocast()) add_memory(layer.backward, "cast residual gradient", kDown * elements);
}

void LayerBuilder::add_plain_rotary(LayerWork& layer, double elements) const {
  const Chain chain = rotary_chain(autocast());
  add_memory(layer.forward, "rotary", chain.forward * elements, 2 * chain.forward_kernels);  // queries and keys
  add_memory(layer.backward, "rotary backward", chain.backward * elements, 2 * chain.backward_kernels);
}

void LayerBuilder::add_plain_activation(LayerWork& layer, double elements) const {
  const Chain chain = activation_chain(t_.activation, autocast());
  const Traffic traffic = t_.activation == Activation::single ? Traffic::math : Traffic::elementwise;
  add_memory(layer.forward, "activation", chain.forward * elements, chain.forward_kernels, traffic);
  add_memory(layer.backward, "activation backward", chain.backward * elements, chain.backward_kernels, traffic);
  if (!t_.gated) return;
  add_memory(layer.forward, "gate", 3 * kElement * elements);
  add_memory(layer.backward, "gate backward", 6 * kElement * elements, 2);
}

// Logits to fp32, log-softmax; back: a filled tensor for the picked ones, the softmax's gradient, to 16 bits.
void LayerBuilder::add_plain_loss(LayerWork& layer, double logits) const {
  add_memory(layer.forward, "cross-entropy", (kUp + 8) * logits, 4, Traffic::cross_entropy);
  add_memory(layer.backward, "cross-entropy backward", (4 + 12 + kDown) * logits, 4, Traffic::cross_entropy);
}

void LayerBuilder::add_plain_bias_gradient(LayerWork& layer, double outputs) const {
  add_memory(layer.backward, "bias gradient", converts(kElement) * outputs, 1);
}

// A weight's gradient: cast where the weight is fp32; added to the one before, from the second micro-batch on.
void LayerBuilder::add_weight_gradient(LayerWork& layer, double weights) const {
  const double samples = double(job_.batch.micro) * job_.parallelism.dp;
  const double rounds = std::max(1.0, double(job_.batch.global) / std::max(1.0, samples));
  const double bytes = (rounds - 1) / rounds * streams(3 * b_.stream_bytes) + (autocast() ? kUp : 0);
  if (bytes > 0) add_memory(layer.backward, "weight gradient", bytes * weights, (autocast() ? 1 : 0) + (rounds > 1 ? 1 : 0));
}

}  // namespace trunkline::workload
