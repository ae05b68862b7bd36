// gpu.overlap: a stream of matrix products beside a stream of copies, each against itself alone.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "backends/cuda/error.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/products.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;

constexpr Seconds kTime = milliseconds(15);      // of either stream alone
constexpr int kLonger = 2;                       // the stream that disturbs has so many times the work, so that it is there to the end …
constexpr int kLongest = 4;                      // … or so many where it is slowed down itself
constexpr std::chrono::milliseconds kPause{30};  // before each run, so that the power limit does not take part
constexpr int kCommunicationBlocks = 24;         // thread blocks of a communication kernel: NCCL takes 16 to 32
constexpr int kPasses = 16;                      // one kernel of some milliseconds, as a large all-reduce is
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

// The two streams of one point. Every repetition measures each of them alone, beside the other, beside the other, alone: a steady
// drift of clocks falls out of the ratio.
class Duel {
 public:
  static Result<std::unique_ptr<Duel>> make(const Gpu& gpu, const Product& product, Traffic traffic, Start& start) {
    auto out = std::make_unique<Duel>();
    out->start_ = &start;
    out->product_.unit = [&product](cudaStream_t stream) { return product.queue(1, stream); };
    out->traffic_.unit = std::move(traffic.copy);
    for (Side* side : {&out->product_, &out->traffic_}) {
      TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
      side->lane = std::move(lane);
      TRUNKLINE_TRY(out->find_count(*side));
    }
    return out;
  }

  // Slowdown of the products, slowdown of the copies.
  Result<std::vector<double>> repeat() {
    TRUNKLINE_ASSIGN(products, slowdown(product_, traffic_));
    TRUNKLINE_ASSIGN(copies, slowdown(traffic_, product_));
    return std::vector{products, copies};
  }

 private:
  struct Side {
    std::function<Result<void>(cudaStream_t)> unit;
    Lane lane;
    int count = 1;  // of units in one run

    Lane* with(int times) {
      lane.set_work(repeated(unit, times * count));
      return &lane;
    }
  };

  Result<double> slowdown(Side& measured, Side& other) {
    Seconds alone, beside;
    for (const bool disturbed : {false, true, true, false}) {
      TRUNKLINE_ASSIGN(time, disturbed ? beside_other(measured, other) : undisturbed(measured));
      (disturbed ? beside : alone) += time;
    }
    return beside / alone;
  }

  Result<Seconds> undisturbed(Side& side) {
    std::this_thread::sleep_for(kPause);
    return start_->alone(*side.with(1));
  }

  // Again with more of the other's work where that ended first.
  Result<Seconds> beside_other(Side& measured, Side& other) {
    Seconds time;
    for (int longer = kLonger; longer <= kLongest; longer *= 2) {
      std::this_thread::sleep_for(kPause);
      Lane* lanes[] = {measured.with(1), other.with(longer)};
      TRUNKLINE_ASSIGN(times, start_->together(lanes));
      time = times[0];
      if (times[1] >= times[0]) break;
    }
    return time;
  }

  Result<void> find_count(Side& side) {
    TRUNKLINE_TRY(start_->alone(*side.with(1)));
    TRUNKLINE_ASSIGN(time, start_->alone(*side.with(1)));
    side.count = int(std::clamp(kTime / time, 1.0, 100.0));
    return {};
  }

  Start* start_ = nullptr;
  Side product_, traffic_;
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
  const auto by_kernel = [&](cudaStream_t stream) {
    return ok(kernels::copy_slowly(to.data(), from.data(), kSize, kCommunicationBlocks, kPasses, stream), "copying");
  };
  const Traffic all[] = {
      {"h2d", "copy engine", memcpy_of(to.data(), host.data(), cudaMemcpyHostToDevice)},
      {"d2h", "copy engine", memcpy_of(host.data(), from.data(), cudaMemcpyDeviceToHost)},
      {"communication", fmt::format("copy kernel of {} blocks", kCommunicationBlocks), by_kernel},
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
