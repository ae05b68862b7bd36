#include "validate/row.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "validate/summary.hpp"

namespace trunkline::validate {

void Row::set_prediction(double seconds, double low_factor, double high_factor) {
  if (!std::isfinite(seconds) || seconds <= 0) {
    skipped_reason = "the prediction is not a time: a size, a rate or a number of ranks is beyond what is modelled";
    return;
  }
  predicted_s = seconds;
  low_s = seconds * low_factor;
  high_s = seconds * high_factor;
  error = seconds / measured_s - 1;
}

ErrorSummary summarise(std::string name, const std::vector<const Row*>& rows, bool beside) {
  ErrorSummary s;
  s.name = std::move(name);
  if (!rows.empty()) s.file = rows.front()->file;
  std::vector<double> absolute;
  double sum = 0, covered = 0;
  for (const Row* r : rows) {
    s.rows += 1;
    s.eligible += r->eligible;
    ++(r->eligible ? (r->predicted() ? s.predicted : s.skipped) : (r->predicted() ? s.beside : s.left_out));
    if (!r->predicted() || (beside ? r->eligible : !r->judged)) continue;
    s.judged += 1;
    absolute.push_back(std::abs(r->error));
    sum += r->error;
    covered += r->covered();
  }
  if (absolute.empty()) return s;
  const double n = double(absolute.size());
  for (double a : absolute) s.mean_abs += a / n;
  s.median_abs = quantile(absolute, 0.5);
  s.p90_abs = quantile(absolute, 0.9);
  s.mean_signed = sum / n;
  s.covered = covered / n;
  return s;
}

std::vector<ErrorSummary> by_table(const std::vector<const Row*>& rows) {
  std::vector<std::pair<std::string, std::string>> order;
  std::map<std::pair<std::string, std::string>, std::vector<const Row*>> members;
  for (const Row* row : rows) {
    auto& group = members[{row->file, row->table}];
    if (group.empty()) order.emplace_back(row->file, row->table);
    group.push_back(row);
  }
  std::vector<ErrorSummary> out;
  for (const auto& key : order) out.push_back(summarise(key.second, members[key]));
  return out;
}

double median_of_medians(const std::vector<ErrorSummary>& tables) {
  std::vector<double> medians;
  for (const auto& t : tables) {
    if (t.judged > 0) medians.push_back(t.median_abs);
  }
  return quantile(medians, 0.5);
}

}  // namespace trunkline::validate
