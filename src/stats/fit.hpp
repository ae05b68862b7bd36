// Small dense least squares: a handful of constants fitted to some hundred rows.
#pragma once

#include <span>
#include <vector>

#include "base/result.hpp"

namespace trunkline::stats {

struct FitOptions {
  double ridge = 0;                  // weight λ of the penalty λ·Σ(c_j − toward_j)²; 0 = plain least squares
  std::vector<double> toward = {};   // what the penalty pulls to; empty = 0
  std::vector<double> weights = {};  // one a row, ≥ 0; empty = 1
};

struct Fit {
  std::vector<double> coefficients;
  std::vector<double> residuals;  // y − X·c, unweighted
  double rms = 0;                 // root of the mean squared residual
  double determination = 0;       // R² = 1 − Σ residual²/Σ(y − mean)², unweighted; 1 where y is constant and met
};

// The c that minimises Σ w_i (y_i − Σ_j X_ij c_j)² + λ·Σ(c_j − toward_j)². `rows` is X row by row (rows.size() = n·columns); a constant
// term is a column of ones. Householder QR, so the condition of X is not squared. An error where the shapes disagree, a number is
// not finite, there are fewer rows than columns (without ridge), or a column is a combination of the ones before it.
// O(n·columns²).
Result<Fit> least_squares(std::span<const double> rows, std::size_t columns, std::span<const double> y, const FitOptions& options = {});

struct Line {
  double offset = 0, slope = 0;
  double rms = 0, determination = 0;
};

// y = offset + slope·x, for example the latency and inverse bandwidth of a transfer over its size.
Result<Line> fit_line(std::span<const double> x, std::span<const double> y, const FitOptions& options = {});

}  // namespace trunkline::stats
