// How long a computation takes on a GPU.
#pragma once

#include "base/units.hpp"
#include "catalog/gpu.hpp"
#include "kernels/efficiencies.hpp"

namespace trunkline::kernels {

struct Gemm {
  double m = 0, n = 0, k = 0;  // (m×k)·(k×n)
  double batch = 1;
  catalog::Precision precision = catalog::Precision::bf16;
  int output_bytes = 2;
};

// How the attention core is computed.
enum class AttentionKind {
  unfused,   // separate GEMMs, scale/mask/softmax/dropout kernels over the s×s matrix
  flash2,    // one fused kernel (FlashAttention 2 and its like)
  flash3,    // Hopper's asynchronous kernel (FlashAttention 3, cuDNN 9)
};

struct Attention {
  double batch = 0, heads = 0, kv_heads = 0;
  double query_length = 0, key_length = 0, head_dim = 0;
  bool causal = true;
  AttentionKind kind = AttentionKind::flash2;
  catalog::Precision precision = catalog::Precision::bf16;
};

// Kernel times of one GPU model. A small value, made once; every call is a closed formula (tens of ns).
class Kernels {
 public:
  explicit Kernels(const catalog::Gpu& gpu);
  Kernels(const catalog::Gpu& gpu, const Efficiencies& efficiencies);

  // Times exclude the CPU's launch gap: the timeline adds that, by framework. They are burst times (cool chip); the
  // timeline applies `sustained` by duty cycle.
  Seconds gemm(const Gemm& shape) const;
  Seconds attention_forward(const Attention& shape) const;
  Seconds attention_backward(const Attention& shape) const;
  // A kernel that only moves data; `bytes` = read + written.
  Seconds memory_bound(double bytes) const;
  // Quantising `elements` values to a narrower format before a GEMM (fp8, fp4): read at 2 bytes, written narrow, with
  // one more read for the largest value. Frameworks add it beside the GEMM; gemm() does not contain it.
  Seconds cast(double elements, catalog::Precision to) const;

  // Share of the burst matrix rate that is left when the chip works at its power limit (0 < … ≤ 1).
  double sustained(catalog::Precision precision) const;

 private:
  catalog::Gpu gpu_;
  Efficiencies efficiencies_;
};

}  // namespace trunkline::kernels
