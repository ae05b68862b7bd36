#include "workload/framework.hpp"

#include <algorithm>

namespace trunkline::workload {
namespace {

using catalog::Generation;

// What one kernel costs the host in whole models, Python modules, dispatcher and autograd included: measured 27–39 µs
// with PyTorch 2.11 on a 2023 server (tests/device/host_cost.py); a tight loop of one operation shows only 8 µs.
constexpr double kEagerLaunch = 30e-6;
// Servers around V100 and A100 (2017–2020) run that code about 1.6 times as slowly as the one measured.
constexpr double kOlderHost = 1.6;

// PyTorch's generic copy of a reordered tensor is bound by instructions: 1.05 of 4.2 TB/s on an H200
// (data/calibration/h200_clip_step.csv); an SM of the older parts has half the bandwidth to lose.
constexpr double kStridedCopy = 4, kOlderStridedCopy = 2;

bool older_host(Generation g) {
  return g == Generation::kepler_to_pascal || g == Generation::volta || g == Generation::turing || g == Generation::ampere;
}

Behaviour pytorch_eager() {
  Behaviour b;
  b.fused_norm = false;
  b.tuned_norm = false;
  b.fused_rotary = false;
  b.fused_activation = false;
  b.fused_residual = false;
  b.fused_softmax = false;
  b.autocast_weights = b.autocast_kernels = true;
  b.strided_copy = kStridedCopy;
  b.query_key_value_gemms = 3;
  b.pads_matrices = false;
  b.patch_convolution = true;
  b.attention_age = AttentionAge::newest;
  b.launch_s = kEagerLaunch;
  b.why = "every operation is its own kernel, launched from Python; autocast copies fp32 weights to 16 bits at every use";
  return b;
}

Behaviour pytorch_compile() {
  Behaviour b = pytorch_eager();
  b.fused_norm = b.tuned_norm = b.fused_rotary = b.fused_activation = b.fused_residual = b.fused_cross_entropy = true;
  b.autocast_kernels = false;
  b.strided_copy = 1;
  b.pads_matrices = true;
  b.launch_s = kEagerLaunch;
  b.why = "elementwise chains are fused into one generated kernel each and launched without Python between them";
  return b;
}

Behaviour pytorch_fsdp() {
  Behaviour b = pytorch_compile();
  b.autocast_weights = false;
  b.attention_age = AttentionAge::flash2;
  b.recompute_stops_early = true;  // non-reentrant checkpoints
  b.launch_s = kEagerLaunch;
  b.why = "weights are sharded and gathered in 16 bits layer by layer; gradients are reduced in 16 bits";
  b.reduce_bytes = 2;
  return b;
}

Behaviour composer_fsdp() {
  Behaviour b = pytorch_fsdp();
  b.fused_norm = true;  // low-precision layer norm, PyTorch's kernel
  b.tuned_norm = false;
  b.attention_age = AttentionAge::flash1;
  b.fused_activation = true;
  b.fused_residual = false;
  b.fused_cross_entropy = false;
  b.query_key_value_gemms = 1;
  b.why = "FSDP without a compiler: low-precision layer norm and FlashAttention kernels, separate residual adds";
  return b;
}

Behaviour torchtitan() {
  Behaviour b = pytorch_fsdp();
  b.reduce_bytes = 4;
  b.launch_s = kEagerLaunch;
  b.why = "FSDP2, each layer compiled, gradients reduced in fp32";
  return b;
}

Behaviour megatron() {
  Behaviour b;
  b.fused_weight_gradient = true;
  b.dropout = true;
  b.launch_s = kEagerLaunch;
  b.reduce_overlap = false;
  b.reduce_bytes = 4;
  b.bucket_grows = true;
  b.why = "fused bias, dropout, add and softmax kernels; weight gradients accumulate in fp32 inside the GEMM";
  return b;
}

Behaviour megatron_deepspeed() {
  Behaviour b = megatron();
  b.bucket_grows = false;
  b.bucket = mib(954);  // DeepSpeed's default of 5e8 16-bit elements
  b.reduce_overlap = false;
  b.reduce_bytes = 2;
  b.fused_weight_gradient = false;
  b.accumulate_bytes = 2;
  b.why = "Megatron kernels under DeepSpeed's pipeline engine, which reduces 16-bit gradients after the last micro-batch";
  return b;
}

Behaviour nemo() {
  Behaviour b;
  b.fused_weight_gradient = true;
  b.fused_cross_entropy = true;
  b.attention_age = AttentionAge::newest;
  b.accumulate_bytes = 2;
  b.sequence_parallel = true;
  b.tensor_overlap = 0.7;
  b.reduce_overlap = true;
  b.gather_overlap = true;
  b.pipeline_overlap = true;
  b.reduce_bytes = 2;
  b.bucket_grows = true;
  b.launch_s = kEagerLaunch;
  b.why =
      "Transformer Engine layers, sequence parallelism, tensor-parallel traffic split and run beside the GEMMs, overlapped distributed "
      "optimizer";
  return b;
}

Behaviour megatron_bridge() {
  Behaviour b = nemo();
  b.gathers_narrow = true;
  b.why = "as NeMo, on later Megatron-Core; fp8 parameters are gathered in fp8";
  return b;
}

Behaviour mlperf_nvidia() {
  Behaviour b = nemo();
  b.launch_s = 2e-6;
  b.gathers_narrow = true;
  b.why = "as NeMo, with CUDA graphs around the layers; fp8 parameters are gathered in fp8";
  return b;
}

Behaviour jax() {
  Behaviour b;
  b.recompute_stops_early = true;  // rematerialised code that nothing reads is dropped by the compiler
  b.attention_age = AttentionAge::newest;
  b.fused_cross_entropy = true;
  b.launch_s = 2e-6;
  b.reduce_overlap = true;
  b.gather_overlap = true;
  b.reduce_bytes = 2;
  b.query_key_value_gemms = 3;
  b.bucket = mib(256);
  b.why = "one compiled program a step: elementwise work is fused, collectives are scheduled asynchronously";
  return b;
}

Behaviour internevo() {
  Behaviour b;
  b.fused_cross_entropy = true;
  b.reduce_overlap = true;
  b.reduce_bytes = 2;
  b.bucket = mib(512);
  b.gathers_by_broadcast = true;
  b.launch_s = kEagerLaunch;
  b.query_key_value_gemms = 1;
  b.why = "FlashAttention and fused kernels; gradients reduced in 16-bit buckets during backward, parameters broadcast after the update";
  return b;
}

}  // namespace

namespace {

// On Hopper and later Megatron-LM runs Transformer Engine layers and the overlap of Megatron-Core, as NeMo does.
bool transformer_engine_era(Generation g) { return g == Generation::hopper || g == Generation::blackwell; }

Behaviour described(Framework framework, Generation generation) {
  switch (framework) {
    case Framework::pytorch_eager:
    case Framework::pytorch_ddp: return pytorch_eager();
    case Framework::pytorch_compile: return pytorch_compile();
    case Framework::pytorch_fsdp: return pytorch_fsdp();
    case Framework::composer_fsdp: return composer_fsdp();
    case Framework::torchtitan: return torchtitan();
    case Framework::megatron: return transformer_engine_era(generation) ? nemo() : megatron();
    case Framework::megatron_deepspeed: return megatron_deepspeed();
    case Framework::megatron_bridge: return megatron_bridge();
    case Framework::nemo: return nemo();
    case Framework::mlperf_nvidia: return mlperf_nvidia();
    case Framework::maxtext: return jax();
    case Framework::pax: {
      Behaviour b = jax();
      b.flash_attention = false;
      b.why += "; attention is compiled from its operations, not a flash kernel";
      return b;
    }
    case Framework::internevo: return internevo();
    case Framework::ideal: {
      Behaviour b = jax();
      b.launch_s = 0;
      b.tensor_overlap = 1;
      b.pipeline_overlap = true;
      b.fused_weight_gradient = true;
      b.why = "no launch cost and perfect overlap: an upper bound, not a forecast";
      return b;
    }
  }
  return {};
}

}  // namespace

Behaviour behaviour_of(Framework framework, Generation generation) {
  Behaviour b = described(framework, generation);
  if (older_host(generation)) {
    b.launch_s *= kOlderHost;
    b.strided_copy = std::min(b.strided_copy, kOlderStridedCopy);
  }
  return b;
}

Behaviour behaviour_of(const Job& job, Generation generation) {
  Behaviour b = behaviour_of(job.framework, generation);
  if (!job.open.sequence_parallel) b.sequence_parallel = job.parallelism.sequence_parallel;
  if (job.flash_attention) b.flash_attention = *job.flash_attention;
  if (job.compile && !b.fused_residual) {
    b.fused_norm = b.fused_rotary = b.fused_activation = b.fused_residual = true;
  }
  const bool single = job.framework == Framework::pytorch_eager || job.framework == Framework::pytorch_ddp;
  if (single || job.framework == Framework::pytorch_compile) {
    const bool half_weights = job.precision.parameters != catalog::Precision::fp32;
    if (half_weights) b.autocast_weights = b.autocast_kernels = false;
    // In fp32 or tf32 everything has one format, counted in its own width (LayerBuilder::width_): no casts.
    const auto compute = job.precision.compute;
    const bool one_format = half_weights || compute == catalog::Precision::fp32 || compute == catalog::Precision::tf32;
    b.stream_bytes = one_format ? 2 : 4;
    b.library_modules = b.flash_attention;
    // Modules of 2021 that write attention out are described by autocast_kernels and strided_copy instead.
    b.plain_modules = single && !job.compile && b.flash_attention;
    b.decomposed_rms = job.library == Library::transformers;
    b.explicit_mask = job.compile && job.library == Library::transformers;
  }
  if (job.parallelism.tp == 1) b.sequence_parallel = false;
  return b;
}

}  // namespace trunkline::workload
