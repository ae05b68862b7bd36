#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/kernels.hpp"

namespace trunkline::kernels {
namespace {

constexpr double kStep = 64;  // k advances by 64 elements; tiles are multiples of 64 as well
constexpr double kSmsWhenUnknown = 108;
constexpr double kL2PerSm = 42e9;    // bytes/s: H100 5.5 TB/s, A100 4.5–5 TB/s measured by others
constexpr double kPartialBytes = 8;  // an fp32 partial sum is written and read

// Tile shapes in units of 64: 256×128, 128×256, 192×128, 128×192, 128×128, 64×128, 128×64, 64×64.
struct Tile {
  int m, n;
};
constexpr std::array<Tile, 8> kShapes{{{4, 2}, {2, 4}, {3, 2}, {2, 3}, {2, 2}, {1, 2}, {2, 1}, {1, 1}}};

double intensity(Tile tile) { return kStep * tile.m * tile.n / (tile.m + tile.n); }

// ⌈x⌉ for x ≥ 0; a library call would dominate the whole formula. Doubles from 2^53 on are whole numbers.
double ceiling(double x) {
  if (!(x < 0x1p53)) return x;
  const auto whole = std::int64_t(x);
  return double(whole + (double(whole) < x));
}

// Blocks of 64·1 … 64·4 that cover `length`.
std::array<double, 5> covers(double length) {
  const double units = ceiling(length / kStep);
  return {0, units, ceiling(units / 2), ceiling(units / 3), ceiling(units / 4)};
}

}  // namespace

Kernels::Kernels(const catalog::Gpu& gpu) : Kernels(gpu, Efficiencies::default_for(gpu)) {}

Kernels::Kernels(const catalog::Gpu& gpu, const Efficiencies& efficiencies)
    : gpu_(gpu), efficiencies_(efficiencies), sms_(gpu.sms > 0 ? gpu.sms : kSmsWhenUnknown) {
  static_assert(kShapes.size() == kTiles);
  const auto loss = [&](Tile tile) { return 1 + efficiencies_.tile_intensity / intensity(tile); };
  const double least = loss(kShapes[0]);
  for (std::size_t p = 0; p < kPrecisions; ++p) {
    const double sm_rate = gpu_.rate(catalog::Precision(p)).si() * efficiencies_.matrix[p] / sms_;
    for (std::size_t t = 0; t < kTiles; ++t) {
      const double area = kStep * kShapes[t].m * kStep * kShapes[t].n;
      tile_step_s_[p][t] = 2 * area * loss(kShapes[t]) / least / sm_rate;
    }
  }
}

Seconds Kernels::gemm(const Gemm& g) const {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0 || g.batch <= 0) return {};
  const auto& steps = tile_step_s_[std::size_t(g.precision)];
  const auto rows = covers(g.m), columns = covers(g.n);
  const double k_units = ceiling(g.k / kStep);
  const double full_k = k_units * kStep + efficiencies_.overhead_k;
  const double per_sm = 1 / sms_;
  // A wave is full when the last bit says so: 132 tiles on 132 SMs must not become two waves by rounding.
  const auto waves = [per_sm](double tiles) { return ceiling(tiles * per_sm * (1 - 1e-12)); };
  const double cut_s = kPartialBytes * g.batch * g.m * g.n / (kL2PerSm * sms_);

  double compute = std::numeric_limits<double>::infinity();
  for (std::size_t t = 0; t < kTiles; ++t) {
    const double tiles = rows[std::size_t(kShapes[t].m)] * columns[std::size_t(kShapes[t].n)] * g.batch;
    compute = std::min(compute, waves(tiles) * steps[t] * full_k);
    if (tiles >= 2 * sms_) continue;  // libraries cut k only where tiles cannot fill the chip
    for (int cuts = 2; cuts <= 8; cuts *= 2) {
      const double part_k = ceiling(k_units / cuts) * kStep + efficiencies_.overhead_k;
      compute = std::min(compute, waves(tiles * cuts) * steps[t] * part_k + cuts * cut_s + efficiencies_.split_latency_s);
    }
  }
  const double moved = g.batch * ((g.m * g.k + g.k * g.n) * catalog::bytes_per_element(g.precision) + g.m * g.n * g.output_bytes);
  return seconds(std::max(compute, moved / memory_rate(MemoryKind::copy)) + efficiencies_.gemm_latency_s);
}

Seconds Kernels::unaligned_gemm(const Gemm& g) const {
  constexpr double kSmRate = 0.9e12;  // data/calibration/h200_step_kernels.csv, gpt2-xl
  return std::max(gemm(g), seconds(2 * g.batch * g.m * g.n * g.k / (kSmRate * sms_)));
}

Seconds Kernels::convolution(const Gemm& g) const {
  if (gpu_.rate(catalog::Precision::fp32).si() <= 0) return gemm(g);  // not catalogued
  Gemm wide = g;
  wide.precision = catalog::Precision::fp32;
  return std::max(gemm(g), 2.0 * gemm(wide));
}

}  // namespace trunkline::kernels
