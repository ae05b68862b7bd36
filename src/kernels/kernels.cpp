#include "kernels/kernels.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace trunkline::kernels {
namespace {

struct Tile {
  double m, n;
  double share;  // of the best tile's inner-loop rate: small tiles reload more and hide less
};
constexpr std::array<Tile, 5> kTiles{{{256, 128, 1.0}, {128, 256, 1.0}, {128, 128, 0.92}, {64, 128, 0.75}, {64, 64, 0.55}}};

double blocks(double length, double block) { return std::ceil(std::max(length, 1.0) / block); }

}  // namespace

Kernels::Kernels(const catalog::Gpu& gpu) : Kernels(gpu, default_efficiencies(gpu)) {}
Kernels::Kernels(const catalog::Gpu& gpu, const Efficiencies& efficiencies) : gpu_(gpu), efficiencies_(efficiencies) {}

Seconds Kernels::gemm(const Gemm& g) const {
  const double sms = std::max(gpu_.sms, 1);
  const double sm_rate = gpu_.rate(g.precision).si() * efficiencies_.matrix[std::size_t(g.precision)] / sms;
  double compute = INFINITY;
  for (const Tile& tile : kTiles) {
    const double tiles = blocks(g.m, tile.m) * blocks(g.n, tile.n) * g.batch;
    const double k = blocks(g.k, 64) * 64 + efficiencies_.tile_overhead_k;
    // Few tiles are cut along k (split-K), so that a wave is never emptier than its work allows by more than a quarter.
    for (double split : {1.0, 2.0, 4.0}) {
      const double waves = std::ceil(tiles * split / sms);
      const double part = blocks(g.k, 64 * split) * 64 + efficiencies_.tile_overhead_k;
      compute = std::min(compute, waves * 2 * tile.m * tile.n * std::min(part, k) / (sm_rate * tile.share));
    }
  }
  const double moved = g.batch * ((g.m * g.k + g.k * g.n) * catalog::bytes_per_element(g.precision) + g.m * g.n * g.output_bytes);
  const double memory = moved / (efficiencies_.memory * gpu_.memory_bandwidth.si());
  return seconds(std::max(compute, memory) + efficiencies_.kernel_latency_s);
}

Seconds Kernels::memory_bound(double bytes) const {
  return seconds(std::max(bytes, 0.0) / (efficiencies_.memory * gpu_.memory_bandwidth.si()) + efficiencies_.kernel_latency_s);
}

Seconds Kernels::cast(double elements, catalog::Precision to) const {
  return memory_bound(elements * (2 + 2 + catalog::bytes_per_element(to)));
}

namespace {

// Multiply-adds ×2 of the two products of the attention core.
double attention_flops(const Attention& a) {
  return 4 * a.batch * a.heads * a.query_length * a.key_length * a.head_dim * (a.causal ? 0.5 : 1.0);
}

}  // namespace

Seconds Kernels::attention_forward(const Attention& a) const {
  if (a.kind == AttentionKind::unfused) {
    const double scores = a.batch * a.heads * a.query_length * a.key_length;
    const Gemm qk{a.query_length, a.key_length, a.head_dim, a.batch * a.heads, a.precision, 2};
    const Gemm pv{a.query_length, a.head_dim, a.key_length, a.batch * a.heads, a.precision, 2};
    return gemm(qk) + gemm(pv) + memory_bound(scores * 4) + memory_bound(scores * 4) + memory_bound(scores * 5);
  }
  const bool newer = a.kind == AttentionKind::flash3;
  const double share = newer ? efficiencies_.flash3_forward : efficiencies_.flash2_forward;
  const double ramp = 512 / std::max(a.key_length, 1.0);
  return seconds(attention_flops(a) / (gpu_.rate(a.precision).si() * share) * (1 + ramp) + efficiencies_.kernel_latency_s);
}

Seconds Kernels::attention_backward(const Attention& a) const {
  if (a.kind == AttentionKind::unfused) return 2.0 * attention_forward(a);
  const bool newer = a.kind == AttentionKind::flash3;
  const double share = newer ? efficiencies_.flash3_backward : efficiencies_.flash2_backward;
  const double ramp = 768 / std::max(a.key_length, 1.0);
  return seconds(2.5 * attention_flops(a) / (gpu_.rate(a.precision).si() * share) * (1 + ramp) + efficiencies_.kernel_latency_s);
}

double Kernels::sustained(catalog::Precision precision) const { return efficiencies_.sustained[std::size_t(precision)]; }

}  // namespace trunkline::kernels
