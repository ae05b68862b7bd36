// gpu.p2p.*: every GPU with every other, by the copy engines and by kernels.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/lanes.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/cuda/verify.hpp"
#include "base/rng.hpp"

namespace trunkline::backends::cuda {
namespace {

using measure::Metric;
using measure::Point;
namespace condition = measure::condition;

constexpr Bytes kSize = mib(128);
constexpr int kCopies = 8;
constexpr std::uint64_t kSeed = 0x5EED0003;
constexpr Bytes kChain = mib(16);
constexpr int kApart = 128 / sizeof(std::uint32_t);  // a place of the chain in every cache line
constexpr int kSteps = 2000;

enum class Engine { copy_engine, kernel };
enum class Way { read, write };

std::string name_of(Engine engine) { return engine == Engine::kernel ? "kernel" : "copy engine"; }

// A GPU as an end of transfers. It gives from `from` and takes into `to`.
struct End {
  Gpu gpu;
  DeviceBuffer from, to;
  Lane lane;
};

class Peers {
 public:
  static Result<std::unique_ptr<Peers>> make(const Settings& settings, Bytes size) {
    TRUNKLINE_ASSIGN(here, gpus(settings));
    auto out = std::make_unique<Peers>();
    for (const Gpu& gpu : here) {
      TRUNKLINE_TRY(use(gpu));
      TRUNKLINE_ASSIGN(from, DeviceBuffer::make(size));
      TRUNKLINE_ASSIGN(to, DeviceBuffer::make(size));
      TRUNKLINE_ASSIGN(lane, Lane::make(gpu, {}));
      TRUNKLINE_TRY(ok(kernels::fill_random(from.data(), size, kSeed, lane.stream()), "filling memory"));
      TRUNKLINE_TRY(ok(cudaStreamSynchronize(lane.stream()), "filling memory"));
      out->ends.push_back({gpu, std::move(from), std::move(to), std::move(lane)});
    }
    TRUNKLINE_TRY(out->connect());
    TRUNKLINE_ASSIGN(start, Start::make(here[0]));
    out->start = std::move(start);
    return out;
  }

  std::size_t count() const { return ends.size(); }
  bool reaches(std::size_t i, std::size_t j) const { return reach_[i * count() + j]; }

  // One copy that GPU i does: it reads from j, or writes to j.
  Result<void> queue(Way way, Engine engine, std::size_t i, std::size_t j, cudaStream_t stream) const {
    const End &source = ends[way == Way::read ? j : i], &target = ends[way == Way::read ? i : j];
    const auto size = std::size_t(kSize.count());
    const cudaError_t status = engine == Engine::kernel ? kernels::copy(target.to.data(), source.from.data(), kSize, stream)
                                                        : cudaMemcpyPeerAsync(target.to.data(), target.gpu.index, source.from.data(),
                                                                              source.gpu.index, size, stream);
    return ok(status, fmt::format("copying between GPU {} and GPU {}", source.gpu.index, target.gpu.index));
  }

  Lane* lane(Way way, Engine engine, std::size_t i, std::size_t j) {
    ends[i].lane.set_work([=, this](cudaStream_t stream) -> Result<void> {
      for (int copy = 0; copy < kCopies; ++copy) TRUNKLINE_TRY(queue(way, engine, i, j, stream));
      return {};
    });
    return &ends[i].lane;
  }

  Result<void> check(Way way, Engine engine, std::size_t i, std::size_t j) const {
    const End& target = ends[way == Way::read ? i : j];
    // The stream belongs to the GPU that does the copy; the words are counted where they arrive.
    return verify_device(
        target.gpu, target.to, kSize, kSeed,
        [&](cudaStream_t) -> Result<void> {
          TRUNKLINE_TRY(use(ends[i].gpu));
          TRUNKLINE_TRY(queue(way, engine, i, j, ends[i].lane.stream()));
          TRUNKLINE_TRY(ok(cudaStreamSynchronize(ends[i].lane.stream()), "copying between GPUs"));
          return use(target.gpu);
        },
        fmt::format("a copy between GPU {} and GPU {}", ends[i].gpu.index, ends[j].gpu.index));
  }

  std::vector<End> ends;
  Start start;

 private:
  Result<void> connect() {
    reach_.assign(count() * count(), false);
    for (std::size_t i = 0; i < count(); ++i) {
      TRUNKLINE_TRY(use(ends[i].gpu));
      for (std::size_t j = 0; j < count(); ++j) {
        int can = 0;
        if (i != j) TRUNKLINE_TRY(ok(cudaDeviceCanAccessPeer(&can, ends[i].gpu.index, ends[j].gpu.index), "asking for peers"));
        if (!can) continue;
        const cudaError_t status = cudaDeviceEnablePeerAccess(ends[j].gpu.index, 0);
        if (status == cudaErrorPeerAccessAlreadyEnabled)
          cudaGetLastError();
        else
          TRUNKLINE_TRY(ok(status, "letting GPUs reach each other"));
        reach_[i * count() + j] = true;
      }
    }
    return {};
  }

  std::vector<bool> reach_;
};

std::string pair_text(const Peers& peers, std::size_t i, std::size_t j) {
  return peers.ends[i].gpu.label() + "_" + peers.ends[j].gpu.label();
}

Metric metric_of(const Peers& peers, std::size_t i, std::size_t j, Engine engine, double limit_factor) {
  std::optional<Limit> limit = peer_limit(peers.ends[i].gpu, peers.ends[j].gpu);
  if (limit) limit->value *= limit_factor;
  Metric m =
      metric("bandwidth@" + pair_text(peers, i, j) + (engine == Engine::kernel ? "_kernel" : ""), "B/s", measure::Better::higher, limit);
  measure::set(m.conditions, condition::kSize, kSize.count());
  measure::set(m.conditions, condition::kEngine, name_of(engine));
  measure::set(m.conditions, condition::kVerified, true);
  measure::set(m.conditions, "peer_access", peers.reaches(i, j));
  return m;
}

struct Pair {
  std::size_t i = 0, j = 0;  // i does the copy
  Engine engine = Engine::copy_engine;
};

// Every ordered pair with every engine that is possible.
std::vector<Pair> pairs_of(const Peers& peers, Sampler& sampler) {
  std::vector<Pair> out;
  bool staged = false;
  for (std::size_t i = 0; i < peers.count(); ++i) {
    for (std::size_t j = 0; j < peers.count(); ++j) {
      if (i == j) continue;
      out.push_back({i, j, Engine::copy_engine});
      if (peers.reaches(i, j))
        out.push_back({i, j, Engine::kernel});
      else
        staged = true;
    }
  }
  if (staged)
    sampler.warn("some GPUs may not reach each other directly: their copies go through host memory (nvidia-smi topo -p2p r says why)");
  return out;
}

Result<void> one_direction(const Settings& settings, Sampler& sampler, Way way) {
  TRUNKLINE_ASSIGN(peers, Peers::make(settings, kSize));
  std::vector<Point> points;
  for (const auto& [i, j, engine] : pairs_of(*peers, sampler)) {
    TRUNKLINE_TRY(peers->check(way, engine, i, j));
    points.push_back({{metric_of(*peers, i, j, engine, 1)}, [&peers, way, engine = engine, i = i, j = j]() -> Result<std::vector<double>> {
                        TRUNKLINE_ASSIGN(time, peers->start.alone(*peers->lane(way, engine, i, j)));
                        return std::vector{double(kSize.count()) * kCopies / time.si()};
                      }});
  }
  return sampler.sample(std::move(points));
}

// A chain through `count` places, each kApart words apart, in one random cycle (Sattolo).
std::vector<std::uint32_t> chain() {
  const auto words = std::size_t(kChain.count()) / sizeof(std::uint32_t);
  std::vector<std::uint32_t> order(words / kApart), out(words, 0);
  std::iota(order.begin(), order.end(), 0U);
  Rng rng(kSeed);
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i - 1)]);
  for (std::size_t i = 0; i < order.size(); ++i) out[i * kApart] = order[i] * kApart;
  return out;
}

}  // namespace

Result<void> peer_read(const Settings& settings, Sampler& sampler) { return one_direction(settings, sampler, Way::read); }
Result<void> peer_write(const Settings& settings, Sampler& sampler) { return one_direction(settings, sampler, Way::write); }

Result<void> peer_bidirectional(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(peers, Peers::make(settings, kSize));
  std::vector<Point> points;
  for (const auto& [i, j, engine] : pairs_of(*peers, sampler)) {
    if (i > j) continue;
    TRUNKLINE_TRY(peers->check(Way::write, engine, i, j));
    TRUNKLINE_TRY(peers->check(Way::write, engine, j, i));
    points.push_back({{metric_of(*peers, i, j, engine, 2)}, [&peers, engine = engine, i = i, j = j]() -> Result<std::vector<double>> {
                        Lane* lanes[] = {peers->lane(Way::write, engine, i, j), peers->lane(Way::write, engine, j, i)};
                        TRUNKLINE_ASSIGN(times, peers->start.together(lanes));
                        return std::vector{2.0 * double(kSize.count()) * kCopies / std::max(times[0], times[1]).si()};
                      }});
  }
  return sampler.sample(std::move(points));
}

Result<void> peer_latency(const Settings& settings, Sampler& sampler) {
  TRUNKLINE_ASSIGN(peers, Peers::make(settings, kChain));
  const auto links = chain();
  for (const End& end : peers->ends) {
    TRUNKLINE_TRY(use(end.gpu));
    TRUNKLINE_TRY(ok(cudaMemcpy(end.from.data(), links.data(), std::size_t(kChain.count()), cudaMemcpyHostToDevice), "writing the chain"));
  }
  std::vector<Point> points;
  for (std::size_t i = 0; i < peers->count(); ++i) {
    for (std::size_t j = 0; j < peers->count(); ++j) {
      if (i != j && !peers->reaches(i, j)) continue;
      Metric m = metric("latency@" + (i == j ? peers->ends[i].gpu.label() : pair_text(*peers, i, j)), "s", measure::Better::lower);
      measure::set(m.conditions, condition::kSize, kChain.count());
      measure::set(m.conditions, condition::kEngine, name_of(Engine::kernel));
      points.push_back({{m}, [&peers, i, j]() -> Result<std::vector<double>> {
                          const End &reader = peers->ends[i], &owner = peers->ends[j];
                          Lane& lane = peers->ends[i].lane;
                          lane.set_work([&](cudaStream_t stream) {
                            return ok(kernels::chase(owner.from.as<std::uint32_t>(), kSteps, reader.to.as<std::uint32_t>(), stream),
                                      "following the chain");
                          });
                          TRUNKLINE_ASSIGN(time, peers->start.alone(lane));
                          return std::vector{time.si() / kSteps};
                        }});
    }
  }
  if (points.size() == peers->count())
    return fail({ErrorKind::missing, "no two GPUs here may reach each other's memory", {}, "nvidia-smi topo -p2p r says why"});
  return sampler.sample(std::move(points));
}

}  // namespace trunkline::backends::cuda
