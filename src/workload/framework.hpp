// What a training framework does with a step: which operations it fuses, what its host code costs a kernel launch,
// which communication it hides. Behaviours with a reason each, not correction factors.
#pragma once

#include <string>

#include "workload/job.hpp"

namespace trunkline::workload {

// Generations of fused attention kernels.
enum class AttentionAge {
  flash1,  // FlashAttention 1 and its Triton form
  flash2,
  newest,  // made for the hardware: FlashAttention 3 or cuDNN 9 on Hopper, cuDNN 9 on Blackwell; elsewhere FlashAttention 2
};

struct Behaviour {
  // Kernels. An operation that is not fused reads and writes its tensor again.
  bool fused_norm = true;  // one kernel a norm, else elementwise kernels in fp32
  bool tuned_norm = true;  // that kernel reaches the bandwidth of a copy (Apex, Transformer Engine, compilers), unlike PyTorch's own
  bool fused_rotary = true;
  bool fused_activation = true;        // bias + GeLU, or SwiGLU, in one pass
  bool fused_residual = true;          // bias + dropout + add in one pass
  bool fused_softmax = true;           // scale + mask + softmax in one kernel, where attention is not flash
  bool fused_cross_entropy = false;    // loss without a second copy of the logits in fp32
  bool fused_weight_gradient = false;  // the weight-gradient GEMM adds into the accumulated gradient itself
  bool autocast_weights = false;       // weights kept in fp32, cast at every use
  bool autocast_kernels = false;       // layer norms and softmax run in fp32, between casts of their own
  double strided_copy = 1;             // a copy that reorders dimensions costs this many plain ones
  bool library_modules = false;        // the model is built of a library's modules as its configuration says (dropout)
  bool plain_modules = false;          // each operation of PyTorch's modules is a kernel, counted one by one (plain_ops.cpp)
  bool decomposed_rms = true;          // of those: an rms norm is written out, not one kernel
  double stream_bytes = 2;             // of those: an element of the residual stream
  bool explicit_mask = false;          // attention gets its mask as a tensor: fused kernels compute all pairs
  bool pads_matrices = true;           // odd widths (a vocabulary of 50,257) are padded to whole 16-byte steps
  bool patch_convolution = false;      // patches are a convolution of three channels
  bool dropout = false;                // trains with dropout where the model family has it
  bool flash_attention = true;
  AttentionAge attention_age = AttentionAge::flash2;
  bool recompute_stops_early = false;  // full recomputation leaves out what backward does not need (the layer's last product)
  double accumulate_bytes = 4;         // an accumulated gradient element
  int query_key_value_gemms = 1;       // 1: one fused projection, 3: separate

  // Host.
  double launch_s = 5e-6;      // what the host needs for one kernel launch, Python included
  double step_overhead_s = 0;  // once a step: data hand-over, loss read-back, optimizer Python, logging

  // Communication.
  bool sequence_parallel = false;         // splits norms and dropout over tp where the job does not say
  double tensor_overlap = 0;              // share of tensor-parallel traffic hidden behind the GEMM next to it
  bool reduce_overlap = true;             // gradient reduction runs during backward
  bool gather_overlap = false;            // parameter all-gather of a sharded optimizer runs during the next forward
  bool pipeline_overlap = false;          // stage-to-stage copies run beside computation
  double reduce_bytes = 4;                // a gradient element on the wire
  Bytes bucket = mib(25);                 // gradient bucket
  bool bucket_grows = false;              // Megatron: at least 40 million elements and one million a data-parallel rank
  bool gathers_by_broadcast = false;      // updated parameters are broadcast by their owners, one after the other
  bool gathers_narrow = false;            // fp8 jobs gather fp8 parameters
  bool sharded_reduce_each_micro = true;  // ZeRO-3/FSDP reduce-scatters after every micro-batch
  bool reshard_after_forward = true;      // FSDP gathers weights again for backward

  std::string why;  // one line for the documentation
};

// The behaviour of `framework` on hardware of `generation`.
Behaviour behaviour_of(Framework framework, catalog::Generation generation);

// `job.framework` with what the job states itself (sequence_parallel, flash_attention, compile) applied.
Behaviour behaviour_of(const Job& job, catalog::Generation generation);

}  // namespace trunkline::workload
