#include "stats/fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace trunkline::stats {
namespace {

constexpr double kDependent = 1e-11;  // share of a column's length left after removing the columns before it

// The weighted rows, and the penalty as rows below them, column by column; y in the last column.
struct System {
  std::size_t height, columns;
  std::vector<std::vector<double>> column;

  System(std::span<const double> rows, std::size_t width, std::span<const double> y, const FitOptions& options)
      : height(y.size() + (options.ridge > 0 ? width : 0)), columns(width), column(width + 1, std::vector<double>(height, 0)) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      const double scale = options.weights.empty() ? 1 : std::sqrt(options.weights[i]);
      for (std::size_t j = 0; j < width; ++j) column[j][i] = scale * rows[i * width + j];
      column[width][i] = scale * y[i];
    }
    for (std::size_t j = 0; j < width && options.ridge > 0; ++j) {
      column[j][y.size() + j] = std::sqrt(options.ridge);
      column[width][y.size() + j] = std::sqrt(options.ridge) * (options.toward.empty() ? 0 : options.toward[j]);
    }
  }
};

double length(std::span<const double> v) { return std::sqrt(std::inner_product(v.begin(), v.end(), v.begin(), 0.0)); }

// Reflects so that column k has only zeros below its diagonal, and applies the same to the columns behind it.
void reflect(System& s, std::size_t k) {
  auto& pivot = s.column[k];
  const std::span<double> below(pivot.data() + k, s.height - k);
  const double alpha = pivot[k] > 0 ? -length(below) : length(below);
  std::vector<double> v(below.begin(), below.end());
  v[0] -= alpha;
  const double norm = std::inner_product(v.begin(), v.end(), v.begin(), 0.0);
  for (std::size_t j = k; j <= s.columns; ++j) {
    double* other = s.column[j].data() + k;
    const double share = 2 * std::inner_product(v.begin(), v.end(), other, 0.0) / norm;
    for (std::size_t i = 0; i < v.size(); ++i) other[i] -= share * v[i];
  }
}

Result<std::vector<double>> solve(System s) {
  for (std::size_t k = 0; k < s.columns; ++k) {
    const double whole = length(s.column[k]);
    const double left = length(std::span<const double>(s.column[k]).subspan(k));
    if (!(left > kDependent * whole))
      return bad_input({}, fmt::format("column {} of the fit is a combination of the columns before it", k + 1));
    reflect(s, k);
  }
  std::vector<double> c(s.columns);
  for (std::size_t k = s.columns; k-- > 0;) {
    double rest = s.column[s.columns][k];
    for (std::size_t j = k + 1; j < s.columns; ++j) rest -= s.column[j][k] * c[j];
    c[k] = rest / s.column[k][k];
  }
  return c;
}

bool all_finite(std::span<const double> values) {
  return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

Result<void> check_shape(std::span<const double> rows, std::size_t columns, std::span<const double> y, const FitOptions& options) {
  if (columns == 0 || rows.size() != y.size() * columns) return bad_input({}, "a fit needs one row of columns for each value");
  if (!options.weights.empty() && options.weights.size() != y.size()) return bad_input({}, "a fit needs one weight for each value");
  if (!options.toward.empty() && options.toward.size() != columns) return bad_input({}, "a fit needs one value to pull to for each column");
  if (y.size() < columns && !(options.ridge > 0)) return bad_input({}, fmt::format("{} values cannot fix {} constants", y.size(), columns));
  const bool sound = all_finite(rows) && all_finite(y) && all_finite(options.weights) && all_finite(options.toward) && options.ridge >= 0;
  if (!sound || std::any_of(options.weights.begin(), options.weights.end(), [](double w) { return w < 0; })) {
    return bad_input({}, "a fit needs finite values and weights that are not negative");
  }
  return {};
}

}  // namespace

Result<Fit> least_squares(std::span<const double> rows, std::size_t columns, std::span<const double> y, const FitOptions& options) {
  TRUNKLINE_TRY(check_shape(rows, columns, y, options));
  TRUNKLINE_ASSIGN(coefficients, solve(System(rows, columns, y, options)));
  Fit fit;
  fit.coefficients = std::move(coefficients);
  const double mean = y.empty() ? 0 : std::accumulate(y.begin(), y.end(), 0.0) / double(y.size());
  double left = 0, whole = 0;
  for (std::size_t i = 0; i < y.size(); ++i) {
    double r = y[i];
    for (std::size_t j = 0; j < columns; ++j) r -= rows[i * columns + j] * fit.coefficients[j];
    fit.residuals.push_back(r);
    left += r * r;
    whole += (y[i] - mean) * (y[i] - mean);
  }
  fit.rms = y.empty() ? 0 : std::sqrt(left / double(y.size()));
  fit.determination = whole > 0 ? 1 - left / whole : left == 0 ? 1 : 0;
  return fit;
}

Result<Line> fit_line(std::span<const double> x, std::span<const double> y, const FitOptions& options) {
  std::vector<double> rows;
  for (double v : x) {
    rows.push_back(1);
    rows.push_back(v);
  }
  TRUNKLINE_ASSIGN(fit, least_squares(rows, 2, y, options));
  return Line{fit.coefficients[0], fit.coefficients[1], fit.rms, fit.determination};
}

}  // namespace trunkline::stats
