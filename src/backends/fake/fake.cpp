#include "backends/fake/fake.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "backends/fake/probe.hpp"
#include "base/rng.hpp"
#include "measure/hash.hpp"

namespace trunkline::backends::fake {
namespace {

using measure::Better;
using measure::Metric;

constexpr double kStragglerChance = 0.04, kStragglerMost = 0.15;  // now and then something else wants the machine

// How much slower one repetition is than the truth.
double slowdown(Rng& rng, double spread) {
  const double normal = std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * std::numbers::pi * rng.uniform());
  const double straggler = rng.uniform() < kStragglerChance ? rng.uniform() * kStragglerMost : 0;
  return 1 + spread * std::abs(normal) + straggler;
}

class FakeEnvironment : public measure::Environment {
 public:
  FakeEnvironment(const topology::Platform& platform, std::optional<Fault> fault) : platform_(platform), fault_(fault) {}
  const measure::Clock& clock() const override { return clock_; }
  measure::VirtualClock& virtual_clock() { return clock_; }

  measure::Context describe() override {
    measure::Context c;
    c.host = "simulated";
    c.machine = fmt::format("{}: {} x {}", platform_.name, platform_.nodes, platform_.node.name);
    c.sockets = platform_.node.sockets;
    if (platform_.node.host_memory.count() > 0) c.memory_bytes = platform_.node.host_memory.count();
    c.topology_hash = fmt::format("{:016x}", measure::stable_hash(c.machine));
    return c;
  }
  void complete(measure::Context&) override {}

  std::optional<measure::CpuUse> cpu_use() const override {
    const double others = fault_ && fault_->kind == FaultKind::busy_machine ? fault_->left : 0;
    const double time = clock_.now().si();
    return measure::CpuUse{time, time * (others + 0.1), 0, time * 0.1, 0, {}};
  }

 private:
  topology::Platform platform_;
  std::optional<Fault> fault_;
  measure::VirtualClock clock_;
};

class FakeProbe : public measure::Probe {
 public:
  FakeProbe(Description description, const topology::Platform& platform, std::optional<Fault> fault, measure::VirtualClock& clock)
      : description_(std::move(description)), platform_(platform), fault_(fault), clock_(clock) {}

  std::string name() const override { return description_.name; }
  std::string answers() const override { return description_.answers; }
  std::string needs() const override { return description_.needs; }

  Result<measure::Estimate> estimate(const measure::Settings& settings, Seconds budget) const override {
    TRUNKLINE_ASSIGN(answer, description_.answer(Model{platform_, fault_}, settings));
    measure::Estimate out;
    out.time = budget;
    out.note = "simulated: moves nothing";
    return out;
  }

  Result<void> run(const measure::Settings& settings, measure::Sampler& sampler) override {
    TRUNKLINE_ASSIGN(answer, description_.answer(Model{platform_, fault_}, settings));
    if (fault_ && fault_->kind == FaultKind::busy_machine) answer.spread += 0.05 * fault_->left;
    Rng rng(measure::stable_hash(name(), settings.seed * 0x9E3779B97F4A7C15ULL));
    int made = 0;
    std::vector<measure::Point> points;
    for (Truth& truth : answer.points) {
      measure::Point point;
      for (Metric& m : truth.metrics) measure::set(m.conditions, measure::condition::kEngine, std::string("fake"));
      point.metrics = truth.metrics;
      point.repeat = [&, this]() -> Result<std::vector<double>> {
        if (answer.error && made++ >= answer.repetitions_before_error) return fail(*answer.error);
        return repeat(truth, answer.spread, rng);
      };
      points.push_back(std::move(point));
    }
    return sampler.sample(std::move(points));
  }

 private:
  std::vector<double> repeat(const Truth& truth, double spread, Rng& rng) {
    const double slower = slowdown(rng, spread);
    clock_.advance(truth.cost * slower);
    std::vector<double> out;
    for (std::size_t i = 0; i < truth.values.size(); ++i)
      out.push_back(truth.metrics[i].better == Better::higher ? truth.values[i] / slower : truth.values[i] * slower);
    return out;
  }

  Description description_;
  topology::Platform platform_;
  std::optional<Fault> fault_;
  measure::VirtualClock& clock_;
};

}  // namespace

Metric bandwidth(std::string name, std::optional<Bandwidth> limit, std::string limit_source, measure::Conditions conditions) {
  Metric out{std::move(name), "B/s", Better::higher, {}};
  if (limit && limit->si() > 0) {
    out.limit = limit->si();
    out.limit_source = std::move(limit_source);
  }
  out.conditions = std::move(conditions);
  return out;
}

tl::unexpected<Error> missing(std::string what) { return fail({ErrorKind::missing, std::move(what), {}, {}}); }

Machine machine(const topology::Platform& platform, std::optional<Fault> fault) {
  Machine out;
  auto environment = std::make_unique<FakeEnvironment>(platform, fault);
  for (const auto& group : {host_probes(), storage_probes(), network_probes(), collective_probes(), gpu_probes()}) {
    for (const Description& description : group)
      out.probes.push_back(std::make_unique<FakeProbe>(description, platform, fault, environment->virtual_clock()));
  }
  out.environment = std::move(environment);
  return out;
}

}  // namespace trunkline::backends::fake
