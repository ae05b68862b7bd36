#include "report/json_io.hpp"
#include "report/validate_report.hpp"

namespace trunkline::report {

using validate::ErrorSummary;
using validate::Row;
using validate::TableKind;

namespace {

Json figure(double value, bool known) { return known ? Json(value) : Json(nullptr); }

// rows = eligible + beside + left_out; eligible = predicted + skipped.
void add_summary(const ErrorSummary& s, Json& out) {
  const bool any = s.judged > 0;
  out["rows"] = s.rows;
  out["eligible"] = s.eligible;
  out["predicted"] = s.predicted;
  out["skipped"] = s.skipped;
  out["beside"] = s.beside;
  out["left_out"] = s.left_out;
  out["judged"] = s.judged;
  out["median_abs_error"] = figure(s.median_abs, any);
  out["mean_abs_error"] = figure(s.mean_abs, any);
  out["p90_abs_error"] = figure(s.p90_abs, any);
  out["mean_signed_error"] = figure(s.mean_signed, any);
  out["interval_coverage"] = figure(s.covered, any);
}

Json table_json(const ErrorSummary& s, TableKind kind) {
  Json out = {{"file", or_null(s.file)}, {"table_id", s.name}, {"kind", validate::name_of(kind)}};
  add_summary(s, out);
  return out;
}

Json groups_json(const std::vector<ErrorSummary>& list) {
  Json out = Json::array();
  for (const auto& s : list) {
    Json one = {{"name", s.name}};
    add_summary(s, one);
    out.push_back(std::move(one));
  }
  return out;
}

void add_rows(const Validation& v, Json& out) {
  for (const auto& [kind, row] : rows_of(v)) {
    if (!row->predicted()) {
      out["skipped"].push_back({{"id", row->id},
                                {"file", row->file},
                                {"table_id", row->table},
                                {"kind", validate::name_of(kind)},
                                {"eligible", row->eligible},
                                {"reason", row->skipped_reason}});
      continue;
    }
    Json one = {{"id", row->id},
                {"file", row->file},
                {"table_id", row->table},
                {"kind", validate::name_of(kind)},
                {"eligible", row->eligible},
                {"judged", row->judged},
                {"measured_s", row->measured_s},
                {"predicted_s", row->predicted_s},
                {"low_s", row->low_s},
                {"high_s", row->high_s},
                {"error", row->error}};
    if (!row->chosen.empty()) one["chosen"] = row->chosen;
    one["assumed"] = object_of(row->assumed);
    out["rows"].push_back(std::move(one));
  }
}

void add_tables(const Validation& v, Json& out) {
  const auto add = [&](const std::vector<ErrorSummary>& tables, TableKind kind) {
    for (const auto& s : tables) out["tables"].push_back(table_json(s, kind));
  };
  if (v.training) add(v.training->tables, TableKind::training);
  for (const auto& t : v.collectives) add(by_table(validate::pointers(t.rows)), TableKind::collectives);
  for (const auto& t : v.clips) add(t.summary.tables, TableKind::clip);
  for (const auto& t : v.storages) add(by_table(validate::pointers(t.rows)), TableKind::storage);
  for (const auto& t : v.links) add(t.summary.tables, TableKind::point_to_point);
}

void add_files(const Validation& v, Json& out) {
  for (const auto& f : v.files)
    out["files"].push_back({{"file", f.file}, {"kind", validate::name_of(f.kind)}, {"rows", f.rows}, {"columns_not_used", f.unused}});
  for (const auto& k : kinds_of(v)) {
    Json one = {{"kind", validate::name_of(k.kind)}, {"tables", k.tables}};
    add_summary(k.overall, one);
    one["median_of_tables"] = figure(k.median_of_tables, k.overall.judged > 0);
    out["kinds"].push_back(std::move(one));
  }
}

Json with_median(const validate::TrainingValidation& v) {
  Json out = Json::object();
  add_summary(v.overall, out);
  out["median_of_tables"] = v.median_of_tables;
  return out;
}

void add_training(const Validation& v, Json& out) {
  if (v.training) {
    out["frameworks"] = groups_json(v.training->frameworks);
    out["generations"] = groups_json(v.training->generations);
    out["beside"] = groups_json(v.training->beside);
    out["overall"] = with_median(*v.training);
  }
  if (v.trivial) {
    out["trivial"] = {{"tables", groups_json(v.trivial->tables)}, {"overall", with_median(*v.trivial)}};
    for (auto& table : out["trivial"]["tables"]) table.erase("interval_coverage");  // it has no interval
    out["trivial"]["overall"].erase("interval_coverage");
  }
  for (const auto& a : v.ablations) {
    out["ablation"].push_back({{"without", a.effect},
                               {"median_abs_error", a.overall.median_abs},
                               {"mean_abs_error", a.overall.mean_abs},
                               {"median_of_tables", a.median_of_tables}});
  }
}

// From 1 MiB on by system, and what is different where the error is large.
void add_systems(const CollectiveTable& table, Json& out) {
  Json one = {{"file", table.file},
              {"systems_left_out", table.left_out},
              {"median_over_systems", figure(table.summary.median_of_medians, !table.summary.systems.empty())},
              {"below_1mib_rows", table.summary.small_rows},
              {"below_1mib_within_factor_1.6", figure(table.summary.small_within, table.summary.small_rows > 0)},
              {"interval_coverage", figure(table.summary.covered, table.summary.counted > 0)},
              {"systems", Json::array()}};
  for (const auto& s : table.summary.systems) {
    Json evidence = Json::array();
    for (const auto& far : table.far_off) {
      if (far.system == s.system) evidence = far.facts;
    }
    one["systems"].push_back({{"system", s.system},
                              {"rows", s.rows},
                              {"median_abs_error", s.median_abs},
                              {"mean_abs_error", s.mean_abs},
                              {"median_signed_error", s.median_signed},
                              {"interval_coverage", s.covered},
                              {"evidence", std::move(evidence)}});
  }
  out["collectives"].push_back(std::move(one));
}

}  // namespace

std::string validation_json(const Validation& v, const Context& context) {
  Json out;
  for (const char* list : {"files", "kinds", "tables", "rows", "skipped"}) out[list] = Json::array();
  add_files(v, out);
  add_tables(v, out);
  add_rows(v, out);
  add_training(v, out);
  for (const auto& table : v.collectives) add_systems(table, out);
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
