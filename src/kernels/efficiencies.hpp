// What share of its catalogued limits a GPU really gives, kernel by kernel: the numbers behind `Kernels`.
#pragma once

#include <array>

#include "catalog/gpu.hpp"

namespace trunkline::kernels {

inline constexpr int kPrecisions = 6;  // as catalog::Precision

struct Efficiencies {
  // Matrix units: share of the catalogued dense rate that the inner loop of a large GEMM reaches, cool chip.
  std::array<double, kPrecisions> matrix{};
  // What a tile costs beside its inner loop (filling the pipeline, writing the result), as an equivalent length of k.
  double tile_overhead_k = 0;
  // Share of the memory bandwidth that a long streaming kernel reaches.
  double memory = 0;
  // What no kernel is faster than: start, first load, drain.
  double kernel_latency_s = 0;
  // Share of the burst matrix rate left at the power limit.
  std::array<double, kPrecisions> sustained{};
  // Share of the catalogued matrix rate reached by fused attention on long sequences, forward and backward.
  double flash2_forward = 0, flash2_backward = 0;
  double flash3_forward = 0, flash3_backward = 0;
};

// The defaults for a GPU, by generation and power limit, from measurements and published figures.
Efficiencies default_efficiencies(const catalog::Gpu& gpu);

}  // namespace trunkline::kernels
