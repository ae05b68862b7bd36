// gpu.h2d, gpu.d2h, gpu.h2d_d2h: copies between pinned host memory and GPUs.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <numeric>
#include <thread>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/verify.hpp"
#include "backends/nvml/gpus.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;
namespace condition = measure::condition;

constexpr Bytes kSize = mib(256);  // larger than the caches of GPUs and of most CPUs
constexpr int kOneWay = 2;         // copies in a row
constexpr int kBothWays = 4;       // copies timed while the other direction is busy …
constexpr int kOtherWay = 9;       // … with so many, so that it is to the end
constexpr std::uint64_t kSeed = 0x5EED0002;

enum class Direction { to_gpu, from_gpu };

std::string name_of(Direction direction) { return direction == Direction::to_gpu ? "to_gpu" : "from_gpu"; }
Direction opposite(Direction direction) { return direction == Direction::to_gpu ? Direction::from_gpu : Direction::to_gpu; }

// A GPU with pinned memory beside it, one pair of buffers a direction.
class HostPath {
 public:
  static Result<std::unique_ptr<HostPath>> make(const Gpu& gpu, std::vector<Direction> directions) {
    auto out = std::make_unique<HostPath>();
    out->gpu_ = gpu;
    for (const Direction direction : directions) {
      Way& way = out->ways_[std::size_t(direction)];
      TRUNKLINE_TRY(use(gpu));
      TRUNKLINE_ASSIGN(device, DeviceBuffer::make(kSize));
      TRUNKLINE_ASSIGN(host, HostBuffer::make(kSize, gpu));
      TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
      way = {std::move(device), std::move(host), std::move(lane)};
      TRUNKLINE_TRY(out->fill_and_check(direction));
    }
    return out;
  }

  const Gpu& gpu() const { return gpu_; }

  // The lane of a direction, with so many copies to do.
  Lane* lane(Direction direction, int copies) {
    Way& way = ways_[std::size_t(direction)];
    way.lane.set_work([&way, direction, copies](cudaStream_t stream) { return queue(way, direction, copies, stream); });
    return &way.lane;
  }

  Result<void> queue(Direction direction, int copies, cudaStream_t stream) const {
    return queue(ways_[std::size_t(direction)], direction, copies, stream);
  }

 private:
  struct Way {
    DeviceBuffer device;
    HostBuffer host;
    Lane lane;
  };

  static Result<void> queue(const Way& way, Direction direction, int copies, cudaStream_t stream) {
    const bool in = direction == Direction::to_gpu;
    void* to = in ? way.device.data() : way.host.data();
    const void* from = in ? way.host.data() : way.device.data();
    for (int i = 0; i < copies; ++i) {
      const auto kind = in ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
      TRUNKLINE_TRY(ok(cudaMemcpyAsync(to, from, std::size_t(kSize.count()), kind, stream), "copying between host and GPU"));
    }
    return {};
  }

  // Puts random numbers where the copies start, and makes sure that they arrive.
  Result<void> fill_and_check(Direction direction) {
    Way& way = ways_[std::size_t(direction)];
    TRUNKLINE_TRY(ok(kernels::fill_random(way.device.data(), kSize, kSeed, way.lane.stream()), "filling memory"));
    TRUNKLINE_TRY(ok(cudaStreamSynchronize(way.lane.stream()), "filling memory"));
    const auto copy_to = [&way](Direction where) { return [&way, where](cudaStream_t stream) { return queue(way, where, 1, stream); }; };
    TRUNKLINE_TRY(verify_host(gpu_, way.host, kSize, kSeed, copy_to(Direction::from_gpu), "a copy from the GPU to the host"));
    if (direction == Direction::from_gpu) return {};
    return verify_device(gpu_, way.device, kSize, kSeed, copy_to(Direction::to_gpu), "a copy from the host to the GPU");
  }

  Gpu gpu_;
  Way ways_[2];
};

using Paths = std::vector<std::unique_ptr<HostPath>>;

Result<Paths> paths_of(const Settings& settings, const std::vector<Direction>& directions) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  Paths out;
  for (const Gpu& gpu : here) {
    TRUNKLINE_ASSIGN(path, HostPath::make(gpu, directions));
    out.push_back(std::move(path));
  }
  return out;
}

// How the PCIe link runs while it has work: an idle link may be slower.
Result<measure::GpuReading> under_load(HostPath& path, Direction direction) {
  constexpr int kCopies = 16;
  TRUNKLINE_TRY(use(path.gpu()));
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_TRY(path.queue(direction, kCopies, stream.get()));
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
  const auto reading = nvml::read_now(path.gpu().pci);
  TRUNKLINE_TRY(ok(cudaStreamSynchronize(stream.get()), "copying between host and GPU"));
  return reading;
}

void warn_of_slow_link(const Gpu& gpu, const measure::GpuReading& now, Sampler& sampler) {
  if (!gpu.part || gpu.part->c2c_bandwidth.si() > 0 || gpu.part->pcie_generation == 0 || !now.pcie_generation || !now.pcie_width) return;
  if (*now.pcie_generation >= gpu.part->pcie_generation && *now.pcie_width >= gpu.part->pcie_lanes) return;
  sampler.warn(
      fmt::format("{}: its link runs as PCIe {}.0 x{} under load, the GPU can do {}.0 x{}: the slot, a riser or the BIOS holds it down "
                  "(in a virtual machine the reading may be the hypervisor's)",
                  gpu.label(), *now.pcie_generation, *now.pcie_width, gpu.part->pcie_generation, gpu.part->pcie_lanes));
}

Metric metric_of(std::string name, const HostPath* path, std::size_t gpus, const measure::GpuReading& link) {
  std::optional<Limit> limit = path ? host_limit(path->gpu()) : std::nullopt;
  Metric m = metric(std::move(name), "B/s", measure::Better::higher, limit);
  measure::set(m.conditions, condition::kSize, kSize.count());
  measure::set(m.conditions, condition::kEngine, std::string("copy engine"));
  measure::set(m.conditions, condition::kVerified, true);
  measure::set(m.conditions, "host_memory", std::string("pinned"));
  measure::set(m.conditions, "gpus", std::int64_t(gpus));
  if (link.pcie_generation) measure::set(m.conditions, "pcie_generation", std::int64_t(*link.pcie_generation));
  if (link.pcie_width) measure::set(m.conditions, "pcie_width", std::int64_t(*link.pcie_width));
  return m;
}

double rate(Seconds time, int copies) { return double(kSize.count()) * copies / time.si(); }

// All lanes together; the first metric is the sum over them, by the longest.
std::vector<double> sum_and_parts(const std::vector<Seconds>& times, std::size_t count, int copies) {
  const Seconds longest = *std::max_element(times.begin(), times.begin() + std::ptrdiff_t(count));
  std::vector<double> out{rate(longest, copies) * double(count)};
  for (std::size_t i = 0; i < count; ++i) out.push_back(rate(times[i], copies));
  return out;
}

Result<void> one_way(const Settings& settings, Sampler& sampler, Direction direction) {
  TRUNKLINE_ASSIGN(paths, paths_of(settings, {direction}));
  TRUNKLINE_ASSIGN(start, Start::make(paths[0]->gpu()));
  std::vector<Point> points;
  std::vector<Metric> all;
  for (auto& path : paths) {
    TRUNKLINE_ASSIGN(link, under_load(*path, direction));
    warn_of_slow_link(path->gpu(), link, sampler);
    const Metric m = metric_of("bandwidth@" + path->gpu().label(), path.get(), 1, link);
    points.push_back({{m}, [&start, &path, direction]() -> Result<std::vector<double>> {
                        TRUNKLINE_ASSIGN(time, start.alone(*path->lane(direction, kOneWay)));
                        return std::vector{rate(time, kOneWay)};
                      }});
    all.push_back(metric_of(m.name + "_of_all", path.get(), paths.size(), link));
  }
  if (paths.size() > 1) {
    all.insert(all.begin(), metric_of("bandwidth@all_gpus", nullptr, paths.size(), {}));
    points.push_back({all, [&start, &paths, direction]() -> Result<std::vector<double>> {
                        std::vector<Lane*> lanes;
                        for (auto& path : paths) lanes.push_back(path->lane(direction, kBothWays));
                        TRUNKLINE_ASSIGN(times, start.together(lanes));
                        return sum_and_parts(times, paths.size(), kBothWays);
                      }});
  }
  return sampler.sample(std::move(points));
}

// `direction` of these paths while their other direction is busy until after the end. The sum first, then each path.
Result<std::vector<double>> beside_the_other(Start& start, std::span<const std::unique_ptr<HostPath>> paths, Direction direction) {
  std::vector<Lane*> lanes;
  for (auto& path : paths) lanes.push_back(path->lane(direction, kBothWays));
  for (auto& path : paths) lanes.push_back(path->lane(opposite(direction), kOtherWay));
  TRUNKLINE_ASSIGN(times, start.together(lanes));
  return sum_and_parts(times, paths.size(), kBothWays);
}

}  // namespace

Result<void> host_to_device(const Settings& settings, Sampler& sampler) { return one_way(settings, sampler, Direction::to_gpu); }
Result<void> device_to_host(const Settings& settings, Sampler& sampler) { return one_way(settings, sampler, Direction::from_gpu); }

Result<void> both_ways(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(paths, paths_of(settings, {Direction::to_gpu, Direction::from_gpu}));
  TRUNKLINE_ASSIGN(start, Start::make(paths[0]->gpu()));
  std::vector<Point> points;
  for (const Direction direction : {Direction::to_gpu, Direction::from_gpu}) {
    std::vector<Metric> all{metric_of(name_of(direction) + "@all_gpus", nullptr, paths.size(), {})};
    for (std::size_t i = 0; i < paths.size(); ++i) {
      const Metric m = metric_of(name_of(direction) + "@" + paths[i]->gpu().label(), paths[i].get(), 1, {});
      points.push_back({{m}, [&start, &paths, direction, i]() -> Result<std::vector<double>> {
                          TRUNKLINE_ASSIGN(values, beside_the_other(start, std::span(paths).subspan(i, 1), direction));
                          return std::vector{values[1]};
                        }});
      all.push_back(metric_of(m.name + "_of_all", paths[i].get(), paths.size(), {}));
    }
    if (paths.size() < 2) continue;
    points.push_back({all, [&start, &paths, direction]() { return beside_the_other(start, paths, direction); }});
  }
  return sampler.sample(std::move(points));
}

}  // namespace trunkline::backends::cuda
