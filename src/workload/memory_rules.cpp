// What each framework keeps, from its own documentation or source.
#include <algorithm>

#include "workload/framework.hpp"
#include "workload/memory.hpp"

namespace trunkline::workload {
namespace {

using catalog::Precision;

bool is_16_bit(Precision p) { return p == Precision::fp16 || p == Precision::bf16; }
bool is_8_bit(Precision p) { return p == Precision::fp8 || p == Precision::fp4; }

// Weights in fp32 (PyTorch's automatic mixed precision, FSDP's mixed precision, JAX): 4 + 4 + two moments of 4.
void fp32_weights(MemoryRules& r, Framework framework, Precision compute) {
  r.weight = 4;
  r.gradient = 4;
  r.master = 0;
  r.moment = 4;
  if (!is_16_bit(compute) && !is_8_bit(compute)) {
    r.element = r.linear_input = r.residual = r.gathered = 4;
    return;
  }
  const bool autocast =
      framework == Framework::pytorch_eager || framework == Framework::pytorch_ddp || framework == Framework::pytorch_compile;
  if (autocast) {
    r.weight_copies = 2;  // the cast weight is kept for the backward product
    r.residual = 4;       // embeddings and norms stay fp32
    r.softmax = 4;
    if (framework != Framework::pytorch_compile) {  // a compiler casts once
      r.qkv_inputs = 3;
      r.gate_inputs = 2;
    }
  }
}

// Weights in 16 bits. Megatron-LM's table (docs: distributed optimizer): 20 bytes for fp16 (4 + 16/d sharded), 18 for
// bf16 with fp32 gradients (6 + 12/d). NeMo's recipes reduce gradients in bf16: 4 + 16/d. DeepSpeed's fp16: 4 + 16/d.
void half_weights(MemoryRules& r, Framework framework, const Precisions& p) {
  r.weight = 2;
  if (p.optimizer != Precision::fp32) {
    r.gradient = 2;
    r.master = 0;
    r.moment = 2;
    return;
  }
  r.master = 4;
  r.moment = 4;
  const bool half_gradients = p.parameters == Precision::fp16 || framework == Framework::nemo || framework == Framework::megatron_bridge ||
                              framework == Framework::mlperf_nvidia || framework == Framework::internevo;
  r.gradient = half_gradients ? 2 : 4;
  r.optimizer_gradient = half_gradients ? 4 : 0;
}

// Transformer Engine keeps an fp8 weight and its transpose beside the bf16 one, and inputs of matrix products in 8 bits. What is not
// trained is kept in the format it is multiplied in and nothing else: Llama 2 70B fine-tunes on one B200 of 180 GB and, in two
// halves of the sequence, on H200s of 141 GB (MLPerf Training v5.0), where 69 B matrix elements leave no room for a second copy.
void transformer_engine(MemoryRules& r, Precision compute) {
  if (!is_8_bit(compute)) return;
  r.weight_copies += compute == Precision::fp8 ? 2 : 1.125;  // fp4: a scale byte for 16 elements
  r.linear_input = r.frozen = compute == Precision::fp8 ? 1 : 0.5625;
}

// Peak bytes a logit: 16-bit logits 2, their fp32 copy 4, log-softmax or exponentials 4, fp32 gradients 4 each.
double logit_bytes(Framework framework, bool fused) {
  switch (framework) {
    case Framework::pytorch_eager:
    case Framework::pytorch_ddp:
    case Framework::pytorch_fsdp:
    case Framework::torchtitan: return 4 + 4 + 4;   // log-softmax and two fp32 gradients (measured: 12)
    case Framework::composer_fsdp: return 2 + 2;    // LLM Foundry's default loss is FlashAttention's fused one, in 16 bits
    case Framework::pytorch_compile: return 2 + 4;  // one generated kernel each way
    default: return fused ? 2 + 4 : 2 + 4 + 4;      // Megatron computes the gradient in place
  }
}

void fsdp(MemoryRules& r) { r.gathers_weights = true; }

bool torch_loop(Framework f) {
  return f == Framework::pytorch_eager || f == Framework::pytorch_compile || f == Framework::pytorch_ddp || f == Framework::pytorch_fsdp ||
         f == Framework::composer_fsdp || f == Framework::torchtitan;
}

// PyTorch's caching allocator, measured on one H200 over ten models and batches (PyTorch 2.11, reserved against allocated):
// 5 % of what is in use without recomputation (median; 2 to 15 %); with it, one fp32 copy of the logits on top, whose blocks
// the next step's activations break up (3.8 and 7.1 bytes a logit). What of it a job cannot do without was measured by holding the
// allocator to less and less until a step failed: 1.0, 5.1 and 5.6 % (data/calibration/h200_memory_limit.csv).
// Their median for PyTorch's own training loops; the least, between 0.5 and 1.0 %, for frameworks that keep weights and gradients in
// buffers and repeat the same shapes micro-batch after micro-batch (Llama 3.1 405B ran on 16,384 H100 with less than 1 % to spare).
void caching_allocator(MemoryRules& r, Framework framework) {
  r.fragmentation = 0.05;
  r.stranded_logit = 4;
  r.pinned = torch_loop(framework) ? 0.05 : 0.0075;
}

void habits(MemoryRules& r, Framework framework, const Precisions& p) {
  switch (framework) {
    case Framework::pytorch_ddp:
    case Framework::pytorch_eager:
    case Framework::pytorch_compile:
      r.gradient_buckets = r.gradient;  // DDP's gradient_as_bucket_view is off by default
      r.step_temporary = 4;             // torch.optim's foreach kernels
      r.frees_gradients = true;
      break;
    case Framework::composer_fsdp: r.stranded_logit = 2; [[fallthrough]];
    case Framework::pytorch_fsdp:
      fsdp(r);
      r.frees_gradients = true;
      r.reduced = 2;
      r.step_temporary = 4;
      break;
    case Framework::torchtitan:
      fsdp(r);
      r.frees_gradients = true;
      r.selective = Selective::alternate_matmuls;
      r.reduced = 4;
      break;
    case Framework::maxtext:
    case Framework::pax:
      fsdp(r);
      r.selective = Selective::all_matmuls;
      r.reduced = 2;
      r.fragmentation = 0.05;  // XLA plans its arena ahead: nothing is stranded
      r.stranded_logit = r.pinned = 0;
      break;
    case Framework::megatron_deepspeed:
      r.keeps_stage_output = true;
      r.bucket = Bytes(2 * 500'000'000LL * 2);  // reduce_bucket_size and allgather_bucket_size, 5e8 16-bit elements each
      break;
    case Framework::internevo: r.bucket = mib(512); break;
    default: transformer_engine(r, p.compute);
  }
}

}  // namespace

MemoryRules memory_rules(Framework framework, const Precisions& precisions) {
  const Behaviour behaviour = behaviour_of(framework, catalog::Generation::other);
  MemoryRules r;
  r.fused_norm = behaviour.fused_norm;
  r.fused_activation = behaviour.fused_activation;
  r.flash_attention = behaviour.flash_attention;
  r.dropout = behaviour.dropout;
  r.context = mib(770);       // measured on one H200, CUDA 13.0: 618 MiB at once, 770 when cuBLAS and all kernels are loaded
  r.library = mib(550);       // measured there: the first communicator of one rank, whose buffers are small
  r.communicator = mib(300);  // 16 channels × 2 connections × (4 MiB Simple + 4.7 MiB LL128 + 0.5 MiB LL), NCCL's default sizes
  r.all_to_all_peer = scaled(Bytes(1), 3.28e9 / 7);  // NVIDIA/nccl issue 1685: 8×H100 grew by 3.28 GB at their first all-to-all
  caching_allocator(r, framework);
  if (is_16_bit(precisions.parameters) || is_8_bit(precisions.parameters)) {
    half_weights(r, framework, precisions);
  } else {
    fp32_weights(r, framework, precisions.compute);
  }
  r.logit = logit_bytes(framework, behaviour.fused_cross_entropy);
  habits(r, framework, precisions);
  if (framework == Framework::ideal) {
    r.context = r.library = r.communicator = r.all_to_all_peer = Bytes(0);
    r.fragmentation = r.stranded_logit = r.pinned = 0;
  }
  return r;
}

MemoryRules memory_rules(const Job& job) {
  MemoryRules r = memory_rules(job.framework, job.precision);
  if (job.compile) {
    r.fused_norm = r.fused_activation = true;
    r.qkv_inputs = r.gate_inputs = 1;
  }
  if (job.flash_attention) r.flash_attention = *job.flash_attention;
  return r;
}

}  // namespace trunkline::workload
