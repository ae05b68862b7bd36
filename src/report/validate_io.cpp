#include <algorithm>
#include <cmath>

#include "report/json_io.hpp"
#include "report/validate_report.hpp"

namespace trunkline::report {

using validate::CollectiveRow;
using validate::ErrorSummary;
using validate::TrainingResult;

namespace {

Json figure(double value, bool known) { return known ? Json(value) : Json(nullptr); }

Json summary_json(const ErrorSummary& s, const char* kind) {
  const bool any = s.judged > 0;
  return {{"file", or_null(s.file)},
          {"table_id", s.name},
          {"kind", kind},
          {"rows", s.rows},
          {"eligible", s.eligible},
          {"predicted", s.predicted},
          {"skipped", s.skipped},
          {"judged", s.judged},
          {"median_abs_error", figure(s.median_abs, any)},
          {"mean_abs_error", figure(s.mean_abs, any)},
          {"p90_abs_error", figure(s.p90_abs, any)},
          {"mean_signed_error", figure(s.mean_signed, any)},
          {"interval_coverage", figure(s.covered, any)}};
}

Json summaries_json(const std::vector<ErrorSummary>& list) {
  Json out = Json::array();
  for (const auto& s : list) {
    Json one = summary_json(s, "training");
    one.erase("file");
    one["name"] = s.name;
    one.erase("table_id");
    out.push_back(std::move(one));
  }
  return out;
}

void add_training(const validate::TrainingValidation& v, Json& out) {
  for (const auto& s : v.tables) out["tables"].push_back(summary_json(s, "training"));
  for (const TrainingResult& r : v.results) {
    if (!r.row.skip.empty()) {
      out["skipped"].push_back({{"id", r.row.id}, {"file", r.row.file}, {"reason", r.row.skip}});
      continue;
    }
    const bool measured = r.row.measured_s > 0;
    out["rows"].push_back({{"id", r.row.id},
                           {"file", r.row.file},
                           {"table_id", r.row.table},
                           {"kind", "training"},
                           {"eligible", r.row.eligible},
                           {"judged", r.judged},
                           {"measured_s", figure(r.row.measured_s, measured)},
                           {"predicted_s", r.predicted_s},
                           {"low_s", r.low_s},
                           {"high_s", r.high_s},
                           {"error", figure(r.error, measured)},
                           {"assumed", object_of(r.row.assumed)}});
  }
  out["frameworks"] = summaries_json(v.frameworks);
  out["generations"] = summaries_json(v.generations);
  out["beside"] = summaries_json(v.beside);
  out["overall"] = summary_json(v.overall, "training");
  out["overall"]["median_of_tables"] = v.median_of_tables;
}

// A table of the collective file: its counted rows carry the error.
Json collective_table_json(const std::string& file, const std::string& id, const std::vector<const CollectiveRow*>& rows) {
  int eligible = 0, predicted = 0, skipped = 0;
  std::vector<double> absolute;
  double signed_sum = 0;
  for (const CollectiveRow* r : rows) {
    eligible += r->counted;
    if (!r->predicted()) {
      ++skipped;
      continue;
    }
    ++predicted;
    if (!r->counted) continue;
    absolute.push_back(std::abs(r->error));
    signed_sum += r->error;
  }
  std::sort(absolute.begin(), absolute.end());
  const std::size_t n = absolute.size();
  double sum = 0;
  for (double a : absolute) sum += a;
  const double median = n == 0 ? 0 : (absolute[(n - 1) / 2] + absolute[n / 2]) / 2;
  return {{"file", file},
          {"table_id", id},
          {"kind", "collectives"},
          {"rows", rows.size()},
          {"eligible", eligible},
          {"predicted", predicted},
          {"skipped", skipped},
          {"judged", n},
          {"median_abs_error", figure(median, n > 0)},
          {"mean_abs_error", figure(n > 0 ? sum / double(n) : 0, n > 0)},
          {"mean_signed_error", figure(n > 0 ? signed_sum / double(n) : 0, n > 0)}};
}

void add_collectives(const CollectiveTable& table, Json& out) {
  std::vector<std::string> order;
  std::map<std::string, std::vector<const CollectiveRow*>> tables;
  for (const CollectiveRow& r : table.rows) {
    auto& members = tables[r.table];
    if (members.empty()) order.push_back(r.table);
    members.push_back(&r);
    if (!r.predicted()) {
      out["skipped"].push_back({{"id", r.id}, {"file", table.file}, {"reason", r.skipped_reason}});
      continue;
    }
    out["rows"].push_back({{"id", r.id},
                           {"file", table.file},
                           {"table_id", r.table},
                           {"kind", "collectives"},
                           {"eligible", r.counted},
                           {"judged", r.counted},
                           {"measured_s", figure(r.measured_s, r.measured_s > 0)},
                           {"predicted_s", r.predicted_s},
                           {"low_s", nullptr},
                           {"high_s", nullptr},
                           {"error", figure(r.error, r.measured_s > 0)},
                           {"chosen", r.chosen},
                           {"assumed", object_of(r.assumed)}});
  }
  for (const auto& id : order) out["tables"].push_back(collective_table_json(table.file, id, tables[id]));
}

Json clip_table_json(const std::string& file, const validate::ClipGroup& g) {
  const bool any = g.predicted > 0;
  return {{"file", file},
          {"table_id", g.table},
          {"kind", "clip"},
          {"rows", g.rows},
          {"eligible", g.predicted},
          {"predicted", g.predicted},
          {"skipped", g.skipped},
          {"judged", g.predicted},
          {"median_abs_error", figure(g.median_abs, any)},
          {"mean_abs_error", figure(g.mean_abs, any)},
          {"mean_signed_error", figure(g.mean_signed, any)},
          {"interval_coverage", figure(g.covered, any)}};
}

void add_clip(const ClipTable& table, Json& out) {
  for (const auto& g : table.summary.tables) out["tables"].push_back(clip_table_json(table.file, g));
  for (const validate::ClipRow& r : table.rows) {
    if (!r.predicted()) {
      out["skipped"].push_back({{"id", r.id}, {"file", table.file}, {"reason", r.skipped_reason}});
      continue;
    }
    out["rows"].push_back({{"id", r.id},
                           {"file", table.file},
                           {"table_id", r.table},
                           {"kind", "clip"},
                           {"eligible", true},
                           {"judged", true},
                           {"measured_s", figure(r.measured_s, r.measured_s > 0)},
                           {"predicted_s", r.predicted_s},
                           {"low_s", r.low_s},
                           {"high_s", r.high_s},
                           {"error", figure(r.error, r.measured_s > 0)},
                           {"assumed", object_of(r.assumed)}});
  }
}

void add_other(const OtherTable& other, Json& out) {
  std::vector<std::pair<std::string, int>> tables;
  for (const auto& [id, table] : other.rows) {
    out["skipped"].push_back({{"id", id}, {"file", other.file}, {"reason", kOtherReason}});
    auto at = std::find_if(tables.begin(), tables.end(), [&, name = table](const auto& t) { return t.first == name; });
    if (at == tables.end()) at = tables.insert(tables.end(), {table, 0});
    ++at->second;
  }
  for (const auto& [table, rows] : tables) {
    out["tables"].push_back({{"file", other.file},
                             {"table_id", or_null(table)},
                             {"kind", "other"},
                             {"rows", rows},
                             {"eligible", 0},
                             {"predicted", 0},
                             {"skipped", rows},
                             {"judged", 0},
                             {"median_abs_error", nullptr},
                             {"mean_abs_error", nullptr},
                             {"mean_signed_error", nullptr}});
  }
}

}  // namespace

std::string validation_json(const Validation& v, const Context& context) {
  Json out;
  out["tables"] = Json::array();
  out["rows"] = Json::array();
  out["skipped"] = Json::array();
  if (v.training) add_training(*v.training, out);
  for (const auto& table : v.collectives) add_collectives(table, out);
  for (const auto& table : v.clips) add_clip(table, out);
  for (const auto& table : v.others) add_other(table, out);
  if (v.trivial) {
    out["trivial"] = {{"tables", summaries_json(v.trivial->tables)}, {"overall", summary_json(v.trivial->overall, "training")}};
    out["trivial"]["overall"]["median_of_tables"] = v.trivial->median_of_tables;
  }
  if (!v.ablations.empty()) {
    out["ablation"] = Json::array();
    for (const auto& a : v.ablations) {
      out["ablation"].push_back({{"without", a.effect},
                                 {"median_abs_error", a.overall.median_abs},
                                 {"mean_abs_error", a.overall.mean_abs},
                                 {"median_of_tables", a.median_of_tables}});
    }
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
