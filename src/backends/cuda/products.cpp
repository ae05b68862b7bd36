#include "backends/cuda/products.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "backends/cuda/error.hpp"

namespace trunkline::backends::cuda {
namespace {

constexpr int kCaches = 2;  // operands come again only after so many times the L2 cache
constexpr std::uint64_t kSeed = 0x5EED0004;
constexpr int kSamples = 256;
constexpr std::int64_t kAlignment = 256;

// ‖D − exact‖/‖exact‖ that rounding explains, with a margin of 5: the output's format, and partial sums in fewer bits for fp8.
double tolerance(const MatrixProduct& product) {
  switch (product.kind) {
    case MatrixKind::bf16: return 1e-2;
    case MatrixKind::fp16: return 2e-3;
    case MatrixKind::tf32: return 2e-3;
    case MatrixKind::fp8: break;
  }
  return product.fast_accumulation ? 3e-2 : 1e-2;
}

Bytes aligned(Bytes size) { return Bytes((size.count() + kAlignment - 1) / kAlignment * kAlignment); }

}  // namespace

Result<std::unique_ptr<Operands>> Operands::make(const Gpu& gpu, MatrixKind kind, std::span<const MatrixProduct> products) {
  auto out = std::make_unique<Operands>();
  out->l2_ = gpu.l2;
  Bytes a, b, d;
  for (const MatrixProduct& product : products) {
    if (product.kind != kind) continue;
    a = std::max(a, aligned(product.bytes_a()));
    b = std::max(b, aligned(product.bytes_b()));
    d = std::max(d, aligned(product.bytes_d()));
  }
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_ASSIGN(stream, make_stream());
  const kernels::Element element = MatrixProduct{1, 1, 1, false, false, kind}.layout().input;
  const auto fill = [&](const DeviceBuffer& buffer, std::uint64_t seed) {
    const std::size_t count = std::size_t(buffer.size().count()) / kernels::size_of(element);
    return ok(kernels::fill_normal(buffer.data(), count, element, seed, stream.get()), "filling matrices");
  };
  TRUNKLINE_ASSIGN(buffer_a, DeviceBuffer::make(a));
  TRUNKLINE_ASSIGN(buffer_b, DeviceBuffer::make(b));
  TRUNKLINE_ASSIGN(buffer_d, DeviceBuffer::make(d));
  TRUNKLINE_TRY(fill(buffer_a, kSeed));
  TRUNKLINE_TRY(fill(buffer_b, kSeed + 1));
  TRUNKLINE_TRY(ok(cudaStreamSynchronize(stream.get()), "filling matrices"));
  out->a_ = std::move(buffer_a);
  out->b_ = std::move(buffer_b);
  out->d_ = std::move(buffer_d);
  return out;
}

Operands::Places Operands::places(const MatrixProduct& product, int i) const {
  const auto place = [&](const DeviceBuffer& buffer, Bytes size) {
    const std::int64_t step = aligned(size).count(), enough = kCaches * l2_.count() / step + 1;
    const std::int64_t count = std::clamp<std::int64_t>(enough, 1, buffer.size().count() / step);
    return buffer.data() + (i % count) * step;
  };
  return {place(d_, product.bytes_d()), place(a_, product.bytes_a()), place(b_, product.bytes_b())};
}

Result<std::unique_ptr<Product>> Product::make(const Blas& blas, const Operands& operands, const MatrixProduct& product) {
  auto out = std::make_unique<Product>();
  out->shape_ = product;
  out->operands_ = &operands;
  TRUNKLINE_ASSIGN(plan, blas.plan(product));
  out->plan_ = std::move(plan);
  return out;
}

Result<void> Product::queue(int times, cudaStream_t stream) const {
  for (int i = 0; i < times; ++i) {
    const auto [d, a, b] = operands_->places(shape_, i);
    TRUNKLINE_TRY(plan_->queue(d, a, b, stream));
  }
  return {};
}

Result<void> Product::check(const Gpu& gpu) const {
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_ASSIGN(sums, DeviceBuffer::make(Bytes(256)));
  double out[2] = {};
  const auto [d, a, b] = operands_->places(shape_, 0);
  TRUNKLINE_TRY(ok(cudaMemsetAsync(d, 0xFF, std::size_t(shape_.bytes_d().count()), stream.get()), "clearing memory"));  // NaN
  TRUNKLINE_TRY(queue(1, stream.get()));
  TRUNKLINE_TRY(ok(cudaMemsetAsync(sums.data(), 0, sizeof out, stream.get()), "clearing memory"));
  TRUNKLINE_TRY(ok(kernels::compare_product(shape_.layout(), a, b, d, kSamples, kSeed, sums.as<double>(), stream.get()), "comparing"));
  TRUNKLINE_TRY(ok(cudaMemcpyAsync(out, sums.data(), sizeof out, cudaMemcpyDeviceToHost, stream.get()), "comparing"));
  TRUNKLINE_TRY(ok(cudaStreamSynchronize(stream.get()), "multiplying matrices"));
  const double error = std::sqrt(out[0] / out[1]);
  if (error <= tolerance(shape_)) return {};  // never true of NaN
  return fail({ErrorKind::failed,
               fmt::format("{} {}x{}x{}: the result is off by {:.3g} of its size, rounding explains {:.3g}", name_of(shape_.kind), shape_.m,
                           shape_.n, shape_.k, error, tolerance(shape_)),
               {},
               "the GPU or this version of cuBLAS computes wrongly: try another version, then another GPU"});
}

std::string name_of(Pass pass) {
  switch (pass) {
    case Pass::forward: return "forward";
    case Pass::input_gradient: return "input gradient";
    case Pass::weight_gradient: break;
  }
  return "weight gradient";
}

MatrixProduct product_of(int m, int n, int k, MatrixKind kind, Pass pass) {
  return {m, n, k, pass == Pass::weight_gradient, pass == Pass::forward, kind};
}

Pass pass_of(const MatrixProduct& product) {
  return product.a_transposed ? Pass::weight_gradient : product.b_transposed ? Pass::forward : Pass::input_gradient;
}

measure::Metric rate_metric(std::string name, const Gpu& gpu, const MatrixProduct& product) {
  measure::Metric m = metric(std::move(name), "FLOP/s", measure::Better::higher, matrix_limit(gpu, precision_of(product.kind)));
  measure::set(m.conditions, "m", std::int64_t(product.m));
  measure::set(m.conditions, "n", std::int64_t(product.n));
  measure::set(m.conditions, "k", std::int64_t(product.k));
  measure::set(m.conditions, "precision", name_of(product.kind));
  measure::set(m.conditions, "pass", name_of(pass_of(product)));
  if (product.kind == MatrixKind::fp8) measure::set(m.conditions, "fast_accumulation", product.fast_accumulation);
  measure::set(m.conditions, "values", std::string("normal random"));
  measure::set(m.conditions, measure::condition::kEngine, std::string("cuBLASLt"));
  measure::set(m.conditions, measure::condition::kVerified, true);
  measure::set(m.conditions, "gpu", std::int64_t(gpu.index));
  return m;
}

int repetitions_for(const Gpu& gpu, const MatrixProduct& product, Seconds time) {
  const auto limit = matrix_limit(gpu, precision_of(product.kind));
  const double rate = limit ? limit->value : 1e14;
  return int(std::clamp(time.si() * rate / product.flops(), 3.0, 200.0));
}

}  // namespace trunkline::backends::cuda
