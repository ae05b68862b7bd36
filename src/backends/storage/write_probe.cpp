// storage.write: one repetition writes the file from its start, until its end or for some seconds, and waits until it is safe.
#include <algorithm>

#include "backends/storage/bench.hpp"
#include "backends/storage/probes.hpp"

namespace trunkline::backends::storage {
namespace {

namespace condition = measure::condition;
using measure::Sampler;
using measure::Settings;

class WriteProbe : public measure::Probe {
 public:
  std::string name() const override { return "storage.write"; }
  std::string answers() const override { return "how fast a disk takes data, until it is safe"; }
  std::string needs() const override { return "a folder with free space (--path)"; }

  Result<measure::Estimate> estimate(const Settings& settings, Seconds budget) const override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), mib(1)));
    measure::Estimate out;
    out.time = budget;
    out.disk = plan.size;
    out.written = plan.size * std::max<std::int64_t>(7, settings.repetitions + 1);
    out.memory = Bytes(plan.block) * plan.depth;
    out.note = "for 6 repetitions; fewer or more as time allows";
    return out;
  }

  Result<void> run(const Settings& settings, Sampler& sampler) override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), mib(1)));
    TRUNKLINE_ASSIGN(bench, Bench::make(plan, settings.seed, sampler));
    const bool direct = bench->can_direct();
    Tally tally(plan.target, Direction::write);
    measure::Point point;
    point.metrics = {bandwidth("bandwidth", *bench, direct ? "direct" : "buffered", true)};
    measure::set(point.metrics[0].conditions, condition::kFsync, plan.fsync);
    point.repeat = [&]() -> Result<std::vector<double>> {
      tally.begin();
      const Seconds start = sampler.clock().now();
      TRUNKLINE_ASSIGN(moved, bench->write(plan.repetition, sampler));
      if (plan.fsync) TRUNKLINE_TRY(bench->file().sync());
      const Seconds time = sampler.clock().now() - start;
      tally.end(moved.bytes);
      return std::vector<double>{(Bytes(moved.bytes) / time).si()};
    };
    const auto done = sampler.sample({point});
    record_way(tally, plan.target, true, "bandwidth", sampler);
    return done;
  }
};

}  // namespace

std::unique_ptr<measure::Probe> write_probe() { return std::make_unique<WriteProbe>(); }

}  // namespace trunkline::backends::storage
