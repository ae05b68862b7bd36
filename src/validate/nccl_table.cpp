#include "validate/nccl_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "stats/summary.hpp"

namespace trunkline::validate {

// Found by leave_one_system_out (nccl_fit.cpp) on the committed table: 1.11, 1.26, 1.34; small messages between nodes 3.6, where two
// of four systems are erratic or use sockets.
double interval_factor(const CollectiveCase& question) {
  const bool across = question.domain.nodes > 1;
  if (question.size >= mib(1)) return across ? 1.26 : 1.11;
  return across ? 2.5 : 1.35;
}

void predict(CollectiveRow& row, const collectives::Constants& constants) {
  if (!row.question) return;
  const CollectiveCase& q = *row.question;
  const collectives::Cost cost = time_of(q.domain, q.collective, q.size, q.options, constants);
  row.predicted_s = std::max(cost.time.si(), q.floor_s);
  row.low_s = row.predicted_s / interval_factor(q);
  row.high_s = row.predicted_s * interval_factor(q);
  row.chosen = name_of(cost.algorithm) + (cost.algorithm == collectives::Algorithm::direct ? "" : " " + name_of(cost.protocol));
  row.error = row.predicted_s / row.measured_s - 1;
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
  for (const char* column : {"row_id", "system_id", "collective", "size_bytes", "gpus", "gpu_norm", "busbw_GBs"}) {
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
  std::vector<std::string> order;
  int small_near = 0;
  for (const auto& row : rows) {
    ++out.rows;
    ++(row.predicted() ? out.predicted : out.skipped);
    if (!row.predicted() || !row.counted) continue;
    ++out.counted;
    if (gated(row)) {
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
    out.systems.push_back(
        {system, int(absolute.size()), stats::median(absolute), sum / double(absolute.size()), stats::median(signed_errors)});
    medians.push_back(out.systems.back().median_abs);
    out.mean_of_medians += medians.back();
  }
  out.median_of_medians = stats::median(medians);
  if (!medians.empty()) out.mean_of_medians /= double(medians.size());
  out.small_within = out.small_rows > 0 ? double(small_near) / out.small_rows : 1;
  return out;
}

}  // namespace trunkline::validate
