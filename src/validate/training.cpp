#include "validate/training.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

namespace trunkline::validate {

using predict::Constants;

namespace {

constexpr int kCountedRows = 100;  // a longer table counts with every k-th row

double quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const double at = q * double(values.size() - 1);
  const std::size_t low = std::size_t(at);
  const double rest = at - double(low);
  return low + 1 < values.size() ? values[low] * (1 - rest) + values[low + 1] * rest : values[low];
}

ErrorSummary summarise(std::string name, const std::vector<const TrainingResult*>& results) {
  ErrorSummary s;
  s.name = std::move(name);
  std::vector<double> absolute;
  double sum = 0, covered = 0;
  for (const TrainingResult* r : results) {
    s.rows += 1;
    s.eligible += r->row.eligible;
    if (!r->row.skip.empty()) s.skipped += 1;
    else if (r->row.eligible) s.predicted += 1;
    if (!r->judged || !r->row.skip.empty()) continue;
    s.judged += 1;
    absolute.push_back(std::abs(r->error));
    sum += r->error;
    covered += r->covered;
  }
  if (absolute.empty()) return s;
  const double n = double(absolute.size());
  s.median_abs = quantile(absolute, 0.5);
  s.p90_abs = quantile(absolute, 0.9);
  for (double a : absolute) s.mean_abs += a / n;
  s.mean_signed = sum / n;
  s.covered = covered / n;
  return s;
}

class Validator {
 public:
  Validator(const std::vector<io::CsvTable>& tables, const TrainingOptions& options) : options_(options) {
    for (const auto& table : tables) {
      for (const auto& row : table.rows()) {
        TrainingResult result;
        result.row = training_row(table, row);
        if (result.row.platform) result.model = std::make_shared<predict::PlatformModel>(*result.row.platform);
        out_.results.push_back(std::move(result));
      }
    }
    choose_judged();
  }

  TrainingValidation run() {
    fit_points();
    out_.constants = fit_constants(points_);
    for (const auto& [table, members] : by_table()) {
      const Constants constants = options_.leave_one_out ? fit_constants(points_, table) : Constants::builtin();
      for (TrainingResult* r : members) predict_row(*r, constants);
    }
    set_intervals();
    summaries();
    return std::move(out_);
  }

 private:
  std::map<std::string, std::vector<TrainingResult*>> by_table() {
    std::map<std::string, std::vector<TrainingResult*>> tables;
    for (auto& r : out_.results) tables[r.row.table].push_back(&r);
    return tables;
  }

  void choose_judged() {
    for (auto& [table, members] : by_table()) {
      std::vector<TrainingResult*> eligible;
      for (TrainingResult* r : members) {
        if (r->row.eligible) eligible.push_back(r);
      }
      const std::size_t step = std::max<std::size_t>(1, eligible.size() / kCountedRows);
      for (std::size_t i = 0; i < eligible.size(); i += step) eligible[i]->judged = true;
    }
  }

  double predict_with(const TrainingResult& r, double factor, std::string* problem = nullptr) const {
    predict::Options options;
    options.effects = options_.effects;
    options.compute_factor = factor;
    options.extras = false;
    const auto p = predict::predict(*r.row.job, *r.model, options);
    if (p) return p->step_s;
    if (problem) *problem = p.error().message;
    return 0;
  }

  void fit_points() {
    std::map<std::string, int> judged;
    for (const auto& r : out_.results) judged[r.row.table] += r.judged && r.row.skip.empty();
    for (auto& r : out_.results) {
      if (!r.row.skip.empty()) continue;
      std::string problem;
      const double at_one = predict_with(r, 1, &problem);
      if (!problem.empty()) {
        r.row.skip = problem;
        continue;
      }
      if (!r.judged || r.row.measured_s <= 0) continue;
      FitPoint point;
      point.table = r.row.table;
      point.framework = r.row.job->framework;
      point.generation = r.row.platform->node.gpu.generation;
      point.log_factor = std::log(exact_factor(r, at_one));
      point.weight = 1.0 / std::max(1, judged[r.row.table]);
      points_.push_back(point);
    }
  }

  // The factor at which the row would be met exactly, by secant steps; kept within 0.3 … 3.
  double exact_factor(const TrainingResult& r, double at_one) const {
    double f0 = 1, t0 = at_one, f1 = std::clamp(r.row.measured_s / at_one, 0.3, 3.0);
    for (int i = 0; i < 4; ++i) {
      if (std::abs(f1 - f0) < 1e-6) break;
      const double t1 = predict_with(r, f1);
      const double slope = (t1 - t0) / (f1 - f0);
      f0 = f1, t0 = t1;
      if (slope <= 0) break;
      f1 = std::clamp(f1 + (r.row.measured_s - t1) / slope, 0.3, 3.0);
    }
    return f1;
  }

  void predict_row(TrainingResult& r, const Constants& constants) {
    if (!r.row.skip.empty()) return;
    const double factor = constants.factor(r.row.job->framework, r.row.platform->node.gpu.generation);
    predict::Options options;
    options.effects = options_.effects;
    options.compute_factor = factor;
    options.extras = false;
    const auto p = predict::predict(*r.row.job, *r.model, options);
    if (!p) {
      r.row.skip = p.error().message;
      return;
    }
    r.predicted_s = p->step_s;
    r.row.assumed.insert(r.row.assumed.end(), p->assumed.begin(), p->assumed.end());
    if (r.row.measured_s > 0) r.error = r.predicted_s / r.row.measured_s - 1;
  }

  // 80 % intervals of a table from the residuals of all other tables.
  void set_intervals() {
    std::map<std::string, std::vector<double>> residuals;
    for (const auto& r : out_.results) {
      if (r.judged && r.row.skip.empty() && r.predicted_s > 0) residuals[r.row.table].push_back(std::log(r.row.measured_s / r.predicted_s));
    }
    std::vector<double> all;
    for (const auto& [table, values] : residuals) all.insert(all.end(), values.begin(), values.end());
    out_.constants.low = std::exp(quantile(all, 0.1));
    out_.constants.high = std::exp(quantile(all, 0.9));
    for (auto& [table, members] : by_table()) {
      std::vector<double> others;
      for (const auto& [name, values] : residuals) {
        if (name != table) others.insert(others.end(), values.begin(), values.end());
      }
      const double low = std::exp(quantile(others, 0.1)), high = std::exp(quantile(others, 0.9));
      for (TrainingResult* r : members) {
        r->low_s = r->predicted_s * low;
        r->high_s = r->predicted_s * high;
        r->covered = r->row.measured_s >= r->low_s && r->row.measured_s <= r->high_s;
      }
    }
  }

  void group(const std::function<std::string(const TrainingResult&)>& key, std::vector<ErrorSummary>& into) const {
    std::map<std::string, std::vector<const TrainingResult*>> groups;
    for (const auto& r : out_.results) {
      const std::string k = key(r);
      if (!k.empty()) groups[k].push_back(&r);
    }
    for (const auto& [name, members] : groups) {
      into.push_back(summarise(name, members));
      into.back().file = members.front()->row.file;
    }
  }

  void summaries() {
    group([](const TrainingResult& r) { return r.row.table; }, out_.tables);
    group([](const TrainingResult& r) { return r.row.framework_name; }, out_.frameworks);
    group([](const TrainingResult& r) { return r.row.platform ? catalog::name_of(r.row.platform->node.gpu.generation) : std::string(); }, out_.generations);
    std::vector<const TrainingResult*> all;
    for (const auto& r : out_.results) all.push_back(&r);
    out_.overall = summarise("all", all);
    std::vector<double> medians;
    for (const auto& t : out_.tables) {
      if (t.judged > 0) medians.push_back(t.median_abs);
    }
    out_.median_of_tables = quantile(medians, 0.5);
  }

  TrainingOptions options_;
  TrainingValidation out_;
  std::vector<FitPoint> points_;
};

}  // namespace

TrainingValidation validate_training(const std::vector<io::CsvTable>& tables, const TrainingOptions& options) { return Validator(tables, options).run(); }

}  // namespace trunkline::validate
