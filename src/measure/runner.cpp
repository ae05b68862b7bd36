#include "measure/runner.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "measure/hash.hpp"

namespace trunkline::measure {
namespace {

constexpr Seconds kQuickMargin = milliseconds(500);  // a probe: starting, the repetition that ran over, cleaning up
constexpr Seconds kQuickMost = seconds(10);          // more is no longer quick

Status status_of(const Result<void>& done) {
  if (done) return Status::ok;
  return done.error().kind == ErrorKind::missing ? Status::waived : Status::failed;
}

class Run {
 public:
  Run(Environment& environment, const Settings& settings, const RunOptions& options, Observer& observer)
      : environment_(environment), settings_(settings), options_(options), observer_(observer), start_(environment.clock().now()) {}

  Seconds budget(std::size_t left) const {
    return settings_.quick ? quick_budget(options_.quick_total, elapsed(), left) : options_.per_probe;
  }

  ProbeResult measure(Probe& probe, Seconds budget, Seconds after, const Sampler::Stopped& stopped, bool& interrupted) const {
    const Clock& clock = environment_.clock();
    const Seconds start = clock.now();
    const auto use_before = environment_.cpu_use();
    const auto tick = [&](Seconds elapsed, Seconds whole) {
      observer_.progressed(elapsed, whole, std::max(seconds(0), whole - elapsed) + after);
    };
    Sampler sampler(clock, sampling(probe, budget), stopped, tick);
    const Result<void> done = probe.run(settings_, sampler);
    ProbeResult out;
    out.name = probe.name();
    out.status = status_of(done);
    if (!done) out.reason = reason_of(done.error());
    out.metrics = std::move(sampler.metrics());
    out.warnings = std::move(sampler.warnings());
    out.duration_s = (clock.now() - start).si();
    auto [contention, warning] = contention_between(use_before, environment_.cpu_use());
    out.contention = contention;
    if (!warning.empty() && out.status == Status::ok) out.warnings.push_back(std::move(warning));
    interrupted = !done && done.error().kind == ErrorKind::interrupted;
    return out;
  }

  SamplerOptions sampling(const Probe& probe, Seconds budget) const {
    SamplerOptions out;
    out.precision = options_.precision;
    out.exactly = settings_.repetitions;
    out.budget = budget;
    out.seed = stable_hash(probe.name(), settings_.seed);  // its own, so that one more probe before it changes nothing
    return out;
  }

  Seconds elapsed() const { return environment_.clock().now() - start_; }

 private:
  Environment& environment_;
  const Settings& settings_;
  const RunOptions& options_;
  Observer& observer_;
  Seconds start_;
};

Context context_of(Environment& environment, const Settings& settings, const RunOptions& options) {
  Context context = environment.describe();
  context.tool_version = options.tool_version;
  context.command_line = options.command_line;
  context.backend = options.backend;
  context.quick = settings.quick;
  context.seed = settings.seed;
  for (const auto& [name, version] : options.libraries) {
    if (name == "driver")
      context.driver = version;
    else if (name == "cuda")
      context.cuda = version;
    else if (name == "nccl")
      context.nccl = version;
    else
      context.libraries.emplace_back(name, version);
  }
  for (const auto& add : options.describe) add(context);
  return context;
}

}  // namespace

std::string reason_of(const Error& error) {
  std::string out = error.where.file.empty() ? error.message : fmt::format("{}: {}", error.where.file, error.message);
  if (!error.hint.empty()) out += "; " + error.hint;
  return out;
}

Seconds quick_budget(Seconds total, Seconds spent, std::size_t count) {
  if (count == 0) return seconds(0);
  const Seconds share = (total - spent) / double(count) - kQuickMargin;
  return std::clamp(share, milliseconds(200), kQuickMost);
}

Measurement run(Environment& environment, std::span<Probe* const> probes, const Settings& settings, const RunOptions& options,
                Observer& observer, const Save& save, const Sampler::Stopped& stopped) {
  Measurement out;
  out.context = context_of(environment, settings, options);
  save(out);
  Run one(environment, settings, options, observer);
  bool interrupted = false;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    Probe& probe = *probes[i];
    if (interrupted) {
      out.probes.push_back({probe.name(), Status::waived, "not run: interrupted before"});
      continue;
    }
    observer.began(probe, i, probes.size());
    const Seconds budget = one.budget(probes.size() - i);
    out.probes.push_back(one.measure(probe, budget, budget * double(probes.size() - i - 1), stopped, interrupted));
    observer.ended(out.probes.back());
    save(out);
  }
  environment.complete(out.context);
  for (const auto& add : options.complete) add(out.context);
  out.complete = !interrupted;
  save(out);
  return out;
}

}  // namespace trunkline::measure
