// storage.read: one repetition reads the file from its start, past the page cache, through an empty one, and out of a full one.
#include <algorithm>
#include <fstream>

#include "backends/storage/bench.hpp"
#include "backends/storage/probes.hpp"

namespace trunkline::backends::storage {
namespace {

using measure::Sampler;
using measure::Settings;

constexpr double kLayOutShare = 0.3;  // of the time, at most, goes into writing what will be read

// How much of a file the page cache surely holds: a quarter of the memory that is free now.
std::int64_t cacheable() {
  std::ifstream file("/proc/meminfo");
  std::string key, rest;
  std::int64_t value = 0;
  while (file >> key >> value && std::getline(file, rest)) {
    if (key == "MemAvailable:") return value * 1024 / 4;
  }
  return std::int64_t(256) << 20;
}

class ReadProbe : public measure::Probe {
 public:
  std::string name() const override { return "storage.read"; }
  std::string answers() const override { return "how fast a disk gives data: past the page cache, cold, and out of it"; }
  std::string needs() const override { return "a folder with free space (--path)"; }

  Result<measure::Estimate> estimate(const Settings& settings, Seconds budget) const override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), mib(1)));
    measure::Estimate out;
    out.time = budget;
    out.disk = out.written = plan.size;
    out.read = plan.size * (2 * std::max<std::int64_t>(7, settings.repetitions + 1));
    out.memory = Bytes(plan.block) * plan.depth;
    out.note = "for 6 repetitions; fewer or more as time allows";
    return out;
  }

  Result<void> run(const Settings& settings, Sampler& sampler) override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), mib(1)));
    TRUNKLINE_ASSIGN(bench, Bench::make(plan, settings.seed, sampler));
    TRUNKLINE_TRY(bench->lay_out(sampler.left() * kLayOutShare, sampler));
    Tally direct(plan.target, Direction::read), cold(plan.target, Direction::read), cached(plan.target, Direction::read);
    std::vector<measure::Point> points;
    if (bench->can_direct())
      points.push_back(
          {{bandwidth("bandwidth@direct", *bench, "direct", true)}, [&] { return pass(*bench, direct, Way::direct, sampler); }});
    points.push_back({{bandwidth("bandwidth@cold", *bench, "cold", true)}, [&] { return pass(*bench, cold, Way::cold, sampler); }});
    points.push_back(
        {{bandwidth("bandwidth@cached", *bench, "cached", false)}, [&] { return pass(*bench, cached, Way::cached, sampler); }});
    const auto done = sampler.sample(std::move(points));
    if (bench->can_direct()) record_way(direct, plan.target, true, "bandwidth@direct", sampler);
    record_way(cold, plan.target, true, "bandwidth@cold", sampler);
    record_way(cached, plan.target, false, "bandwidth@cached", sampler);
    return done;
  }

 private:
  enum class Way { direct, cold, cached };

  static Result<std::vector<double>> pass(Bench& bench, Tally& tally, Way way, Sampler& sampler) {
    if (bench.can_direct()) bench.file().set_direct(way == Way::direct);
    std::int64_t bytes = bench.size();
    if (way == Way::cold) bench.file().drop_cache();
    if (way == Way::cached) {
      TRUNKLINE_ASSIGN(loaded, bench.read(std::min(bytes, cacheable()), bench.plan().repetition, sampler));
      bytes = loaded.bytes;
    }
    tally.begin();
    TRUNKLINE_ASSIGN(moved, bench.read(bytes, bench.plan().repetition, sampler));
    tally.end(moved.bytes);
    return std::vector<double>{(Bytes(moved.bytes) / moved.time).si()};
  }
};

}  // namespace

std::unique_ptr<measure::Probe> read_probe() { return std::make_unique<ReadProbe>(); }

}  // namespace trunkline::backends::storage
