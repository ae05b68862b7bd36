#include "network/study.hpp"

#include <algorithm>
#include <cmath>

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
  if (!ring.served) return;
  result.flows = ring.flows;
  result.completion = {ring.completion.mean, ring.completion.p50, ring.completion.p99, ring.completion.max};
  result.finish = ring.finish;
  result.ideal = ring.ideal;
  result.simulate = ring.spent;
  result.steps = ring.words;
}

}  // namespace

Study run_study(FabricFile file, int seeds, const std::function<void(int)>& done) {
  Study study;
  study.file = std::move(file);
  for (int seed = 0; seed < seeds; ++seed) {
    auto demands = demands_of(study.file, std::uint64_t(seed));
    const RunOptions options = options_of(study.file, std::uint64_t(seed));
    study.runs.push_back(run_traffic(*study.file.fabric, demands, options));
    if (study.file.traffic.pattern == Pattern::ring_all_reduce) run_ring_of(study.file, options, study.runs.back());
    if (seed == 0) study.demands = std::move(demands);
    if (done) done(seed + 1);
  }
  return study;
}

}  // namespace trunkline::network
