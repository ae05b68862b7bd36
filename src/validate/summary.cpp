#include "validate/summary.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <tuple>

#include "stats/summary.hpp"

namespace trunkline::validate {
namespace {

constexpr std::size_t kCountedRows = 100;  // a longer table counts with every k-th row

std::vector<ErrorSummary> grouped(const TrainingValidation& v, const std::function<std::string(const TrainingResult&)>& key,
                                  bool beside = false) {
  std::map<std::string, std::vector<const Row*>> groups;
  for (const auto& r : v.results) {
    const std::string k = key(r);
    if (!k.empty()) groups[k].push_back(&r.row);
  }
  std::vector<ErrorSummary> out;
  for (const auto& [name, members] : groups) {
    out.push_back(summarise(name, members, beside));
    out.back().file.clear();
  }
  return out;
}

// Why a row is not judged, in one word or two.
std::string kind_beside(const std::string& reason) {
  if (reason.find("MoE") != std::string::npos) return "mixture of experts";
  if (reason.find("cut-down") != std::string::npos || reason.find("proxy") != std::string::npos) return "cut-down model";
  if (reason.find("fine-tuning") != std::string::npos) return "fine-tuning";
  if (reason.starts_with("missing")) return "something not stated";
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
  judge(results);
  return results;
}

void judge(std::vector<TrainingResult>& results) {
  std::map<std::string, std::vector<TrainingResult*>> tables;
  for (auto& r : results) {
    r.row.judged = false;
    if (r.row.eligible && r.row.predicted()) tables[r.row.table].push_back(&r);
  }
  for (auto& [table, members] : tables) {
    const std::size_t step = members.size() > kCountedRows ? std::max<std::size_t>(2, members.size() / kCountedRows) : 1;
    for (std::size_t i = 0; i < members.size(); i += step) members[i]->row.judged = true;
  }
}

void summarise_all(TrainingValidation& v) {
  std::vector<const Row*> all;
  for (const auto& r : v.results) all.push_back(&r.row);
  v.tables = by_table(all);
  std::sort(v.tables.begin(), v.tables.end(),
            [](const ErrorSummary& a, const ErrorSummary& b) { return std::tie(a.name, a.file) < std::tie(b.name, b.file); });
  v.frameworks = grouped(v, [](const TrainingResult& r) { return r.row.framework_name; });
  v.generations = grouped(
      v, [](const TrainingResult& r) { return r.row.platform ? catalog::name_of(r.row.platform->node.gpu.generation) : std::string(); });
  v.beside = grouped(v, [](const TrainingResult& r) { return r.row.eligible ? std::string() : kind_beside(r.row.exclude_reason); }, true);
  v.overall = summarise("all", all);
  v.overall.file.clear();
  v.median_of_tables = median_of_medians(v.tables);
}

}  // namespace trunkline::validate
