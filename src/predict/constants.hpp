// Constants fitted to published results: at most one a framework and GPU generation, each with its reason and its rows.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "catalog/gpu.hpp"
#include "io/value.hpp"
#include "workload/job.hpp"

namespace trunkline::predict {

// Kernel time of a framework on a generation = model's kernel time × factor: what is left after the described effects
// (kernels of that framework's age against the modelled ones, clocks of that generation under that load).
struct Factor {
  workload::Framework framework = workload::Framework::ideal;
  catalog::Generation generation = catalog::Generation::other;
  double value = 1;
  int tables = 0, rows = 0;
};

// What one published table says of a framework and generation: the median over its rows of the factor (as a logarithm) at
// which a row would be met exactly. All factors and effects follow from these (validate::fit_constants).
struct Evidence {
  std::string table;
  workload::Framework framework = workload::Framework::ideal;
  catalog::Generation generation = catalog::Generation::other;
  double log_factor = 0;
  int rows = 0;
};

struct Constants {
  std::vector<Evidence> evidence;
  std::vector<Factor> factors;
  // For pairs without a factor of their own: log factor = generation + framework effect.
  std::vector<std::pair<catalog::Generation, double>> generation_effect;
  std::vector<std::pair<workload::Framework, double>> framework_effect;
  // 80 % of published results lie within measured/predicted = [low, high]; for a pair with published results of its own,
  // and for one without.
  double low = 0.8, high = 1.25;
  double low_unseen = 0.7, high_unseen = 1.45;

  static const Constants& builtin();

  double factor(workload::Framework framework, catalog::Generation generation) const;
  bool seen(workload::Framework framework, catalog::Generation generation) const;
};

Result<Constants> constants_from(const io::Value& value);
std::string to_yaml(const Constants& constants);

}  // namespace trunkline::predict
