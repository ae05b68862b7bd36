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

Study run_study(FabricFile file, int seeds, const std::function<void(int)>& done) {
  Study study;
  study.file = std::move(file);
  for (int seed = 0; seed < seeds; ++seed) {
    auto demands = demands_of(study.file, std::uint64_t(seed));
    study.runs.push_back(run_traffic(*study.file.fabric, demands, options_of(study.file, std::uint64_t(seed))));
    if (seed == 0) study.demands = std::move(demands);
    if (done) done(seed + 1);
  }
  return study;
}

}  // namespace trunkline::network
