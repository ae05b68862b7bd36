#include "timeline/power.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace trunkline::timeline {

using catalog::Gpu;
using catalog::Precision;

kernels::Kernels at_power_limit(const Gpu& gpu, const kernels::Kernels& burst) {
  constexpr std::pair<Precision, FlopRate Gpu::*> kRates[] = {{Precision::fp32, &Gpu::fp32}, {Precision::tf32, &Gpu::tf32},
                                                              {Precision::fp16, &Gpu::fp16}, {Precision::bf16, &Gpu::bf16},
                                                              {Precision::fp8, &Gpu::fp8},   {Precision::fp4, &Gpu::fp4}};
  Gpu limited = gpu;
  for (const auto& [precision, rate] : kRates) limited.*rate = gpu.*rate * burst.sustained(precision);
  kernels::Efficiencies shares = burst.efficiencies();
  const double left = burst.sustained(Precision::bf16), matrix = shares.matrix[std::size_t(Precision::bf16)];
  shares.overhead_k *= left;  // what a tile costs beside its inner loop is a time, not a number of cycles
  // Attention draws power by what it computes: at head sizes 128 and 64, the two that its shares are drawn through, it reaches its own
  // rate or the limit's, whichever is lower.
  if (left < 1) {
    for (auto* flash : {&shares.flash2_forward, &shares.flash2_backward, &shares.flash3_forward, &shares.flash3_backward}) {
      const double half = std::min(flash->share * std::pow(0.5, flash->head_exponent) / left, matrix);
      flash->share = std::min(flash->share / left, matrix);
      flash->head_exponent = std::log2(flash->share / half);
    }
  }
  return {limited, shares};
}

}  // namespace trunkline::timeline
