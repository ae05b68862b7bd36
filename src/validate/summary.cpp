#include "validate/summary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>

#include "stats/summary.hpp"

namespace trunkline::validate {
namespace {

constexpr std::size_t kCountedRows = 100;  // a longer table counts with every k-th row

using Members = std::map<std::string, std::vector<const TrainingResult*>>;

// Over the judged rows, or, with `beside`, over those that were predicted although they are not eligible.
ErrorSummary summarise(std::string name, const std::vector<const TrainingResult*>& results, bool beside = false) {
  ErrorSummary s;
  s.name = std::move(name);
  std::vector<double> absolute;
  double sum = 0, covered = 0;
  for (const TrainingResult* r : results) {
    s.rows += 1;
    s.eligible += r->row.eligible;
    if (!r->row.skip.empty())
      s.skipped += 1;
    else if (r->row.eligible)
      s.predicted += 1;
    const bool counts = beside ? !r->row.eligible && r->predicted_s > 0 && r->row.measured_s > 0 : r->judged;
    if (!counts || !r->row.skip.empty()) continue;
    s.judged += 1;
    absolute.push_back(std::abs(r->error));
    sum += r->error;
    covered += r->covered;
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

std::vector<ErrorSummary> grouped(const TrainingValidation& v, const std::function<std::string(const TrainingResult&)>& key,
                                  bool beside = false) {
  Members groups;
  for (const auto& r : v.results) {
    const std::string k = key(r);
    if (!k.empty()) groups[k].push_back(&r);
  }
  std::vector<ErrorSummary> out;
  for (const auto& [name, members] : groups) {
    out.push_back(summarise(name, members, beside));
    out.back().file = members.front()->row.file;
  }
  return out;
}

// Why a row is not judged, in one word or two.
std::string kind_beside(const std::string& reason) {
  if (reason.find("MoE") != std::string::npos) return "mixture of experts";
  if (reason.find("cut-down") != std::string::npos || reason.find("proxy") != std::string::npos) return "cut-down model";
  if (reason.find("fine-tuning") != std::string::npos) return "fine-tuning";
  return "other";
}

}  // namespace

double quantile(std::vector<double> values, double q) { return values.empty() ? 0 : stats::quantile(values, q); }

double weighted_median(std::vector<std::pair<double, double>> values) { return weighted_quantile(std::move(values), 0.5); }

double weighted_quantile(std::vector<std::pair<double, double>> values, double q) {
  std::sort(values.begin(), values.end());
  double total = 0, so_far = 0;
  for (const auto& [value, weight] : values) total += weight;
  for (const auto& [value, weight] : values) {
    so_far += weight;
    if (so_far >= q * total) return value;
  }
  return 0;
}

std::vector<TrainingResult> training_results(const std::vector<io::CsvTable>& tables) {
  std::vector<TrainingResult> results;
  for (const auto& table : tables) {
    for (const auto& row : table.rows()) {
      TrainingResult result;
      result.row = training_row(table, row);
      results.push_back(std::move(result));
    }
  }
  std::map<std::string, std::vector<TrainingResult*>> eligible;
  for (auto& r : results) {
    if (r.row.eligible) eligible[r.row.table].push_back(&r);
  }
  for (auto& [table, members] : eligible) {
    const std::size_t step = std::max<std::size_t>(1, members.size() / kCountedRows);
    for (std::size_t i = 0; i < members.size(); i += step) members[i]->judged = true;
  }
  return results;
}

void summarise_all(TrainingValidation& v) {
  v.tables = grouped(v, [](const TrainingResult& r) { return r.row.table; });
  v.frameworks = grouped(v, [](const TrainingResult& r) { return r.row.framework_name; });
  v.generations = grouped(
      v, [](const TrainingResult& r) { return r.row.platform ? catalog::name_of(r.row.platform->node.gpu.generation) : std::string(); });
  v.beside = grouped(v, [](const TrainingResult& r) { return r.row.eligible ? std::string() : kind_beside(r.row.exclude_reason); }, true);
  std::vector<const TrainingResult*> all;
  for (const auto& r : v.results) all.push_back(&r);
  v.overall = summarise("all", all);
  std::vector<double> medians;
  for (const auto& t : v.tables) {
    if (t.judged > 0) medians.push_back(t.median_abs);
  }
  v.median_of_tables = quantile(medians, 0.5);
}

}  // namespace trunkline::validate
