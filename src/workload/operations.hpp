// The operations of a training step on one GPU: what is computed, moved and communicated, before any clock.
#pragma once

#include <cstdint>
#include <vector>

#include "catalog/gpu.hpp"
#include "workload/framework.hpp"
#include "workload/job.hpp"

namespace trunkline::workload {

enum class Group : std::uint8_t { tensor, context, expert, expert_tensor, data, pipeline };
// Which kind of kernel moves the bytes; each reaches its own share of the memory bandwidth.
enum class Traffic : std::uint8_t { elementwise, math, norm_forward, norm_backward, cross_entropy, copy };
enum class Exchange : std::uint8_t { all_reduce, all_gather, reduce_scatter, all_to_all, ring_pass };

struct Op {
  enum class Kind : std::uint8_t { gemm, attention, memory, exchange };
  Kind kind = Kind::memory;
  const char* name = "";
  int launches = 1;

  // gemm: batch × (m×k)·(k×n)
  double m = 0, n = 0, k = 0, batch = 1;
  catalog::Precision precision = catalog::Precision::bf16;
  double output_bytes = 2;
  double wide_share = 0;         // share of the layers in which this product stays in 16 bits
  bool weight_gradient = false;  // needs nothing but this rank's tensors: zero-bubble schedules put it off
  bool unaligned = false;        // rows that do not begin at 16-byte steps
  bool convolution = false;      // of three channels: no tensor-core kernel takes it
  bool exact = false;            // fp8: sums promoted to full precision as they go (gradients), slower than fast accumulation

  // attention core
  double sequences = 0, heads = 0, kv_heads = 0, query_length = 0, key_length = 0, head_dim = 0;
  bool causal = true, backward = false, flash = true, fused_softmax = false, dropout = false, masked = false;

  // memory: bytes read + written
  double bytes = 0;
  Traffic traffic = Traffic::elementwise;

  // exchange: `size` as collectives::time_of counts it
  Exchange exchange = Exchange::all_reduce;
  Group group = Group::tensor;
  double size = 0;
  double hidden = 0;  // share that runs beside computation
};

struct Pass {
  std::vector<Op> ops;
  double model_flops = 0;  // of the model's mathematics on this GPU, without recomputation
};

struct LayerWork {
  int count = 0;
  Pass forward, backward, recompute;
  double parameters = 0;          // held by this GPU before data-parallel sharding
  double expert_parameters = 0;   // of those, in routed experts (their data-parallel group is smaller)
  double adapter_parameters = 0;  // LoRA's, beside the frozen ones
};

struct TowerWork {
  LayerWork dense, experts;              // layers of each form, in the whole model (pipeline stages share them out)
  Pass before_forward, before_backward;  // embedding or patches
  Pass after_forward, after_backward;    // final norm, output layer, loss
  double before_parameters = 0, after_parameters = 0;
  double boundary_bytes = 0;  // activations that pass from one pipeline stage to the next, a micro-batch, a GPU
  double tokens = 0;          // a GPU and micro-batch
  int leading_dense = 0;      // layers at the front without experts; behind them one layer in `every` holds some
  int every = 1;
};

struct StepWork {
  std::vector<TowerWork> towers;
  double model_flops_per_sample = 0;       // forward + backward, the whole model, no recomputation
  double recomputed_flops_per_sample = 0;  // what recomputation adds
};

// `job` with its parallelism, micro-batch and recomputation settled. Cost: a few microseconds.
// Ignores: load imbalance between experts, padding, the sampling of data.
StepWork operations_of(const Job& job, const Behaviour& behaviour);

// Model FLOPs of one sample, forward only: 2 a token for each element of the matrices it meets + 4·s²·h a layer for attention's
// scores and values. Attention counts over the whole score matrix, causal or not, as in PaLM's definition of MFU (arXiv
// 2204.02311, appendix B) and most published figures; embedding look-ups, norms and biases are free.
double forward_flops_per_sample(const Model& model, std::int64_t sequence);

}  // namespace trunkline::workload
