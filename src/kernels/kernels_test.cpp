#include "kernels/kernels.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "base/rng.hpp"
#include "catalog/catalog.hpp"

using namespace trunkline;
using namespace trunkline::kernels;
using catalog::Gpu;
using catalog::Precision;

namespace {

// 100 SMs of 1 TFLOP/s each, 1 TB/s, and nothing lost anywhere: closed forms come out exactly.
Gpu plain_gpu() {
  Gpu gpu;
  gpu.sms = 100;
  gpu.fp32 = gpu.tf32 = gpu.fp16 = gpu.bf16 = gpu.fp8 = gpu.fp4 = tflop_per_s(100);
  gpu.memory_bandwidth = gbyte_per_s(1000);
  gpu.tdp_w = 800;
  return gpu;
}

// The same with memory that never limits.
Gpu wide_gpu() {
  Gpu gpu = plain_gpu();
  gpu.memory_bandwidth = gbyte_per_s(1e9);
  return gpu;
}

Efficiencies ideal() {
  Efficiencies e;
  e.matrix.fill(1);
  e.memory.fill(1);
  e.split_latency_s = 1;  // never worth it
  e.flash2_forward.share = e.flash2_backward.share = e.flash3_forward.share = e.flash3_backward.share = 1;
  return e;
}

const Gpu& known(const char* id) { return **catalog::Catalog::builtin().gpu(id); }

double us(Seconds t) { return as_microseconds(t); }

}  // namespace

TEST(Gemm, OneFullWaveTakesTheTimeOfOneTile) {
  // 100 tiles of 256×128 with k = 1024 on 100 SMs: 2·256·128·1024 FLOP at 1 TFLOP/s.
  const Kernels kernels(wide_gpu(), ideal());
  EXPECT_NEAR(us(kernels.gemm({256, 128, 1024, 100})), 2.0 * 256 * 128 * 1024 / 1e12 * 1e6, 1e-9);
}

TEST(Gemm, OneTileMoreThanAWaveCostsAWaveOfTheSmallestTile) {
  // 101 pieces of 256×128 are 808 tiles of 64×64: 9 waves where 8 would do for 100 pieces.
  const Kernels kernels(wide_gpu(), ideal());
  EXPECT_NEAR(kernels.gemm({256, 128, 1024, 101}) / kernels.gemm({256, 128, 1024, 100}), 9.0 / 8, 1e-9);
}

TEST(Gemm, SmallTilesThatLoseMuchAreNotChosen) {
  // Where a 64×64 tile reloads so much that it is 2.3 times slower for its area, the second wave of large tiles is better.
  Efficiencies e = ideal();
  e.tile_intensity = 1e9;  // rate in proportion to the intensity
  const Kernels kernels(wide_gpu(), e);
  EXPECT_GT(kernels.gemm({256, 128, 1024, 101}) / kernels.gemm({256, 128, 1024, 100}), 1.4);
}

TEST(Gemm, EveryCountOfSmsFillsItsWaveExactly) {
  // tiles·(1/SMs) may round above 1: that must not make two waves.
  for (int sms = 1; sms <= 400; ++sms) {
    Gpu gpu = wide_gpu();
    gpu.sms = sms;
    gpu.bf16 = tflop_per_s(sms);
    const Kernels kernels(gpu, ideal());
    EXPECT_NEAR(us(kernels.gemm({64, 64, 4096, double(sms)})), 2.0 * 64 * 64 * 4096 / 1e12 * 1e6, 1e-9) << sms;
  }
}

TEST(Gemm, SkinnyMatrixIsBoundByItsWeights) {
  // m = 1: k·n weights of 2 bytes at 1 TB/s, when the arithmetic is nothing.
  Gpu gpu = plain_gpu();
  gpu.bf16 = tflop_per_s(1e6);
  const Kernels kernels(gpu, ideal());
  const double bytes = 2.0 * (8192.0 * 8192 + 8192 + 8192);
  EXPECT_NEAR(us(kernels.gemm({1, 8192, 8192})), bytes / 1e12 * 1e6, 1e-6);
}

TEST(Gemm, CuttingKFillsAChipThatTilesCannot) {
  // One tile of 64×64 with a long k: eight parts run beside each other.
  Efficiencies e = ideal();
  e.split_latency_s = 0;
  const Kernels kernels(wide_gpu(), e);
  const double whole = 2.0 * 64 * 64 * 65536 / 1e12;
  EXPECT_NEAR(kernels.gemm({64, 64, 65536}).si() / (whole / 8), 1, 0.05);
}

TEST(Gemm, OverheadActsAsALengthOfK) {
  Efficiencies e = ideal();
  e.overhead_k = 128;
  const Kernels with(wide_gpu(), e), without(wide_gpu(), ideal());
  EXPECT_NEAR(with.gemm({256, 128, 896, 100}) / without.gemm({256, 128, 1024, 100}), 1, 1e-12);
}

TEST(Gemm, PrecisionDecidesRateAndBytes) {
  const Kernels kernels(known("h200-sxm"));
  const auto at = [&](Precision p) { return us(kernels.gemm({8192, 8192, 8192, 1, p, 2})); };
  EXPECT_LT(at(Precision::fp8), at(Precision::bf16));
  EXPECT_LT(at(Precision::bf16), at(Precision::tf32));
  EXPECT_LT(at(Precision::tf32), at(Precision::fp32));
}

TEST(Gemm, WhatTheHardwareLacksRunsAsWhatTrainingFallsBackTo) {
  const Kernels v100(known("v100-sxm2")), a100(known("a100-sxm-80"));
  EXPECT_NEAR(v100.gemm({8192, 8192, 8192, 1, Precision::bf16}) / v100.gemm({8192, 8192, 8192, 1, Precision::fp32}), 1, 0.05);
  EXPECT_NEAR(a100.gemm({8192, 8192, 8192, 1, Precision::fp8}) / a100.gemm({8192, 8192, 8192, 1, Precision::bf16}), 1, 1e-9);
}

TEST(Kernels, NoWorkTakesNoTimeAndAnUnknownRateForever) {
  const Kernels kernels(known("h100-sxm"));
  EXPECT_EQ(kernels.gemm({0, 4096, 4096}), Seconds{});
  EXPECT_EQ(kernels.memory_bound(0), Seconds{});
  EXPECT_EQ(kernels.attention_forward({}), Seconds{});
  Gpu unknown = plain_gpu();
  unknown.fp32 = unknown.tf32 = unknown.fp16 = unknown.bf16 = FlopRate{};
  EXPECT_TRUE(std::isinf(Kernels(unknown, ideal()).gemm({64, 64, 64}).si()));
}

TEST(Kernels, AbsurdSizesStayFinite) {
  const Kernels kernels(known("h100-sxm"));
  EXPECT_TRUE(std::isfinite(kernels.gemm({1e18, 1e18, 1e18, 1e6}).si()));
  EXPECT_TRUE(std::isfinite(kernels.attention_backward({1e6, 1e3, 1e3, 1e9, 1e9, 128, true}).si()));
}

TEST(Kernels, UnknownSmsAreSaid) {
  Gpu gpu = plain_gpu();
  EXPECT_TRUE(Kernels(gpu, ideal()).knows_sms());
  gpu.sms = 0;
  const Kernels kernels(gpu, ideal());
  EXPECT_FALSE(kernels.knows_sms());
  EXPECT_GT(kernels.gemm({4096, 4096, 4096}).si(), 0);
}

TEST(MemoryBound, BytesOverBandwidthPlusLatency) {
  Efficiencies e = ideal();
  e.memory[std::size_t(MemoryKind::elementwise)] = 0.5;
  e.memory_latency_s = 3e-6;
  const Kernels kernels(plain_gpu(), e);
  EXPECT_NEAR(us(kernels.memory_bound(1e9)), 2000 + 3, 1e-9);
  EXPECT_NEAR(us(kernels.memory_bound(1e9, MemoryKind::copy)), 1000 + 3, 1e-9);
}

TEST(MemoryBound, CastMovesTheWideTensorOnceAndTheNarrowOneTwice) {
  const Kernels kernels(plain_gpu(), ideal());
  EXPECT_NEAR(us(kernels.cast(1e9, Precision::fp8)), (2 + 2) * 1000.0, 1e-9);
  EXPECT_NEAR(us(kernels.cast(1e9, Precision::fp8, true)), (2 + 2 + 2) * 1000.0, 1e-9);
  EXPECT_NEAR(us(kernels.cast(1e9, Precision::fp4)), (2 + 1) * 1000.0, 1e-9);
}

TEST(Attention, FullScoresCostFourFlopsAnElement) {
  // 200 heads of 1024 × 1024 scores on 100 SMs, head size 128, no losses.
  const Kernels kernels(plain_gpu(), ideal());
  const Attention a{1, 200, 200, 1024, 1024, 128, false};
  EXPECT_NEAR(us(kernels.attention_forward(a)), 4.0 * 200 * 1024 * 1024 * 128 / 1e14 * 1e6, 1e-6);
  EXPECT_NEAR(kernels.attention_backward(a) / kernels.attention_forward(a), 2.5, 1e-9);
}

TEST(Attention, CausalHalvesUpToTheDiagonalBlocks) {
  // n blocks of 128: n(n+1)/2 of n² are visited.
  const Kernels kernels(plain_gpu(), ideal());
  Attention a{1, 200, 200, 1024, 1024, 128, false};
  const Seconds full = kernels.attention_forward(a);
  a.causal = true;
  EXPECT_NEAR(kernels.attention_forward(a) / full, 8.0 * 9 / 2 / 64, 1e-9);
}

TEST(Attention, CausalSliceOfALongerSequenceSeesWhatCameBefore) {
  // The last 1024 queries of 8192 keys (context parallelism) see all but their own upper triangle.
  const Kernels kernels(plain_gpu(), ideal());
  const Attention slice{1, 200, 200, 1024, 8192, 128, true};
  const Attention all{1, 200, 200, 1024, 8192, 128, false};
  EXPECT_NEAR(kernels.attention_forward(slice) / kernels.attention_forward(all), (8 * 56.0 + 36) / (8 * 64), 1e-9);
}

TEST(Attention, FewHeadsLeaveSmsIdle) {
  // One block of queries runs on one SM, however many there are.
  const Kernels kernels(plain_gpu(), ideal());
  const Attention one{1, 1, 1, 128, 4096, 128, false}, many{1, 100, 100, 128, 4096, 128, false};
  EXPECT_EQ(kernels.attention_forward(one), kernels.attention_forward(many));
}

TEST(Attention, HeadSizesArePaddedAndSmallOnesLessEfficient) {
  const Kernels kernels(known("h100-sxm"));
  const auto at = [&](double head) { return kernels.attention_forward({4, 32, 32, 4096, 4096, head, true, AttentionKind::flash3}); };
  EXPECT_NEAR(at(80) / at(96), 1, 1e-9);
  EXPECT_GT(at(64) / at(128), 0.5);  // half the arithmetic, more than half the time
  EXPECT_NEAR(at(192) / at(128), 1.5, 0.02);
}

TEST(Attention, GroupedHeadsCostTheBackwardItsReduction) {
  const Kernels kernels(known("h200-sxm"));
  Attention a{8, 32, 32, 2048, 2048, 128, true, AttentionKind::flash3};
  const Seconds own = kernels.attention_backward(a);
  a.kv_heads = 8;
  EXPECT_GT(kernels.attention_backward(a), own);
  EXPECT_LE(kernels.attention_forward(a), kernels.attention_forward({8, 32, 32, 2048, 2048, 128, true, AttentionKind::flash3}));
}

TEST(Attention, NewerKernelsAreFasterAndUnfusedOnesPayForEveryPass) {
  const Kernels kernels(known("h100-sxm"));
  Attention a{4, 32, 32, 2048, 2048, 128, true, AttentionKind::flash3};
  const Seconds flash3 = kernels.attention_forward(a);
  a.kind = AttentionKind::flash2;
  const Seconds flash2 = kernels.attention_forward(a);
  a.kind = AttentionKind::unfused, a.fused_softmax = true;
  const Seconds fused_softmax = kernels.attention_forward(a);
  a.dropout = true;
  const Seconds with_dropout = kernels.attention_forward(a);
  a.fused_softmax = false;
  EXPECT_LT(flash3, flash2);
  EXPECT_LT(flash2, fused_softmax);
  EXPECT_LT(fused_softmax, with_dropout);
  EXPECT_LT(with_dropout, kernels.attention_forward(a));
}

// Measured: 4096 heads of 64, fp16, scores and values (data/calibration/h200_score_products.csv). 257 tokens take three times
// what 264 do.
TEST(Attention, OddLengthsLeaveUnfusedProductsSlowerKernels) {
  const Kernels kernels(known("h200-sxm"));
  const auto products_us = [&](double length) {
    Attention a{256, 16, 16, length, length, 64, false, AttentionKind::unfused, Precision::fp16, true};
    return as_microseconds(kernels.attention_forward(a) - kernels.memory_bound(4 * 4096 * length * length));
  };
  const std::pair<double, double> measured[] = {{77, 236}, {80, 81}, {197, 962}, {200, 313}, {256, 409}, {257, 1918}, {264, 561}};
  for (const auto& [length, us] : measured) {
    EXPECT_GT(products_us(length), us / 1.6) << length;
    EXPECT_LT(products_us(length), us * 1.6) << length;
  }
  EXPECT_GT(products_us(257), 2 * products_us(264));
}

TEST(Power, CubeRootOfTheWattsAnSm) {
  // 8 W an SM sustain twice what 1 W does: 2 · 0.25 TFLOP/s of 1.
  Efficiencies e = ideal();
  e.power.fill(0.25e12);
  EXPECT_NEAR(Kernels(plain_gpu(), e).sustained(Precision::bf16), 0.5, 1e-12);
  e.power.fill(0);
  EXPECT_EQ(Kernels(plain_gpu(), e).sustained(Precision::bf16), 1);
}

TEST(Power, CardsWithLessPowerForTheSameChipSustainLess) {
  const auto left = [](const char* id) { return Kernels(known(id)).sustained(Precision::bf16); };
  EXPECT_LT(left("a100-pcie-40"), left("a100-pcie-80"));
  EXPECT_LT(left("a100-pcie-80"), left("a100-sxm-80"));
  EXPECT_LT(left("h100-pcie"), left("h100-sxm"));
  EXPECT_EQ(left("h20"), 1);  // a cut matrix rate never reaches the limit
}

// Properties over random shapes.

namespace {

Gemm random_gemm(Rng& rng) {
  const auto length = [&] { return std::floor(std::exp2(4 + 12 * rng.uniform())); };
  return {length(), length(), length(), 1.0 + double(rng.below(64)), Precision(rng.below(kPrecisions)), rng.below(2) ? 2 : 4};
}

Attention random_attention(Rng& rng) {
  const auto length = [&] { return std::floor(std::exp2(6 + 9 * rng.uniform())); };
  Attention a;
  a.batch = 1.0 + double(rng.below(16));
  a.heads = a.kv_heads = 1.0 + double(rng.below(64));
  a.query_length = a.key_length = length();
  a.head_dim = 16.0 * double(1 + rng.below(16));
  a.causal = rng.below(2);
  a.kind = AttentionKind(rng.below(3));
  a.dropout = rng.below(2);
  a.fused_softmax = rng.below(2);
  return a;
}

// Unfused attention is slower at lengths that are no multiple of 8 than at the next one.
Attention aligned(Attention a) {
  for (double Attention::* side : {&Attention::query_length, &Attention::key_length, &Attention::head_dim})
    a.*side = std::ceil(a.*side / 8) * 8;
  return a;
}

double more(Rng& rng, double value) { return std::ceil(value * (1 + 0.3 * rng.uniform()) + double(rng.below(3))); }

void expect_not_faster(Seconds larger, Seconds smaller, const char* what) { EXPECT_GE(larger.si(), smaller.si() * (1 - 1e-12)) << what; }

// Every catalogued GPU that multiplies in 16 bits convolves and takes odd rows too, never faster than whole ones.
TEST(Kernels, odd_products_have_a_time_on_every_gpu) {
  for (const auto& gpu : catalog::Catalog::builtin().gpus()) {
    const Kernels kernels(gpu);
    const Gemm g{4096, 1000, 3072, 1, catalog::Precision::fp16, 2};
    if (!std::isfinite(kernels.gemm(g).si())) continue;
    EXPECT_TRUE(std::isfinite(kernels.convolution(g).si())) << gpu.id;
    EXPECT_GE(kernels.convolution(g), kernels.gemm(g)) << gpu.id;
    EXPECT_GE(kernels.unaligned_gemm(g), kernels.gemm(g)) << gpu.id;
  }
}

}  // namespace

TEST(Properties, MoreWorkIsNeverFaster) {
  Rng rng(7);
  const auto& gpus = catalog::Catalog::builtin().gpus();
  for (int i = 0; i < 20000; ++i) {
    const Kernels kernels(gpus[rng.below(gpus.size())]);
    const Gemm g = random_gemm(rng);
    for (double Gemm::* side : {&Gemm::m, &Gemm::n, &Gemm::k, &Gemm::batch}) {
      Gemm larger = g;
      larger.*side = more(rng, g.*side);
      expect_not_faster(kernels.gemm(larger), kernels.gemm(g), "gemm");
    }
    const Attention a = random_attention(rng);
    for (int side = 0; side < 4; ++side) {
      Attention larger = a;
      if (side == 0) larger.batch = more(rng, a.batch);
      if (side == 1) larger.heads = larger.kv_heads = more(rng, a.heads);
      if (side == 2) larger.query_length = larger.key_length = more(rng, a.key_length);
      if (side == 3) larger.head_dim = more(rng, a.head_dim);
      const Attention smaller = a.kind == AttentionKind::unfused ? aligned(a) : a;
      if (a.kind == AttentionKind::unfused) larger = aligned(larger);
      expect_not_faster(kernels.attention_forward(larger), kernels.attention_forward(smaller), "attention forward");
      expect_not_faster(kernels.attention_backward(larger), kernels.attention_backward(smaller), "attention backward");
    }
    const double bytes = 1e9 * rng.uniform();
    expect_not_faster(kernels.memory_bound(bytes * 1.01), kernels.memory_bound(bytes), "memory");
  }
}

TEST(Properties, MoreRateOrBandwidthIsNeverSlower) {
  Rng rng(11);
  const auto& gpus = catalog::Catalog::builtin().gpus();
  for (int i = 0; i < 20000; ++i) {
    const Gpu& gpu = gpus[rng.below(gpus.size())];
    Gpu better = gpu;
    const double rate = 1 + rng.uniform(), bandwidth = 1 + rng.uniform();
    for (FlopRate Gpu::* r : {&Gpu::fp32, &Gpu::tf32, &Gpu::fp16, &Gpu::bf16, &Gpu::fp8, &Gpu::fp4}) better.*r = (gpu.*r) * rate;
    better.memory_bandwidth = gpu.memory_bandwidth * bandwidth;
    const Kernels now(gpu), then(better);
    const Gemm g = random_gemm(rng);
    const Attention a = random_attention(rng);
    expect_not_faster(now.gemm(g), then.gemm(g), "gemm");
    expect_not_faster(now.attention_forward(a), then.attention_forward(a), "attention forward");
    expect_not_faster(now.attention_backward(a), then.attention_backward(a), "attention backward");
    expect_not_faster(now.memory_bound(1e8), then.memory_bound(1e8), "memory");
  }
}

TEST(Properties, NothingBeatsTheCatalogueByMoreThanItsClock) {
  // A share above 1 stands for a boost clock above the catalogued one (consumer cards, up to 1.2 times).
  Rng rng(13);
  for (const Gpu& gpu : catalog::Catalog::builtin().gpus()) {
    const Kernels kernels(gpu);
    for (int i = 0; i < 200; ++i) {
      const Gemm g = random_gemm(rng);
      EXPECT_LE(2 * g.m * g.n * g.k * g.batch / kernels.gemm(g).si(), 1.2 * gpu.rate(g.precision).si()) << gpu.id;
    }
  }
}
