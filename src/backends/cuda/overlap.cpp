// gpu.overlap: a stream of matrix products beside a stream of copies, each against itself alone.
#include <fmt/format.h>

#include <algorithm>

#include "backends/cuda/error.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/products.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;

constexpr Seconds kTime = milliseconds(15);  // of either stream alone
constexpr int kLonger = 3;                   // the stream that disturbs has so many times the work, so that it is there to the end
constexpr int kCommunicationBlocks = 24;     // thread blocks of a communication kernel: NCCL takes 16 to 32
constexpr MatrixProduct kProduct{8192, 8192, 8192, false, true, MatrixKind::bf16};
constexpr Bytes kSize = mib(256);

// Something beside which products run, in units of one copy.
struct Traffic {
  std::string name, engine;
  std::function<Result<void>(cudaStream_t)> copy;
};

// One stream's work: `unit` so many times.
Lane::Work repeated(std::function<Result<void>(cudaStream_t)> unit, int times) {
  return [unit = std::move(unit), times](cudaStream_t stream) -> Result<void> {
    for (int i = 0; i < times; ++i) TRUNKLINE_TRY(unit(stream));
    return {};
  };
}

// The two streams of one point. Every repetition measures each of them alone and beside the other, so that a slow drift of clocks
// falls out of the ratio.
class Duel {
 public:
  static Result<std::unique_ptr<Duel>> make(const Gpu& gpu, const Product& product, Traffic traffic, Start& start) {
    auto out = std::make_unique<Duel>();
    out->start_ = &start;
    out->product_ = [&product](cudaStream_t stream) { return product.queue(1, stream); };
    out->traffic_ = std::move(traffic.copy);
    TRUNKLINE_ASSIGN(compute, Lane::make(gpu, {}));
    TRUNKLINE_ASSIGN(moving, Lane::make(gpu, {}));
    out->compute_ = std::move(compute);
    out->moving_ = std::move(moving);
    TRUNKLINE_ASSIGN(products, out->count_for(out->compute_, out->product_));
    TRUNKLINE_ASSIGN(copies, out->count_for(out->moving_, out->traffic_));
    out->products_ = products;
    out->copies_ = copies;
    return out;
  }

  // Slowdown of the products, slowdown of the copies.
  Result<std::vector<double>> repeat() {
    TRUNKLINE_ASSIGN(products_alone, timed(1, 0));
    TRUNKLINE_ASSIGN(products_beside, timed(1, kLonger));
    TRUNKLINE_ASSIGN(copies_alone, timed(0, 1));
    TRUNKLINE_ASSIGN(copies_beside, timed(kLonger, 1));
    return std::vector{products_beside[0] / products_alone[0], copies_beside.back() / copies_alone.back()};
  }

 private:
  // Times of the lanes that have work: products first.
  Result<std::vector<Seconds>> timed(int products, int copies) {
    std::vector<Lane*> lanes;
    compute_.set_work(repeated(product_, products * products_));
    moving_.set_work(repeated(traffic_, copies * copies_));
    if (products > 0) lanes.push_back(&compute_);
    if (copies > 0) lanes.push_back(&moving_);
    return start_->together(lanes);
  }

  Result<int> count_for(Lane& lane, const std::function<Result<void>(cudaStream_t)>& unit) {
    lane.set_work(repeated(unit, 1));
    TRUNKLINE_ASSIGN(cold, start_->alone(lane));
    TRUNKLINE_ASSIGN(time, start_->alone(lane));
    return int(std::clamp(kTime / std::min(cold, time), 1.0, 100.0));
  }

  Start* start_ = nullptr;
  std::function<Result<void>(cudaStream_t)> product_, traffic_;
  Lane compute_, moving_;
  int products_ = 1, copies_ = 1;
};

std::function<Result<void>(cudaStream_t)> memcpy_of(void* to, const void* from, cudaMemcpyKind kind) {
  return [=](cudaStream_t stream) { return ok(cudaMemcpyAsync(to, from, std::size_t(kSize.count()), kind, stream), "copying"); };
}

Metric slowdown(std::string name, const Traffic& traffic) {
  Metric m = metric(std::move(name), "1", measure::Better::lower);
  measure::set(m.conditions, measure::condition::kSize, kSize.count());
  measure::set(m.conditions, measure::condition::kEngine, traffic.engine);
  measure::set(m.conditions, "product", std::string("bf16 8192x8192x8192"));
  return m;
}

}  // namespace

Result<void> overlap(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  const Gpu& gpu = here[0];
  TRUNKLINE_ASSIGN(start, Start::make(gpu));
  TRUNKLINE_ASSIGN(blas, Blas::make(gpu));
  TRUNKLINE_ASSIGN(operands, Operands::make(gpu, kProduct.kind, std::span(&kProduct, 1)));
  TRUNKLINE_ASSIGN(product, Product::make(*blas, *operands, kProduct));
  TRUNKLINE_TRY(product->check(gpu));
  TRUNKLINE_ASSIGN(host, HostBuffer::make(kSize, gpu));
  TRUNKLINE_ASSIGN(from, DeviceBuffer::make(kSize));
  TRUNKLINE_ASSIGN(to, DeviceBuffer::make(kSize));
  TRUNKLINE_TRY(ok(kernels::fill_random(from.data(), kSize, 1, nullptr), "filling memory"));
  TRUNKLINE_TRY(ok(cudaMemcpy(host.data(), from.data(), std::size_t(kSize.count()), cudaMemcpyDeviceToHost), "filling memory"));
  const auto by_kernel = [&](int blocks) {
    return [&, blocks](cudaStream_t stream) { return ok(kernels::copy(to.data(), from.data(), kSize, blocks, stream), "copying"); };
  };
  const Traffic all[] = {
      {"h2d", "copy engine", memcpy_of(to.data(), host.data(), cudaMemcpyHostToDevice)},
      {"d2h", "copy engine", memcpy_of(host.data(), from.data(), cudaMemcpyDeviceToHost)},
      {"communication", fmt::format("copy kernel of {} blocks", kCommunicationBlocks), by_kernel(kCommunicationBlocks)},
  };
  std::vector<std::unique_ptr<Duel>> duels;
  std::vector<Point> points;
  for (const Traffic& traffic : all) {
    TRUNKLINE_ASSIGN(duel, Duel::make(gpu, *product, traffic, start));
    duels.push_back(std::move(duel));
    points.push_back(
        {{slowdown("slowdown@gemm_beside_" + traffic.name, traffic), slowdown("slowdown@" + traffic.name + "_beside_gemm", traffic)},
         [one = duels.back().get()]() { return one->repeat(); },
         1,
         2});
  }
  return sampler.sample(std::move(points));
}

}  // namespace trunkline::backends::cuda
