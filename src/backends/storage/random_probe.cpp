// storage.random_read: small reads at random places of a file, for a while.
#include <algorithm>

#include "backends/storage/bench.hpp"
#include "backends/storage/probes.hpp"
#include "stats/summary.hpp"

namespace trunkline::backends::storage {
namespace {

using measure::Better;
using measure::Metric;
using measure::Sampler;
using measure::Settings;

constexpr double kLayOutShare = 0.4;

class RandomReadProbe : public measure::Probe {
 public:
  std::string name() const override { return "storage.random_read"; }
  std::string answers() const override { return "how many small reads at random places a disk serves, and how long one takes"; }
  std::string needs() const override { return "a folder with free space (--path)"; }

  Result<measure::Estimate> estimate(const Settings& settings, Seconds budget) const override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), kib(4)));
    measure::Estimate out;
    out.time = budget;
    out.disk = out.written = plan.size;
    out.memory = Bytes(plan.block) * plan.depth;
    out.note = "small reads for the time that is left";
    return out;
  }

  Result<void> run(const Settings& settings, Sampler& sampler) override {
    TRUNKLINE_ASSIGN(plan, plan_of(settings, default_file(settings), kib(4)));
    TRUNKLINE_ASSIGN(bench, Bench::make(plan, settings.seed, sampler));
    TRUNKLINE_TRY(bench->lay_out(sampler.left() * kLayOutShare, sampler));
    const bool direct = bench->can_direct();
    Tally tally(plan.target, Direction::read);
    std::uint64_t repetition = 0;
    measure::Point point;
    const auto metric = [&](const char* name, const char* unit, Better better) {
      Metric m{name, unit, better, {}};
      m.conditions = bench->conditions(direct ? "direct" : "cold");
      return m;
    };
    point.metrics = {metric("rate", "1/s", Better::higher), metric("latency_p50", "s", Better::lower),
                     metric("latency_p99", "s", Better::lower), metric("latency_p99.9", "s", Better::lower)};
    point.repeat = [&]() -> Result<std::vector<double>> {
      if (!direct) bench->file().drop_cache();
      std::vector<double> latencies;
      tally.begin();
      TRUNKLINE_ASSIGN(moved, bench->read_randomly(plan.repetition / 2, settings.seed + 1000 + repetition++, latencies, sampler));
      tally.end(moved.bytes);
      std::sort(latencies.begin(), latencies.end());
      return std::vector<double>{double(moved.requests) / moved.time.si(), stats::quantile_sorted(latencies, 0.5),
                                 stats::quantile_sorted(latencies, 0.99), stats::quantile_sorted(latencies, 0.999)};
    };
    const auto done = sampler.sample({point});
    record_way(tally, plan.target, true, "rate", sampler);
    return done;
  }
};

}  // namespace

std::unique_ptr<measure::Probe> random_read_probe() { return std::make_unique<RandomReadProbe>(); }

}  // namespace trunkline::backends::storage
