#include "backends/host/memory_probes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <numeric>

#include "backends/host/buffer.hpp"
#include "backends/host/firmware.hpp"
#include "backends/host/places.hpp"
#include "backends/host/team.hpp"

namespace trunkline::backends::host {
namespace {

namespace condition = measure::condition;
using measure::Metric;
using measure::Point;
using measure::Sampler;
using measure::Settings;

constexpr Bytes kLeastBuffers = mib(256);
constexpr int kCaches = 4;                         // all buffers together are so many times the last-level cache
constexpr Seconds kRepetition = milliseconds(50);  // shorter ones would time the barrier
constexpr std::size_t kPage = 2 << 20;

enum class Work { copy, read };

// What the kernel says can still be had without swapping; zero = not known.
Bytes available_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::int64_t value = 0;
  while (file >> key >> value) {
    if (key == "MemAvailable:") return kib(value);
    std::getline(file, unit);
  }
  return bytes(0);
}

// Bytes that all threads together work on: far more than caches hold, and far less than the memory there is.
Result<Bytes> buffers_size(const Places& places, Work work) {
  const Bytes wanted = std::max(kLeastBuffers, places.last_level_cache() * kCaches);
  const Bytes available = available_memory();
  const Bytes held = wanted * (work == Work::copy ? 2 : 1);
  if (available.count() > 0 && held > scaled(available, 0.5)) {
    return fail({ErrorKind::missing,
                 fmt::format("needs {} MiB of memory, {} MiB are free", held.count() >> 20, available.count() >> 20),
                 {},
                 "end what holds the memory"});
  }
  return wanted;
}

// Threads with their buffers, filled: what one point repeats.
class Bench {
 public:
  static Result<std::unique_ptr<Bench>> make(const Places& places, const Placement& placement, Work work, Bytes total) {
    auto out = std::make_unique<Bench>();
    out->work_ = work;
    TRUNKLINE_ASSIGN(team, Team::make(places, placement.cpus));
    out->team_ = std::move(team);
    const std::size_t threads = placement.cpus.size();
    const std::size_t each = std::max<std::size_t>(kPage, std::size_t(total.count()) / threads / kPage * kPage);
    for (std::size_t i = 0; i < threads; ++i) {
      TRUNKLINE_ASSIGN(source, Buffer::on(places, placement.nodes[i], each));
      out->sources_.push_back(std::move(source));
      if (work != Work::copy) continue;
      TRUNKLINE_ASSIGN(target, Buffer::on(places, placement.nodes[i], each));
      out->targets_.push_back(std::move(target));
    }
    out->sums_.resize(threads);
    // First touched by the thread that uses it, so that an unbound page is near it as well.
    out->team_->run([&](int i) {
      fill(out->sources_[std::size_t(i)].words(), out->seed(i));
      if (work == Work::copy) fill(out->targets_[std::size_t(i)].words(), 0);
    });
    out->placed_ = true;
    for (std::size_t i = 0; i < threads; ++i)
      out->placed_ = out->placed_ && places.lies_on(out->sources_[i].start(), each, placement.nodes[i]);
    out->find_passes();
    return out;
  }

  Bytes bytes_per_repetition() const { return Bytes(sources_[0].size()) * sources_.size() * passes_; }
  Bytes size() const { return Bytes(sources_[0].size()) * sources_.size(); }
  bool placed() const { return placed_; }
  int passes() const { return passes_; }

  Seconds repeat() {
    return team_->run([this](int thread) {
      const auto i = std::size_t(thread);
      std::uint64_t total = 0;
      for (int pass = 0; pass < passes_; ++pass) {
        if (work_ == Work::read)
          total += sum(sources_[i].words());
        else
          copy(sources_[i].words(), targets_[i].words());
      }
      sums_[i] = total;
    });
  }

  // Whether every word arrived (copy) or was read (the sums are right).
  bool verify() {
    bool right = true;
    for (std::size_t i = 0; i < sources_.size(); ++i) {
      const auto words = sources_[i].words();
      const std::uint64_t expected = sum_of_fill(words.size(), seed(int(i)));
      right = right && (work_ == Work::read ? sums_[i] == expected * std::uint64_t(passes_)
                                            : std::equal(words.begin(), words.end(), targets_[i].words().begin()));
    }
    return right;
  }

 private:
  static std::uint64_t seed(int thread) { return std::uint64_t(thread + 1) << 40; }

  // So many passes that a repetition takes long enough to be timed well.
  void find_passes() {
    repeat();
    const double one = repeat().si();
    passes_ = std::clamp(int(kRepetition.si() / std::max(one, 1e-6)) + 1, 1, 1000);
  }

  Work work_ = Work::read;
  std::unique_ptr<Team> team_;
  std::deque<Buffer> sources_, targets_;
  std::vector<std::uint64_t> sums_;
  int passes_ = 1;
  bool placed_ = false;
};

class MemoryProbe : public measure::Probe {
 public:
  explicit MemoryProbe(Work work) : work_(work) {}

  std::string name() const override { return work_ == Work::copy ? "host.memory_copy" : "host.memory_read"; }
  std::string answers() const override {
    return work_ == Work::copy ? "how fast host memory is copied (bytes copied, counted once)" : "how fast host memory is read";
  }
  std::string needs() const override { return "hwloc, some 300 MB of free memory"; }

  Result<measure::Estimate> estimate(const Settings&, Seconds budget) const override {
    TRUNKLINE_ASSIGN(where, places());
    TRUNKLINE_ASSIGN(size, buffers_size(*where, work_));
    measure::Estimate out;
    out.memory = size * (work_ == Work::copy ? 2 : 1);
    out.time = budget;
    return out;
  }

  Result<void> run(const Settings&, Sampler& sampler) override {
    TRUNKLINE_ASSIGN(where, places());
    TRUNKLINE_ASSIGN(size, buffers_size(*where, work_));
    const auto placements = placements_of(where->nodes());
    // One placement after the other: the buffers of all at once could be more than there is. Each gets an equal part of the time.
    for (std::size_t i = 0; i < placements.size(); ++i) {
      TRUNKLINE_TRY(measure(*where, placements[i], size, sampler, sampler.left() / double(placements.size() - i)));
    }
    return {};
  }

 private:
  Result<void> measure(const Places& where, const Placement& placement, Bytes size, Sampler& sampler, Seconds within) const {
    const Seconds start = sampler.elapsed();
    TRUNKLINE_ASSIGN(bench, Bench::make(where, placement, work_, size));
    Metric metric{placement.metric, "B/s", measure::Better::higher, {}};
    measure::set(metric.conditions, condition::kThreads, std::int64_t(placement.cpus.size()));
    measure::set(metric.conditions, condition::kSize, bench->size().count());
    measure::set(metric.conditions, condition::kEngine, std::string(work_ == Work::copy ? "memcpy" : "sum of 64-bit words"));
    measure::set(metric.conditions, "cpu_node", placement.cpu_node);
    measure::set(metric.conditions, "memory_node", placement.memory_node);
    // A copy moves every byte twice; other placements than "every core at its own node" have limits of their own that nobody states.
    if (const auto limit = placement.memory_node == "local" && placement.cpu_node == "all" ? memory_limit_here() : std::nullopt) {
      metric.limit = limit->rate.si() / (work_ == Work::copy ? 2 : 1);
      metric.limit_source = limit->source + (work_ == Work::copy ? ", halved: a copy reads and writes" : "");
    }
    if (!bench->placed()) sampler.warn(fmt::format("{}: the kernel put some of the memory on another node than asked", metric.name));
    Point point{{metric}, [&]() -> Result<std::vector<double>> {
                  return std::vector<double>{(bench->bytes_per_repetition() / bench->repeat()).si()};
                }};
    TRUNKLINE_TRY(sampler.sample({point}, std::max(seconds(0), within - (sampler.elapsed() - start))));
    const bool right = bench->verify();
    measure::set(sampler.metric(placement.metric)->conditions, condition::kVerified, right);
    if (right) return {};
    return fail({ErrorKind::failed,
                 fmt::format("{}: the data is not what was put there: this machine's memory is broken", placement.metric),
                 {},
                 "test the memory before using this machine"});
  }

  Work work_;
};

}  // namespace

std::vector<Placement> placements_of(const std::vector<Node>& nodes) {
  std::vector<Placement> out;
  Placement local{"bandwidth", {}, {}, "all", "local"};
  for (const Node& node : nodes) {
    for (const int cpu : node.cpus) {
      local.cpus.push_back(cpu);
      local.nodes.push_back(node.index);
    }
  }
  out.push_back(local);
  if (local.cpus.size() > 1)
    out.push_back({"bandwidth@one_thread", {local.cpus[0]}, {local.nodes[0]}, fmt::format("{}", local.nodes[0]), "local"});
  if (nodes.size() < 2) return out;
  for (const Node& from : nodes) {
    for (const Node& to : nodes) {
      if (from.cpus.empty() || to.memory.count() == 0) continue;
      out.push_back({fmt::format("bandwidth@node{}_memory{}", from.index, to.index), from.cpus,
                     std::vector<int>(from.cpus.size(), to.index), fmt::format("{}", from.index), fmt::format("{}", to.index)});
    }
  }
  return out;
}

measure::Probes memory_probes() {
  measure::Probes out;
  out.push_back(std::make_unique<MemoryProbe>(Work::copy));
  out.push_back(std::make_unique<MemoryProbe>(Work::read));
  return out;
}

}  // namespace trunkline::backends::host
