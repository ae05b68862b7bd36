#include "validate/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stats/summary.hpp"

namespace trunkline::validate {

int spread_class(const CollectiveCase& question) { return (question.size >= mib(1) ? 0 : 2) + (question.domain.nodes > 1 ? 1 : 0); }

// What system_spreads (nccl_fit.cpp) finds on the committed table with each system left out of the fit, rounded.
Spread builtin_spread(int spread_class) {
  constexpr Spread kSpreads[kSpreadClasses] = {{0.92, 1.16}, {0.87, 1.75}, {0.82, 1.39}, {0.26, 2.57}};
  return kSpreads[spread_class];
}

void predict(CollectiveRow& row, const collectives::Constants& constants) {
  if (!row.question) return;
  const CollectiveCase& q = *row.question;
  const collectives::Cost cost = time_of(q.domain, q.collective, q.size, q.options, constants);
  const Spread spread = builtin_spread(spread_class(q));
  row.set_prediction(std::max(cost.time.si(), q.floor_s), spread.low, spread.high);
  row.chosen = name_of(cost.algorithm) + (cost.algorithm == collectives::Algorithm::direct ? "" : " " + name_of(cost.protocol));
  row.judged = row.eligible && row.predicted();
}

namespace {

// A system where a larger message takes less than a third of a smaller one's time was disturbed while it was measured: it
// is judged, but teaches nothing.
std::set<std::string> erratic_systems(const std::vector<CollectiveRow>& rows) {
  std::set<std::string> erratic;
  const CollectiveRow* last = nullptr;
  for (const auto& row : rows) {
    if (last && last->system == row.system && last->collective == row.collective && last->forced == row.forced && row.size > last->size &&
        row.measured_s < last->measured_s / 3) {
      erratic.insert(row.system);
    }
    if (row.measured_s > 0) last = &row;
  }
  return erratic;
}

}  // namespace

Result<std::vector<CollectiveRow>> validate_collectives(const io::CsvTable& table) {
  for (const char* column : {"collective", "size_bytes", "gpus", "busbw_GBs"}) {
    if (!table.has(column)) {
      return bad_input({table.file(), 1}, fmt::format("no column \"{}\"", column),
                       "expected a table of nccl-tests results with the columns of data/published/README.md");
    }
  }
  std::vector<CollectiveRow> rows;
  rows.reserve(table.rows().size());
  for (const auto& line : table.rows()) {
    rows.push_back(collective_row(table, line));
    CollectiveRow& row = rows.back();
    predict(row);
    if (row.question && row.predicted_s <= row.question->floor_s)
      row.assumed.emplace_back("launch", "one process launches for all GPUs of the node");
  }
  const auto erratic = erratic_systems(rows);
  for (auto& row : rows) row.erratic = erratic.contains(row.system);
  return rows;
}

namespace {

bool gated(const CollectiveRow& row) {
  const bool kind = row.collective == "all_reduce" || row.collective == "all_gather" || row.collective == "reduce_scatter" ||
                    row.collective == "alltoall";
  return kind && row.size >= mib(1);
}

}  // namespace

CollectiveSummary summary_of(const std::vector<CollectiveRow>& rows) {
  CollectiveSummary out;
  std::map<std::string, std::vector<double>> errors;
  std::map<std::string, int> covered;
  std::vector<std::string> order;
  int small_near = 0, all_covered = 0;
  for (const auto& row : rows) {
    ++out.rows;
    ++(row.predicted() ? out.predicted : out.skipped);
    if (!row.predicted() || !row.judged) continue;
    ++out.counted;
    all_covered += row.covered();
    if (gated(row)) {
      covered[row.system] += row.covered();
      if (!errors.contains(row.system)) order.push_back(row.system);
      errors[row.system].push_back(row.error);
    } else if (row.size < mib(1)) {
      ++out.small_rows;
      small_near += std::max(1 + row.error, 1 / (1 + row.error)) <= 1.6;
    }
  }
  std::vector<double> medians;
  for (const auto& system : order) {
    const auto& signed_errors = errors[system];
    std::vector<double> absolute;
    double sum = 0;
    for (const double e : signed_errors) absolute.push_back(std::abs(e)), sum += std::abs(e);
    const double n = double(absolute.size());
    out.systems.push_back({system, int(n), stats::median(absolute), sum / n, stats::median(signed_errors), covered[system] / n});
    medians.push_back(out.systems.back().median_abs);
    out.mean_of_medians += medians.back();
  }
  out.small_within = out.small_rows > 0 ? double(small_near) / out.small_rows : 1;
  if (out.counted > 0) out.covered = double(all_covered) / out.counted;
  if (medians.empty()) return out;
  out.median_of_medians = stats::median(medians);
  out.mean_of_medians /= double(medians.size());
  return out;
}

}  // namespace trunkline::validate
