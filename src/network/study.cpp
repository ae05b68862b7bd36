#include "network/study.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "base/quantity_text.hpp"

namespace trunkline::network {

Spread spread_of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) {
    const auto rank = std::size_t(std::ceil(share * double(values.size())));
    return values[std::clamp<std::size_t>(rank, 1, values.size()) - 1];
  };
  Spread out{0, at(0.05), at(0.5), at(0.95), values.front(), values.back()};
  for (const double v : values) out.mean += v / double(values.size());
  return out;
}

Spread Study::spread(const std::function<double(const RunResult&)>& figure) const {
  std::vector<double> values;
  for (const RunResult& run : runs) values.push_back(figure(run));
  return spread_of(std::move(values));
}

namespace {

// One step gives rates, loads and hops; the ring gives times.
void run_ring_of(const FabricFile& file, const RunOptions& options, RunResult& result) {
  const RingRun ring = run_ring(*file.fabric, file.traffic.hosts, file.traffic.size, options, file.traffic.steps);
  if (!ring.served) {  // without one hop nobody gets to the end
    result.completion = {};
    result.finish = seconds(0);
    result.steps = "the ring is cut and never ends";
    return;
  }
  result.flows = ring.flows;
  result.completion = {ring.completion.mean, ring.completion.p50, ring.completion.p99, ring.completion.max};
  result.finish = ring.finish;
  result.ideal = ring.ideal;
  result.simulate = ring.spent;
  result.steps = ring.words;
}

// A collective has no rates of single flows: its figures are times, and what each byte of the buffer takes.
Result<RunResult> run_collective_of(const FabricFile& file, const RunOptions& options) {
  const auto start = std::chrono::steady_clock::now();
  CollectiveOptions how;
  how.run = options;
  TRUNKLINE_ASSIGN(done, run_collectives(*file.fabric, file.traffic.machines, std::span(&file.traffic.task, 1), how));
  const CollectiveTime& group = done.groups.front();
  RunResult result;
  result.flows = done.flows;
  result.completion = {group.time, group.time, group.time, group.time};
  result.finish = group.time;
  result.ideal = group.bandwidth;
  result.rate = {group.algbw, group.algbw, group.algbw};
  result.simulate = seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  const auto words = [](Seconds t) { return t.si() < 1e-12 ? std::string("none") : to_text(t); };  // below the clock's tick: rounding
  result.steps = fmt::format("bound {}, fill {}, latency {}, contention {}", to_text(group.bandwidth), words(group.fill),
                             words(group.latency), words(group.contention));
  return result;
}

Result<RunResult> run_once(const FabricFile& file, const std::vector<Demand>& demands, const RunOptions& options) {
  if (file.traffic.pattern == Pattern::collective) return run_collective_of(file, options);
  RunResult result = run_traffic(*file.fabric, demands, options);
  if (file.traffic.pattern == Pattern::ring_all_reduce) run_ring_of(file, options, result);
  return result;
}

}  // namespace

Result<Study> run_study(FabricFile file, int seeds) {
  Study study;
  study.file = std::move(file);
  for (int seed = 0; seed < seeds; ++seed) {
    auto demands = demands_of(study.file, std::uint64_t(seed));
    const RunOptions options = options_of(study.file, std::uint64_t(seed));
    TRUNKLINE_ASSIGN(run, run_once(study.file, demands, options));
    study.runs.push_back(std::move(run));
    if (study.file.lossless) study.paused.push_back(run_lossless(*study.file.fabric, demands, options, *study.file.lossless));
    if (seed == 0) study.demands = std::move(demands);
  }
  return study;
}

}  // namespace trunkline::network
