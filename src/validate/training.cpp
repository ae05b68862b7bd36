#include "validate/training.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "validate/parallel.hpp"
#include "validate/summary.hpp"

namespace trunkline::validate {

using predict::Constants;

namespace {

class Validator {
 public:
  Validator(const std::vector<io::CsvTable>& tables, const TrainingOptions& options) : options_(options) {
    out_.results = training_results(tables);
    for (auto& r : out_.results) {
      if (r.row.platform) r.model = std::make_shared<predict::PlatformModel>(*r.row.platform);
    }
  }

  TrainingValidation run() {
    evidence_ = Constants::builtin().evidence;
    if (options_.refit) evidence_ = evidence_of(fit_points());
    out_.constants = fit_constants(evidence_);
    const auto tables = by_table();
    std::map<std::string, Constants> constants;
    for (const auto& [table, members] : tables) constants[table] = fit_constants(evidence_, options_.leave_one_out ? table : std::string());
    for_each_index(out_.results.size(), options_.jobs,
                   [&](std::size_t i) { predict_row(out_.results[i], constants.at(out_.results[i].row.table)); });
    judge(out_.results);
    set_intervals();
    summarise_all(out_);
    return std::move(out_);
  }

 private:
  std::map<std::string, std::vector<TrainingResult*>> by_table() {
    std::map<std::string, std::vector<TrainingResult*>> tables;
    for (auto& r : out_.results) tables[r.row.table].push_back(&r);
    return tables;
  }

  Result<predict::Prediction> predict_with(const TrainingResult& r, double factor) const {
    predict::Options options;
    options.effects = options_.effects;
    options.compute_factor = factor;
    options.extras = false;
    return predict::predict(*r.row.job, *r.model, options);
  }

  double step_with(const TrainingResult& r, double factor) const {
    const auto p = predict_with(r, factor);
    return p ? p->step_s : 0;
  }

  // What every judged row says.
  std::vector<FitPoint> fit_points() {
    std::vector<double> at_one(out_.results.size());
    for_each_index(at_one.size(), options_.jobs, [&](std::size_t i) {
      TrainingResult& r = out_.results[i];
      if (!r.row.predicted()) return;
      const auto p = predict_with(r, 1);
      if (p)
        at_one[i] = p->step_s;
      else
        r.row.skipped_reason = p.error().message;
    });
    judge(out_.results);
    std::vector<FitPoint> points(out_.results.size());
    for_each_index(points.size(), options_.jobs, [&](std::size_t i) {
      const TrainingResult& r = out_.results[i];
      if (!r.row.judged) return;
      points[i] = {r.row.table, r.row.job->framework, r.row.platform->node.gpu.generation, std::log(exact_factor(r, at_one[i]))};
    });
    std::erase_if(points, [](const FitPoint& p) { return p.table.empty(); });
    return points;
  }

  // The factor at which the row would be met exactly, by secant steps; kept within 0.3 … 3.
  double exact_factor(const TrainingResult& r, double at_one) const {
    double f0 = 1, t0 = at_one, f1 = std::clamp(r.row.measured_s / at_one, 0.3, 3.0);
    for (int i = 0; i < 4; ++i) {
      if (std::abs(f1 - f0) < 1e-6) break;
      const double t1 = step_with(r, f1);
      const double slope = (t1 - t0) / (f1 - f0);
      f0 = f1, t0 = t1;
      if (slope <= 0) break;
      f1 = std::clamp(f1 + (r.row.measured_s - t1) / slope, 0.3, 3.0);
    }
    return f1;
  }

  void predict_row(TrainingResult& r, const Constants& constants) {
    if (!r.row.predicted()) return;
    const double factor = constants.factor(r.row.job->framework, r.row.platform->node.gpu.generation);
    r.seen = constants.seen(r.row.job->framework, r.row.platform->node.gpu.generation);
    const auto p = predict_with(r, factor);
    if (!p) {
      r.row.skipped_reason = p.error().message;
      return;
    }
    r.row.set_prediction(p->step_s, 1, 1);
    r.row.assumed.insert(r.row.assumed.end(), p->assumed.begin(), p->assumed.end());
  }

  // ln(measured/predicted) of the judged rows of all tables but `without`; of rows whose kind other tables hold, or not.
  // Rows of one table err together, so a table's rows weigh as one, as in the fit.
  using Residuals = std::vector<std::pair<double, double>>;  // value, weight
  Residuals residuals(bool seen, const std::string& without) const {
    const auto counts = [&](const TrainingResult& r) { return r.row.judged && r.seen == seen && r.row.table != without; };
    std::map<std::string, int> rows;
    for (const auto& r : out_.results) rows[r.row.table] += counts(r);
    Residuals out;
    for (const auto& r : out_.results) {
      if (counts(r)) out.emplace_back(std::log(r.row.measured_s / r.row.predicted_s), 1.0 / rows[r.row.table]);
    }
    return out;
  }

  static std::pair<double, double> interval(const Residuals& residuals) {
    return {std::exp(weighted_quantile(residuals, 0.1)), std::exp(weighted_quantile(residuals, 0.9))};
  }

  // 80 % intervals of a table: from the residuals of all other tables where these are many, else those built in. Too few
  // residuals of rows without a like: theirs are taken together with all others.
  void set_intervals() {
    constexpr std::size_t kEnough = 20, kMany = 200;
    const Constants& built_in = Constants::builtin();
    const auto of = [&](bool seen, const std::string& without) {
      Residuals own = residuals(seen, without), rest = residuals(!seen, without);
      if (own.size() + rest.size() < kMany)
        return seen ? std::pair(built_in.low, built_in.high) : std::pair(built_in.low_unseen, built_in.high_unseen);
      if (own.size() < kEnough) own.insert(own.end(), rest.begin(), rest.end());
      return interval(own);
    };
    std::tie(out_.constants.low, out_.constants.high) = of(true, {});
    std::tie(out_.constants.low_unseen, out_.constants.high_unseen) = of(false, {});
    for (auto& [table, members] : by_table()) {
      for (TrainingResult* r : members) {
        const auto [low, high] = of(r->seen, table);
        r->row.low_s = r->row.predicted_s * low;
        r->row.high_s = r->row.predicted_s * high;
      }
    }
  }

  TrainingOptions options_;
  TrainingValidation out_;
  std::vector<predict::Evidence> evidence_;
};

}  // namespace

TrainingValidation validate_training(const std::vector<io::CsvTable>& tables, const TrainingOptions& options) {
  return Validator(tables, options).run();
}

}  // namespace trunkline::validate
