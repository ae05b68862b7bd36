#include "workload/framework.hpp"

#include <algorithm>

namespace trunkline::workload {
namespace {

using catalog::Generation;

Behaviour pytorch_eager() {
  Behaviour b;
  b.fused_norm = false;
  b.fused_rotary = false;
  b.fused_activation = false;
  b.fused_residual = false;
  b.fused_softmax = false;
  b.autocast_weights = true;
  b.query_key_value_gemms = 3;
  b.launch_s = 8e-6;
  b.why = "every operation is its own kernel, launched from Python; autocast copies fp32 weights to 16 bits at every use";
  return b;
}

Behaviour pytorch_compile() {
  Behaviour b = pytorch_eager();
  b.fused_norm = b.fused_rotary = b.fused_activation = b.fused_residual = b.fused_cross_entropy = true;
  b.launch_s = 3e-6;
  b.why = "elementwise chains are fused into one generated kernel each and launched without Python between them";
  return b;
}

Behaviour pytorch_fsdp() {
  Behaviour b = pytorch_compile();
  b.autocast_weights = false;
  b.launch_s = 6e-6;
  b.why = "weights are sharded and gathered in 16 bits layer by layer; gradients are reduced in 16 bits";
  b.reduce_bytes = 2;
  return b;
}

Behaviour composer_fsdp() {
  Behaviour b = pytorch_fsdp();
  b.fused_norm = true;        // low-precision layer norm
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
  b.launch_s = 5e-6;
  b.why = "FSDP2, each layer compiled, gradients reduced in fp32";
  return b;
}

Behaviour megatron() {
  Behaviour b;
  b.fused_weight_gradient = true;
  b.dropout = true;
  b.launch_s = 6e-6;
  b.reduce_overlap = false;
  b.reduce_bytes = 4;
  b.bucket = mib(160);
  b.flash_attention = false;
  b.why = "fused bias, dropout, add and softmax kernels; weight gradients accumulate in fp32 inside the GEMM";
  return b;
}

Behaviour megatron_deepspeed() {
  Behaviour b = megatron();
  b.reduce_overlap = false;
  b.reduce_bytes = 2;
  b.fused_weight_gradient = false;
  b.accumulate_bytes = 2;
  b.launch_s = 8e-6;
  b.why = "Megatron kernels under DeepSpeed's pipeline engine, which reduces 16-bit gradients after the last micro-batch";
  return b;
}

Behaviour nemo() {
  Behaviour b;
  b.fused_weight_gradient = true;
  b.fused_cross_entropy = true;
  b.sequence_parallel = true;
  b.tensor_overlap = 0.7;
  b.reduce_overlap = true;
  b.gather_overlap = true;
  b.pipeline_overlap = true;
  b.reduce_bytes = 2;
  b.bucket = mib(160);
  b.launch_s = 5e-6;
  b.why = "Transformer Engine layers, sequence parallelism, tensor-parallel traffic split and run beside the GEMMs, overlapped distributed optimizer";
  return b;
}

Behaviour megatron_bridge() {
  Behaviour b = nemo();
  b.launch_s = 4e-6;
  b.why = "as NeMo, on later Megatron-Core";
  return b;
}

Behaviour mlperf_nvidia() {
  Behaviour b = nemo();
  b.launch_s = 2e-6;
  b.why = "as NeMo, with CUDA graphs around the layers";
  return b;
}

Behaviour jax() {
  Behaviour b;
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
  b.launch_s = 6e-6;
  b.query_key_value_gemms = 1;
  b.why = "FlashAttention and fused kernels; gradients reduced in 16-bit buckets during backward, parameters broadcast after the update";
  return b;
}

}  // namespace

Behaviour behaviour_of(Framework framework, Generation) {
  switch (framework) {
    case Framework::pytorch_eager:
    case Framework::pytorch_ddp: return pytorch_eager();
    case Framework::pytorch_compile: return pytorch_compile();
    case Framework::pytorch_fsdp: return pytorch_fsdp();
    case Framework::composer_fsdp: return composer_fsdp();
    case Framework::torchtitan: return torchtitan();
    case Framework::megatron: return megatron();
    case Framework::megatron_deepspeed: return megatron_deepspeed();
    case Framework::megatron_bridge: return megatron_bridge();
    case Framework::nemo: return nemo();
    case Framework::mlperf_nvidia: return mlperf_nvidia();
    case Framework::maxtext:
    case Framework::pax: return jax();
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

Behaviour behaviour_of(const Job& job, Generation generation) {
  Behaviour b = behaviour_of(job.framework, generation);
  if (job.parallelism.sequence_parallel) b.sequence_parallel = true;
  if (job.flash_attention) b.flash_attention = *job.flash_attention;
  if (job.compile && !b.fused_residual) {
    b.fused_norm = b.fused_rotary = b.fused_activation = b.fused_residual = true;
    b.launch_s = std::min(b.launch_s, 3e-6);
  }
  if (job.parallelism.tp == 1) b.sequence_parallel = false;
  return b;
}

}  // namespace trunkline::workload
