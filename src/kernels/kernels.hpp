// How long a computation takes on a GPU.
#pragma once

#include <array>

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
  unfused,  // separate GEMMs, scale/mask/softmax/dropout kernels over the s×s matrix
  flash2,   // one fused kernel (FlashAttention 2 and its like)
  flash3,   // Hopper's asynchronous kernel (FlashAttention 3, cuDNN 9)
};

struct Attention {
  double batch = 0, heads = 0, kv_heads = 0;
  double query_length = 0, key_length = 0, head_dim = 0;
  bool causal = true;
  AttentionKind kind = AttentionKind::flash2;
  catalog::Precision precision = catalog::Precision::bf16;  // fp8 and fp4 count as bf16: frameworks keep attention there
  bool fused_softmax = false;                               // unfused only: scale, mask and softmax in one kernel, as Megatron has
  bool dropout = false;                                     // on the scores
  bool masked = false;                                      // flash only: a mask is read and added to the scores
};

// Kernel times of one GPU model. A small value, made once; every call is a closed formula without allocation
// (tens of ns), so that a search may make millions.
//
// Times exclude the CPU's launch gap: the timeline adds that, by framework. They are burst times (cool chip); the
// timeline applies `sustained` by duty cycle. No work takes no time; where the catalogue knows no rate for a precision
// the time is infinite. Where it does not know the number of SMs, that of an A100 is assumed (see knows_sms()).
class Kernels {
 public:
  explicit Kernels(const catalog::Gpu& gpu);
  Kernels(const catalog::Gpu& gpu, const Efficiencies& efficiencies);

  // T = max(compute, memory) + latency, the least over tile shapes and cuts of k that a library would choose from:
  //   compute = ceil(tiles·cuts/SMs) · 2·tm·tn·(k/cuts + overhead_k)/(rate of an SM · tile share) + cost of the cut
  //   memory  = (m·k + k·n + m·n elements)/(share · bandwidth)
  // Ignores: layout (NN, TN, NT differ by up to 15 %), which kernel the library's heuristic really picks (±8 %),
  // operands already in L2, the fused epilogue's arithmetic. Monotone: more m, n, k or batch is never faster, nor is
  // more rate or bandwidth slower. Validated: docs/kernels.md.
  Seconds gemm(const Gemm& shape) const;

  // The same where rows do not begin at 16-byte steps: libraries fall back to kernels that load element by element, bound by
  // instructions: T = max(gemm, 2·m·n·k/(rate · SMs)). Measured on an H200 for the output layer of a vocabulary of 50,257:
  // 0.73 (forward) to 1.1 TFLOP/s an SM (backward). Ignores: the generation of the part.
  Seconds unaligned_gemm(const Gemm& shape) const;

  // A convolution of three channels as a matrix product: it runs on the fp32 units. Half the rate of an fp32 GEMM, measured on
  // an H200 for patches of 32 (25–28 TFLOP/s); patches of 16 reach 36 forward and 121 in the weights' gradient.
  Seconds convolution(const Gemm& shape) const;

  // Flash kinds: blocks of 128 queries over all visible keys, spread over the SMs:
  //   T = max(longest block, work/SMs + tail·longest·(1 − SMs/blocks)) + passes over the query tensor + latency
  // Unfused: the GEMMs and one pass of memory for each operation over the scores. Backward is 2.5 times the forward's
  // arithmetic (scores are recomputed). Ignores: dropout in fused kernels, sliding windows, uneven sequences in a batch.
  Seconds attention_forward(const Attention& shape) const;
  Seconds attention_backward(const Attention& shape) const;

  // A kernel that only moves data: T = bytes/(share of its kind · bandwidth) + latency; `bytes` = read + written.
  // Ignores: tensors that stay in L2 between kernels (below about a third of its size they can be faster).
  Seconds memory_bound(double bytes) const { return memory_bound(bytes, MemoryKind::elementwise); }
  Seconds memory_bound(double bytes, MemoryKind kind) const;

  // Quantising `elements` 16-bit values for a GEMM in `to`: read once, written narrow as it is and transposed (the GEMMs
  // of a layer need both). `current_scaling` reads once more for the largest value. Frameworks run it beside the GEMM,
  // which does not contain it.
  Seconds cast(double elements, catalog::Precision to, bool current_scaling = false) const;

  // Share of the burst matrix rate that is left when the chip works at its power limit (0 < … ≤ 1):
  //   min(1, power · (watts/SMs)^(1/3) / (matrix share · rate of an SM)),
  // as dynamic power grows with the cube of the clock. Ignores: temperature, the spread of chips (±5 %), what memory
  // traffic draws.
  double sustained(catalog::Precision precision) const;

  bool knows_sms() const { return gpu_.sms > 0; }
  const Efficiencies& efficiencies() const { return efficiencies_; }

 private:
  static constexpr std::size_t kTiles = 8;

  double memory_rate(MemoryKind kind) const { return efficiencies_.memory[std::size_t(kind)] * gpu_.memory_bandwidth.si(); }
  double flash(const Attention& shape, const FlashShare& how, double flops_per_score, double tensors) const;
  Seconds score_product(const Gemm& shape) const;
  Seconds unfused_forward(const Attention& shape) const;
  Seconds unfused_backward(const Attention& shape) const;

  catalog::Gpu gpu_;
  Efficiencies efficiencies_;
  double sms_ = 1;
  // Seconds that an SM needs for one step of k of a tile, by precision and tile.
  std::array<std::array<double, kTiles>, kPrecisions> tile_step_s_{};
};

}  // namespace trunkline::kernels
