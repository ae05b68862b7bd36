// Constants of the step model from published rows.
#pragma once

#include <string>
#include <vector>

#include "predict/constants.hpp"

namespace trunkline::validate {

// What one row says: the factor at which its prediction would be exact.
struct FitPoint {
  std::string table;
  workload::Framework framework = workload::Framework::ideal;
  catalog::Generation generation = catalog::Generation::other;
  double log_factor = 0;
};

// The median row of every table, for each framework and generation in it.
std::vector<predict::Evidence> evidence_of(const std::vector<FitPoint>& points);

// A pair's factor is the median over its tables, drawn towards the sum of framework and generation effects (ridge) as if
// those effects were one more table. The table `without` is left out. Intervals are not set.
predict::Constants fit_constants(const std::vector<predict::Evidence>& evidence, const std::string& without = {});

}  // namespace trunkline::validate
