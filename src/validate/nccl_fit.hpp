// The fitted constants of the collective model, found again from published rows, also without one system.
#pragma once

#include <set>
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

// The systems that the built-in constants rest on.
std::set<std::string> fitted_systems();

// Whether `rows` hold every system that the built-in constants rest on: only then can one be left out.
bool holds_all_fitted_systems(const std::vector<CollectiveRow>& rows);

// Every system judged by constants fitted without it, and by intervals from the residuals of the others. Cost: a second on one thread.
std::vector<CollectiveRow> leave_one_system_out(std::vector<CollectiveRow> rows, int jobs = 1);

// The 80 % spread of the residuals ln(measured / predicted) of each class, every system one vote, without one system; what is
// built in where fewer than four systems are left.
std::vector<Spread> system_spreads(const std::vector<CollectiveRow>& rows, const std::string& without = {});

}  // namespace trunkline::validate
