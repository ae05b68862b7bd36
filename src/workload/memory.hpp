// What one GPU must hold: weights, gradients, optimizer, activations and buffers of the most loaded pipeline stage.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/units.hpp"
#include "workload/job.hpp"

namespace trunkline::workload {

// What `recompute: selective` keeps.
enum class Selective {
  core_attention,     // Megatron: all but the score matrix (nothing is saved where attention is flash)
  alternate_matmuls,  // torchtitan's `op` policy: every second matrix product and the attention output
  all_matmuls,        // MaxText's `minimal` policy: every matrix product and the attention output
};

// A framework's habits with memory. Bytes are an element unless said otherwise.
struct MemoryRules {
  // State, a trained parameter.
  double weight = 2;              // as kept
  double weight_copies = 0;       // further copies that live through the step: autocast's 16-bit, fp8 pairs
  double frozen = 2;              // a matrix element that is not trained (LoRA)
  double gradient = 4;            // as accumulated
  bool frees_gradients = false;   // none exist between steps, so the loss of a single micro-batch meets none (PyTorch)
  double gradient_buckets = 0;    // DDP's buckets, a second copy of the gradients; only with dp > 1
  double optimizer_gradient = 0;  // the optimizer's fp32 copy of a 16-bit gradient, sharded with it
  double master = 4;              // fp32 weights beside 16-bit ones
  double moment = 4;              // one optimizer state
  double step_temporary = 0;      // what the optimizer allocates during its step, when activations are gone
  bool gathers_weights = false;   // FSDP: zero2 shares out the kept weights too and holds a gathered 16-bit copy
  double gathered = 2;            // a gathered weight
  double reduced = 4;             // a gradient on its way into a reduce-scatter

  // Activations.
  double element = 2;            // of a tensor kept for backward
  double linear_input = 2;       // the input of a matrix product, where it is kept in another format (fp8)
  double residual = 2;           // the residual stream (fp32 under autocast)
  double softmax = 2;            // attention probabilities, where a score matrix is kept (fp32 under autocast)
  int qkv_inputs = 1;            // copies of the attention block's input: autocast casts it for each projection
  int gate_inputs = 1;           // likewise for a gated feed-forward block
  bool fused_norm = true;        // else an rms norm keeps its fp32 input and what it scales
  bool fused_activation = true;  // else every step of the activation keeps its tensor
  bool flash_attention = true;   // no score matrix is kept
  bool dropout = false;          // masks are kept where the architecture trains with dropout
  Selective selective = Selective::core_attention;
  bool keeps_stage_output = false;  // a pipeline stage holds its output until the backward pass

  // The loss: bytes a logit at its peak (copies and gradient together).
  double logit = 10;

  // Overheads.
  Bytes context;              // CUDA context and libraries
  Bytes library;              // NCCL's kernels, once there is more than one GPU
  Bytes communicator;         // one NCCL communicator's buffers
  Bytes all_to_all_peer;      // point-to-point buffers for one peer of an all-to-all (expert parallelism)
  Bytes bucket;               // gradient and parameter buckets beside the gradients
  double fragmentation = 0;   // share by which the caching allocator holds more than is in use
  double pinned = 0;          // share of what is in use that it holds besides and cannot give back: what decides whether a job fits
  double stranded_logit = 0;  // with recomputation: bytes a logit that activations of the next step break up

  int node_gpus = 8;  // ranks of an hsdp group where the job says "one node"
};

// Rules of `framework` with weights and optimizer in `precisions`, and of `job` with what it states itself.
MemoryRules memory_rules(Framework framework, const Precisions& precisions);
MemoryRules memory_rules(const Job& job);

struct MemoryParts {
  Bytes weights;        // with their copies, and gathered ones
  Bytes gradients;      // accumulated, with buckets; at the peak, so 0 where the loss meets none yet
  Bytes optimizer;      // master weights, moments, fp32 gradient copies
  Bytes activations;    // kept between forward and backward
  Bytes logits;         // of the loss
  Bytes workspace;      // what a layer's backward or the optimizer's step needs for a moment
  Bytes communication;  // NCCL buffers, buckets
  Bytes framework;      // CUDA context and libraries
  Bytes fragmentation;  // held by the caching allocator beyond what is in use
  int stage = 0;        // the pipeline stage that this is
  Bytes total() const {
    return weights + gradients + optimizer + activations + logits + workspace + communication + framework + fragmentation;
  }
};

// Memory of one GPU in the pipeline stage that needs most; `job` with its parallelism, micro-batch and recomputation settled.
//   state        = parameters of the stage / (tp · shards) × bytes
//   activations  = layers × stored bytes a layer × micro-batches in flight (1F1B: pp − stage; interleaved: pp·(1 + (pp−1)/(pp·vpp)))
// Stored bytes count every tensor that backward reads: 34·s·b·h + 5·a·s²·b for GPT's layer, as Korthikanti et al. (arXiv
// 2205.05198), generalised to grouped, latent, gated and expert layers.
// Ignores: imbalance between experts, padding of the vocabulary, norms and position tables that tensor parallelism replicates,
// cuDNN workspaces beyond the context's figure, offloading.
// Source: the paper above; Megatron-LM's distributed optimizer table; ZeRO (1910.02054). Validated by runs with a printed peak
// memory (memory_test.cpp). Cost: below a microsecond.
MemoryParts memory_of(const Job& job, const MemoryRules& rules);

// What one GPU must be given for the job to run: memory_of, but of the allocator's fragments only those that it cannot give back when
// memory runs short (MemoryRules::pinned).
MemoryParts memory_needed(const Job& job);

// The least recomputation with which the job needs at most `capacity`; nullopt when even full recomputation does not fit.
std::optional<Recompute> least_recompute_that_fits(Job job, const MemoryRules& rules, Bytes capacity);

// What a checkpoint holds so that training can go on from it: of every trained parameter the weight as it is kept, the master weight
// where there is one, and the optimizer's states; 14 bytes a parameter with bf16 weights and AdamW, 12 with fp32 ones. Adapters only, for
// LoRA (the frozen weights are at hand). Ignores: the loader's state, random states, padding.
double checkpoint_bytes(const Job& job);

struct Suggestion {
  std::string change;  // in words: "recompute: full"
  Job job;             // the job with the change
  Bytes bytes;         // what one GPU then needs
  int gpus = 0;        // all GPUs that the change needs
  bool fits = false;
};

// Single changes, and the cheapest combinations, that would make the job fit `capacity`; those that fit first, each group by what
// it costs in speed (sharding, then recomputation, then tensor parallelism, more GPUs, adapters). `gpus` are those at hand.
std::vector<Suggestion> what_would_fit(const Job& job, Bytes capacity, int gpus);

// Bytes that one layer of `tower` keeps for backward, for one micro-batch on one GPU. Exposed for tests and documentation.
struct LayerActivations {
  double none = 0;  // without recomputation
  double selective = 0;
  double full = 0;  // the layer's input alone
};
LayerActivations layer_activations(const Tower& tower, const Job& job, const MemoryRules& rules, bool with_experts);

}  // namespace trunkline::workload
