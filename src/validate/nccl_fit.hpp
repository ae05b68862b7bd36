// The fitted constants of the collective model, found again from published rows, also without one system.
#pragma once

#include <string>
#include <vector>

#include "validate/nccl_table.hpp"

namespace trunkline::validate {

// Where the fit starts and what it is drawn to: NCCL's own numbers, and arithmetic where NCCL has none.
collectives::Constants collective_priors();

struct FittedConstant {
  std::string name;
  double prior = 0, value = 0;
};

struct CollectiveFit {
  collectives::Constants constants;
  std::vector<FittedConstant> values;
  double objective = 0;
};

// What is minimised: the mean over systems of the mean |ln(predicted / measured)| of counted rows (each cut at 0.6, from 1 MiB on;
// below that a quarter as heavy), plus a pull of 0.004·ln²(value / prior) for each constant.
double collective_objective(const std::vector<CollectiveRow>& rows, const collectives::Constants& constants,
                            const std::string& without = {});

// Coordinate descent in factors, from the priors; deterministic. Rows of `without` (a system) are not seen. Cost: some 400
// evaluations of all rows, a tenth of a second for a thousand rows.
CollectiveFit fit_collectives(const std::vector<CollectiveRow>& rows, const std::string& without = {});

// Every system judged by constants fitted without it.
CollectiveSummary leave_one_system_out(const std::vector<CollectiveRow>& rows);

}  // namespace trunkline::validate
