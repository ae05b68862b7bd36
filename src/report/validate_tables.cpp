#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "report/validate_report.hpp"

namespace trunkline::report {

using validate::ErrorSummary;

namespace {

Column right(const char* heading) { return {heading, Align::right}; }

std::string percent(double fraction) { return significant(100 * fraction); }

// One group of lines below its name.
void add_group(const std::string& name, const std::vector<ErrorSummary>& list, const std::vector<ErrorSummary>* trivial, Table& table) {
  if (!table.rows.empty()) table.gap();
  table.add({{name, Tone::strong}});
  int silent = 0, silent_rows = 0;
  for (const auto& s : list) {
    if (s.judged == 0 && list.size() > 1) {
      ++silent;
      silent_rows += s.rows;
      continue;
    }
    std::vector<Cell> row = {"  " + s.name, fmt::format("{}", s.rows), fmt::format("{}", s.judged)};
    if (s.judged > 0) {
      for (double v : {s.median_abs, s.mean_abs, s.p90_abs}) row.emplace_back(percent(v));
      row.emplace_back(fmt::format("{:+.1f}", 100 * s.mean_signed));
      row.emplace_back(fmt::format("{:.0f}", 100 * s.covered));
    } else {
      row.resize(8, Cell("–"));
    }
    if (trivial) {
      const auto other = std::find_if(trivial->begin(), trivial->end(), [&](const auto& t) { return t.name == s.name; });
      row.emplace_back(other != trivial->end() && other->judged > 0 ? percent(other->median_abs) : "–");
    }
    table.add(std::move(row));
  }
  if (silent > 0) table.add({{fmt::format("  {} more, not judged", silent), Tone::dim}, {fmt::format("{}", silent_rows), Tone::dim}});
}

void add_training(const Validation& v, Document& document) {
  const auto& t = *v.training;
  const auto* trivial = v.trivial ? &*v.trivial : nullptr;
  document.heading("training steps: error of the predicted time in %, each table judged by constants fitted without its rows");
  Table table;
  table.columns = {{""}, right("rows"), right("judged"), right("median"), right("mean"), right("90th"), right("bias"), right("covered")};
  if (trivial) table.columns.push_back(right("trivial"));
  add_group("by table", t.tables, trivial ? &trivial->tables : nullptr, table);
  add_group("by framework", t.frameworks, trivial ? &trivial->frameworks : nullptr, table);
  add_group("by GPU generation", t.generations, trivial ? &trivial->generations : nullptr, table);
  const std::vector<ErrorSummary> all = {t.overall};
  std::vector<ErrorSummary> trivial_all;
  if (trivial) trivial_all = {trivial->overall};
  add_group("together", all, trivial ? &trivial_all : nullptr, table);
  if (!t.beside.empty()) add_group("predicted beside, not judged", t.beside, nullptr, table);
  document.blocks.emplace_back(std::move(table));
  document.paragraph(
      "median, mean, 90th: of |predicted - measured| / measured; bias: mean of the signed error; covered: measured times inside the 80 % "
      "interval" +
          std::string(trivial ? "; trivial: the median with model FLOPs over one fitted rate a GPU type" : ""),
      Tone::dim);
  std::string words = fmt::format("median over tables of their median error: {} %", percent(t.median_of_tables));
  if (trivial) words += fmt::format("; of the trivial predictor: {} %", percent(trivial->median_of_tables));
  document.paragraph(words);
}

void add_ablations(const Validation& v, Document& document) {
  Table table;
  table.title = "training steps with one effect of the model switched off, constants fitted anew";
  table.columns = {{"without"}, right("median |error| %"), right("mean |error| %"), right("median over tables %")};
  for (const auto& a : v.ablations)
    table.add({a.effect, percent(a.overall.median_abs), percent(a.overall.mean_abs), percent(a.median_of_tables)});
  document.blocks.emplace_back(std::move(table));
}

void add_collectives(const CollectiveTable& c, Document& document) {
  Table table;
  table.title = fmt::format("collectives from 1 MiB on, by system ({})", c.file);
  table.columns = {{"system"}, right("rows"), right("median |error| %"), right("mean |error| %"), right("median error %")};
  for (const auto& s : c.summary.systems) {
    table.add(
        {s.system, fmt::format("{}", s.rows), percent(s.median_abs), percent(s.mean_abs), fmt::format("{:+.1f}", 100 * s.median_signed)});
  }
  document.blocks.emplace_back(std::move(table));
  document.paragraph(fmt::format(
      "median over systems: {} %; of {} rows {} are predicted and {} judged; below 1 MiB {} % of {} rows lie within a factor of 1.6",
      percent(c.summary.median_of_medians), c.summary.rows, c.summary.predicted, c.summary.counted, percent(c.summary.small_within),
      c.summary.small_rows));
}

void add_clip(const ClipTable& c, Document& document) {
  Table table;
  table.title = fmt::format("CLIP training throughput ({}), each table judged by a constant fitted without its rows", c.file);
  table.columns = {
      {"table"},         right("rows"), right("predicted"), right("median |error| %"), right("mean |error| %"), right("mean error %"),
      right("covered %")};
  auto groups = c.summary.tables;
  groups.push_back(c.summary.overall);
  groups.back().table = "together";
  for (const auto& g : groups) {
    std::vector<Cell> row = {g.table, fmt::format("{}", g.rows), fmt::format("{}", g.predicted)};
    if (g.predicted > 0) {
      for (double v : {g.median_abs, g.mean_abs}) row.emplace_back(percent(v));
      row.emplace_back(fmt::format("{:+.1f}", 100 * g.mean_signed));
      row.emplace_back(fmt::format("{:.0f}", 100 * g.covered));
    } else {
      row.resize(table.columns.size(), Cell("–"));
    }
    table.add(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
}

// Every predicted row; the same for people and for CSV.
Table row_table(const Validation& v, bool exact) {
  Table table;
  table.title = exact ? "" : "rows";
  table.columns = {{"id"},         {"table_id"},    {"kind"},      right("measured_s"), right("predicted_s"),
                   right("low_s"), right("high_s"), right("error")};
  const auto number = [&](double x) { return exact ? fmt::format("{}", x) : significant(x); };
  if (v.training) {
    for (const auto& r : v.training->results) {
      if (!r.row.skip.empty()) continue;
      const bool measured = r.row.measured_s > 0;
      table.add({r.row.id, r.row.table, "training", measured ? number(r.row.measured_s) : "", number(r.predicted_s), number(r.low_s),
                 number(r.high_s), measured ? number(r.error) : ""});
    }
  }
  for (const auto& c : v.collectives) {
    for (const auto& r : c.rows) {
      if (r.predicted()) table.add({r.id, r.table, "collectives", number(r.measured_s), number(r.predicted_s), "", "", number(r.error)});
    }
  }
  for (const auto& c : v.clips) {
    for (const auto& r : c.rows) {
      if (r.predicted())
        table.add({r.id, r.table, "clip", number(r.measured_s), number(r.predicted_s), number(r.low_s), number(r.high_s), number(r.error)});
    }
  }
  return table;
}

Table skipped_table(const Validation& v) {
  std::map<std::string, int> reasons;
  if (v.training) {
    for (const auto& r : v.training->results) reasons[r.row.skip] += !r.row.skip.empty();
  }
  for (const auto& c : v.collectives) {
    for (const auto& r : c.rows) reasons[r.skipped_reason] += !r.predicted();
  }
  for (const auto& c : v.clips) {
    for (const auto& r : c.rows) reasons[r.skipped_reason] += !r.predicted();
  }
  for (const auto& other : v.others) reasons[std::string(kOtherReason) + ": " + other.file] += int(other.rows.size());
  reasons.erase("");
  Table table;
  table.title = "rows that could not be predicted";
  table.columns = {right("rows"), {"why", Align::left, true}};
  for (const auto& [reason, count] : reasons) table.add({fmt::format("{}", count), reason});
  return table;
}

}  // namespace

Document validation_document(const Validation& v, const Context& context) {
  Document document;
  if (v.training) add_training(v, document);
  if (!v.ablations.empty()) add_ablations(v, document);
  for (const auto& c : v.collectives) add_collectives(c, document);
  for (const auto& c : v.clips) add_clip(c, document);
  if (v.rows) document.blocks.emplace_back(row_table(v, false));
  Table skipped = skipped_table(v);
  if (!skipped.rows.empty()) document.blocks.emplace_back(std::move(skipped));
  document.data = row_table(v, true);
  document.json = validation_json(v, context);
  return document;
}

}  // namespace trunkline::report
