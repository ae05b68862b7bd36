// gpu.memory_copy: bytes read and written a second by copies inside a GPU's memory.
#include <algorithm>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/verify.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;
namespace condition = measure::condition;

constexpr Bytes kLargest = gib(1);
constexpr Bytes kMoved = gib(2);  // in one repetition, at most: half a millisecond and more
constexpr int kMostCopies = 256;  // queued at once
constexpr int kCaches = 4;        // a piece comes again only after so many times the L2 cache
constexpr std::uint64_t kSeed = 0x5EED0001;

enum class Engine { driver, kernel };

// Two pools in one GPU's memory between which pieces are copied.
struct Pools {
  Gpu gpu;
  DeviceBuffer from, to;
  Lane lane;

  static Result<Pools> make(const Gpu& gpu) {
    TRUNKLINE_TRY(use(gpu));
    TRUNKLINE_ASSIGN(from, DeviceBuffer::make(kLargest));
    TRUNKLINE_ASSIGN(to, DeviceBuffer::make(kLargest));
    TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
    TRUNKLINE_TRY(ok(kernels::fill_random(from.data(), kLargest, kSeed, lane.stream()), "filling memory"));
    TRUNKLINE_TRY(ok(cudaStreamSynchronize(lane.stream()), "filling memory"));
    return Pools{gpu, std::move(from), std::move(to), std::move(lane)};
  }
};

// So many copies of pieces of this size, each of other memory than the ones before until the caches cannot hold it any more.
struct Series {
  Bytes size;
  Engine engine = Engine::driver;
  int copies = 1, places = 1;

  Series(Bytes piece, Engine how, const Gpu& gpu) : size(piece), engine(how) {
    copies = int(std::clamp<std::int64_t>(kMoved.count() / size.count(), 1, kMostCopies));
    const std::int64_t apart = gpu.l2.count() * kCaches / size.count() + 1;
    places = int(std::clamp<std::int64_t>(apart, 1, kLargest.count() / size.count()));
  }

  Result<void> queue(const Pools& pools, cudaStream_t stream) const {
    for (int i = 0; i < copies; ++i) {
      const std::int64_t at = (i % places) * size.count();
      void *to = pools.to.data() + at, *from = pools.from.data() + at;
      const cudaError_t status = engine == Engine::kernel
                                     ? kernels::copy(to, from, size, stream)
                                     : cudaMemcpyAsync(to, from, std::size_t(size.count()), cudaMemcpyDeviceToDevice, stream);
      TRUNKLINE_TRY(ok(status, "copying"));
    }
    return {};
  }
};

Result<void> check(Pools& pools, Engine engine) {
  const Series whole(kLargest, engine, pools.gpu);
  return verify_device(
      pools.gpu, pools.to, kLargest, kSeed, [&](cudaStream_t stream) { return whole.queue(pools, stream); },
      "a copy inside the GPU's memory");
}

Point point_of(std::string name, Pools& pools, Start& start, const Series& series) {
  Metric m = metric(std::move(name), "B/s", measure::Better::higher, memory_limit(pools.gpu));
  measure::set(m.conditions, condition::kSize, series.size.count());
  measure::set(m.conditions, condition::kEngine, std::string(series.engine == Engine::kernel ? "kernel" : "cudaMemcpyAsync"));
  measure::set(m.conditions, condition::kVerified, true);
  measure::set(m.conditions, "gpu", std::int64_t(pools.gpu.index));
  measure::set(m.conditions, "copies", std::int64_t(series.copies));
  return {{m}, [&pools, &start, series]() -> Result<std::vector<double>> {
            pools.lane.set_work([&](cudaStream_t stream) { return series.queue(pools, stream); });
            TRUNKLINE_ASSIGN(time, start.alone(pools.lane));
            return std::vector{2.0 * double(series.size.count()) * series.copies / time.si()};
          }};
}

}  // namespace

Result<void> memory_copy(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  TRUNKLINE_ASSIGN(start, Start::make(here[0]));
  std::vector<Pools> pools;
  for (const Gpu& gpu : here) {
    TRUNKLINE_ASSIGN(made, Pools::make(gpu));
    pools.push_back(std::move(made));
    for (const Engine engine : {Engine::driver, Engine::kernel}) TRUNKLINE_TRY(check(pools.back(), engine));
  }
  std::vector<Point> points;
  for (Pools& one : pools) {
    const std::string name = &one == &pools[0] ? "traffic" : "traffic@" + one.gpu.label();
    points.push_back(point_of(name, one, start, Series(kLargest, Engine::driver, one.gpu)));
  }
  points.push_back(point_of("traffic@kernel", pools[0], start, Series(kLargest, Engine::kernel, pools[0].gpu)));
  for (const Bytes size : {mib(1), mib(4), mib(16), mib(64), mib(256)})
    points.push_back(point_of("traffic@" + size_text(size), pools[0], start, Series(size, Engine::driver, pools[0].gpu)));
  return sampler.sample(std::move(points));
}

}  // namespace trunkline::backends::cuda
