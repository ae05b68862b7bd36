#include "kernels/efficiencies.hpp"

#include <algorithm>

namespace trunkline::kernels {
namespace {

using catalog::Generation;

Efficiencies by_generation(Generation generation) {
  Efficiencies e;
  const auto matrix = [&e](double share) { e.matrix.fill(share); };
  e.tile_overhead_k = 256;
  e.memory = 0.85;
  e.kernel_latency_s = 3e-6;
  e.flash2_forward = 0.45, e.flash2_backward = 0.35;
  e.flash3_forward = e.flash2_forward, e.flash3_backward = e.flash2_backward;
  switch (generation) {
    case Generation::ampere: matrix(0.90), e.flash2_forward = 0.68, e.flash2_backward = 0.58; break;
    case Generation::ada: matrix(0.90), e.flash2_forward = 0.68, e.flash2_backward = 0.58; break;
    case Generation::hopper:
      matrix(0.80), e.memory = 0.89;
      e.flash2_forward = 0.36, e.flash2_backward = 0.33;
      e.flash3_forward = 0.68, e.flash3_backward = 0.56;
      break;
    case Generation::blackwell:
      matrix(0.82), e.memory = 0.88;
      e.flash3_forward = 0.60, e.flash3_backward = 0.50;
      break;
    case Generation::cdna3: matrix(0.58); break;
    default: matrix(0.80); break;
  }
  e.flash3_forward = std::max(e.flash3_forward, e.flash2_forward);
  e.flash3_backward = std::max(e.flash3_backward, e.flash2_backward);
  return e;
}

}  // namespace

Efficiencies default_efficiencies(const catalog::Gpu& gpu) {
  Efficiencies e = by_generation(gpu.generation);
  e.sustained.fill(gpu.generation == Generation::hopper || gpu.generation == Generation::blackwell ? 0.84 : 0.95);
  return e;
}

}  // namespace trunkline::kernels
