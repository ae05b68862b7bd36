// Constants of the step model from published rows.
#pragma once

#include <string>
#include <vector>

#include "predict/constants.hpp"

namespace trunkline::validate {

// What one row says: the factor on kernel time at which its prediction would be exact.
struct FitPoint {
  std::string table;
  workload::Framework framework = workload::Framework::ideal;
  catalog::Generation generation = catalog::Generation::other;
  double log_factor = 0;
  double weight = 1;  // rows of one table share one vote
};

// A pair's factor is the weighted median of its points, drawn towards the sum of framework and generation effects (ridge)
// as if those effects were one more table. Points of `without` are left out. Intervals are not set.
predict::Constants fit_constants(const std::vector<FitPoint>& points, const std::string& without = {});

}  // namespace trunkline::validate
