// What share of its catalogued limits a GPU really gives, kernel by kernel: every number of the kernel models that is
// measured or published rather than catalogued.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "catalog/gpu.hpp"
#include "io/spec.hpp"
#include "io/value.hpp"

namespace trunkline::kernels {

inline constexpr std::size_t kPrecisions = 6;  // as catalog::Precision
using ByPrecision = std::array<double, kPrecisions>;

// Kernels bound by memory; the kinds differ by how much of the bandwidth they reach.
enum class MemoryKind {
  elementwise,   // add, scale, SiLU, residual, casts
  math,          // with costly arithmetic an element: GELU, dropout's random numbers
  norm_forward,  // row reductions: LayerNorm, RMSNorm
  norm_backward,
  cross_entropy,  // softmax over the vocabulary or over attention scores
  optimizer,      // fused Adam
  copy,
};
inline constexpr std::size_t kMemoryKinds = 7;

// A fused attention kernel, one direction.
struct FlashShare {
  double share = 0;          // of the catalogued matrix rate: head size 128, long sequences
  double head_exponent = 0;  // the share falls with (head size / 128)^head_exponent below 128
  double overhead_keys = 0;  // what starting a block of queries costs, in keys
  double tail = 0;           // part of the longest block's time that nothing else covers at the end
  double latency_s = 0;      // start and drain of its kernels
  double passes = 0;         // passes over the query tensor beside the main kernel
};

struct Efficiencies {
  ByPrecision matrix{};                       // share of the catalogued dense rate in the inner loop of a large GEMM, cool chip
  double overhead_k = 0;                      // what a tile costs beside its inner loop, as a length of k
  double tile_intensity = 0;                  // rate of a tile m×n is I/(I + tile_intensity), I = mn/(m+n)
  double gemm_latency_s = 0;                  // what no GEMM is faster than
  double split_latency_s = 0;                 // what cutting k adds once
  ByPrecision power{};                        // FLOP/s of an SM sustained at 1 W per SM; 0 = no limit known
  double watts_per_sm = 0;                    // where the catalogue has no power limit
  std::array<double, kMemoryKinds> memory{};  // share of the memory bandwidth, by MemoryKind
  double memory_latency_s = 0;
  FlashShare flash2_forward, flash2_backward;
  FlashShare flash3_forward, flash3_backward;  // as flash2 where the class has no such kernel

  // The defaults for a GPU: those of its class (efficiency_class), adapted to its rate per SM. What an SM loses beside the
  // inner loop is a fixed time, so with r = its rate / the class's sm_rate a share s becomes 1/(1 + (1/s − 1)·r).
  static Efficiencies default_for(const catalog::Gpu& gpu);
};

// GPUs that behave alike, as data/calibration/kernels.yaml lists them.
struct EfficiencyClass {
  std::string name;
  catalog::Generation generation = catalog::Generation::other;
  int compute_capability = 0;  // 0 = any of the generation
  std::string basis;           // measured | published | assumed
  std::string source;
  double sm_rate = 0;  // bf16 FLOP/s of an SM that the shares were found at; 0 = do not adapt
  Efficiencies values;
};

// All classes, parsed once from the data built into the program.
std::span<const EfficiencyClass> efficiency_classes();

// The class of `gpu`: by generation and compute capability, then by generation, then `other`.
const EfficiencyClass& efficiency_class(const catalog::Gpu& gpu);

// Replaces in `defaults` what `measured` states. `measured` is a block with any of the keys of a class: matrix, gemm,
// power, memory, flash2_forward, … (calibration files hold it). Errors name the file, line and the nearest known key.
Result<Efficiencies> with_measured(Efficiencies defaults, const io::Value& measured);
const io::ObjectSpec& measured_spec();

// Reads a classes file; public for tests and for checking a changed one.
Result<std::vector<EfficiencyClass>> read_classes(std::string_view text, const std::string& file);

}  // namespace trunkline::kernels
