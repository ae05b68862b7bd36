// The predictor that a model must beat: model FLOPs over (peak rate × one constant a GPU type).
#include <algorithm>
#include <cmath>
#include <map>

#include "validate/ideal_step.hpp"
#include "validate/summary.hpp"
#include "validate/training.hpp"

namespace trunkline::validate {
namespace {

double ideal_s(const TrainingRow& row) { return ideal_step_s(*row.job, *row.platform); }

struct Point {
  std::string table, gpu;
  double log_share, weight;
};

// Weighted median share of the peak over all tables but `without`; over all GPUs where this one is in no other table.
double share_of_peak(const std::vector<Point>& points, const std::string& gpu, const std::string& without) {
  for (const bool any_gpu : {false, true}) {
    std::vector<std::pair<double, double>> values;
    for (const Point& p : points) {
      if (p.table != without && (any_gpu || p.gpu == gpu)) values.emplace_back(p.log_share, p.weight);
    }
    if (!values.empty()) return std::exp(weighted_median(values));
  }
  return 1;
}

}  // namespace

TrainingValidation trivial_predictor(const std::vector<io::CsvTable>& tables) {
  TrainingValidation out;
  out.results = training_results(tables);
  std::map<std::string, int> judged;
  for (const auto& r : out.results) judged[r.row.table] += r.row.judged;
  std::vector<Point> points;
  for (const auto& r : out.results) {
    if (!r.row.judged) continue;
    points.push_back({r.row.table, r.row.gpu, std::log(ideal_s(r.row) / r.row.measured_s), 1.0 / judged[r.row.table]});
  }
  for (auto& r : out.results) {
    if (!r.row.predicted()) continue;
    r.row.set_prediction(ideal_s(r.row) / share_of_peak(points, r.row.gpu, r.row.table), 1, 1);
  }
  summarise_all(out);
  return out;
}

}  // namespace trunkline::validate
