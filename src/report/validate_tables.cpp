#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "base/quantity_text.hpp"
#include "report/validate_report.hpp"
#include "validate/nccl_evidence.hpp"

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
    const bool twice = std::count_if(list.begin(), list.end(), [&](const auto& other) { return other.name == s.name; }) > 1;
    std::vector<Cell> row = {"  " + s.name + (twice ? " (" + s.file + ")" : ""), fmt::format("{}", s.rows), fmt::format("{}", s.judged)};
    if (s.judged > 0) {
      for (double v : {s.median_abs, s.mean_abs, s.p90_abs}) row.emplace_back(percent(v));
      row.emplace_back(fmt::format("{:+.1f}", 100 * s.mean_signed));
      row.emplace_back(fmt::format("{:.0f}", 100 * s.covered));
    } else {
      row.resize(8, Cell("–"));
    }
    if (trivial) {
      const auto other =
          std::find_if(trivial->begin(), trivial->end(), [&](const auto& t) { return t.name == s.name && t.file == s.file; });
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
  if (trivial) document.paragraph("trivial: the median with model FLOPs over one fitted rate a GPU type", Tone::dim);
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

// What the columns of figures mean, said once.
constexpr const char* kFigures =
    "median, mean, 90th: of |predicted - measured| / measured in %; bias: mean of the signed error; covered: % of the measured times "
    "inside "
    "the 80 % interval";

void add_far_off(const CollectiveTable& c, Document& document) {
  for (const auto& far : c.far_off) {
    if (far.facts.empty()) continue;
    Table list;
    list.title = fmt::format("what is different on {}, whose median error is above {:.0f} %", far.system, 100 * validate::kLargeMiss);
    list.columns = {{""}, {"", Align::left, true}};
    list.bullets = true;
    for (const auto& fact : far.facts) list.add({"-", fact});
    document.blocks.emplace_back(std::move(list));
  }
}

void add_collectives(const CollectiveTable& c, Document& document) {
  document.heading(
      fmt::format("collectives from 1 MiB on ({}), {}", c.file,
                  c.left_out ? "each system judged by constants fitted without its rows" : "judged by the built-in constants"));
  Table table;
  table.columns = {{"system"}, right("rows"), right("median"), right("mean"), right("bias"), right("covered")};
  for (const auto& s : c.summary.systems) {
    table.add({s.system, fmt::format("{}", s.rows), percent(s.median_abs), percent(s.mean_abs),
               fmt::format("{:+.1f}", 100 * s.median_signed), fmt::format("{:.0f}", 100 * s.covered)});
  }
  if (c.summary.systems.empty()) table.add({{"no row is judged", Tone::dim}});
  document.blocks.emplace_back(std::move(table));
  std::string words =
      c.summary.systems.empty() ? std::string() : fmt::format("median over systems: {} %; ", percent(c.summary.median_of_medians));
  words += fmt::format("of {} rows {} are predicted and {} judged", c.summary.rows, c.summary.predicted, c.summary.counted);
  if (c.summary.counted > 0) words += fmt::format(", {:.0f} % of them inside the 80 % interval", 100 * c.summary.covered);
  if (c.summary.small_rows > 0)
    words += fmt::format("; below 1 MiB {} % of {} rows lie within a factor of 1.6", percent(c.summary.small_within), c.summary.small_rows);
  document.paragraph(words);
  add_far_off(c, document);
}

// A kind whose groups are few: one line each, then all together.
void add_simple(std::string title, const char* group, std::vector<ErrorSummary> groups, ErrorSummary overall, Document& document) {
  document.heading(std::move(title));
  Table table;
  table.columns = {{group},       right("rows"), right("eligible"), right("predicted"), right("median"),
                   right("mean"), right("90th"), right("bias"),     right("covered")};
  overall.name = "together";
  if (groups.size() != 1) groups.push_back(std::move(overall));
  for (const auto& g : groups) {
    std::vector<Cell> row = {g.name, fmt::format("{}", g.rows), fmt::format("{}", g.eligible), fmt::format("{}", g.predicted)};
    if (g.judged > 0) {
      for (double v : {g.median_abs, g.mean_abs, g.p90_abs}) row.emplace_back(percent(v));
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
  for (const auto& [kind, r] : rows_of(v)) {
    if (!r->predicted()) continue;
    table.add({r->id, r->table, validate::name_of(kind), number(r->measured_s), number(r->predicted_s), number(r->low_s), number(r->high_s),
               number(r->error)});
  }
  return table;
}

struct Reason {
  validate::TableKind kind;
  std::string why;  // the first of those that differ in figures only
  int rows = 0, eligible = 0;
  std::set<std::string> alike;
};

std::string without_digits(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c < '0' || c > '9')
      out += c;
    else if (out.empty() || out.back() != '#')
      out += '#';
  }
  return out;
}

// Those of eligible rows before all others, most frequent first.
std::vector<Reason> reasons_of(const Validation& v) {
  std::map<std::pair<validate::TableKind, std::string>, Reason> reasons;
  for (const auto& [kind, r] : rows_of(v)) {
    if (r->predicted()) continue;
    const auto key = std::pair(kind, without_digits(r->skipped_reason));
    Reason& reason = reasons.try_emplace(key, Reason{kind, r->skipped_reason, 0, 0, {}}).first->second;
    ++reason.rows;
    reason.eligible += r->eligible;
    reason.alike.insert(r->skipped_reason);
  }
  std::vector<Reason> sorted;
  for (auto& [key, reason] : reasons) sorted.push_back(std::move(reason));
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Reason& a, const Reason& b) { return std::tie(b.eligible, b.rows) < std::tie(a.eligible, a.rows); });
  return sorted;
}

// A table of thousands of bad cells must not bury its answer: cut, unless `all`.
Table skipped_table(const Validation& v, bool all) {
  constexpr std::size_t kShown = 30;
  const auto reasons = reasons_of(v);
  Table table;
  table.title = "rows that could not be predicted";
  table.columns = {right("rows"), right("eligible"), {"kind"}, {"why", Align::left, true}};
  int rest = 0, rest_eligible = 0;
  for (std::size_t i = 0; i < reasons.size(); ++i) {
    const Reason& r = reasons[i];
    if (all || i < kShown) {
      const std::string alike = r.alike.size() > 1 ? fmt::format(" (and {} like it, with other figures)", r.alike.size() - 1) : "";
      table.add({fmt::format("{}", r.rows), fmt::format("{}", r.eligible), validate::name_of(r.kind), r.why + alike});
    } else {
      rest += r.rows;
      rest_eligible += r.eligible;
    }
  }
  if (rest > 0) {
    table.add({{fmt::format("{}", rest), Tone::dim},
               {fmt::format("{}", rest_eligible), Tone::dim},
               "",
               {fmt::format("{} more reasons: see --rows, or every row in --json", reasons.size() - kShown), Tone::dim}});
  }
  return table;
}

void add_counts(const Validation& v, Document& document) {
  Table table;
  table.title = "rows by kind of table";
  table.columns = {{"kind"},         right("tables"), right("rows"),     right("eligible"), right("predicted"),
                   right("skipped"), right("beside"), right("left out"), right("judged")};
  for (const auto& k : kinds_of(v)) {
    std::vector<Cell> row = {validate::name_of(k.kind), fmt::format("{}", k.tables)};
    for (const int count : {k.overall.rows, k.overall.eligible, k.overall.predicted, k.overall.skipped, k.overall.beside,
                            k.overall.left_out, k.overall.judged})
      row.emplace_back(fmt::format("{}", count));
    table.add(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
  document.paragraph(
      "rows = eligible + beside + left out; eligible = predicted + skipped. Eligible: states what a prediction needs, and the table names "
      "no "
      "reason against it; beside: not eligible, predicted nevertheless; left out: not eligible, not predicted; judged: predicted and "
      "counted (of a long training table every k-th row)",
      Tone::dim);
}

}  // namespace

Document validation_document(const Validation& v, const Context& context) {
  Document document;
  if (v.training) add_training(v, document);
  if (!v.ablations.empty()) add_ablations(v, document);
  for (const auto& c : v.collectives) add_collectives(c, document);
  for (const auto& c : v.clips) {
    add_simple(fmt::format("CLIP training throughput ({}), each table judged by a constant fitted without its rows", c.file), "table",
               c.summary.tables, c.summary.overall, document);
  }
  for (const auto& s : v.storages) {
    add_simple(fmt::format("ingest and storage ({}), each row predicted from the table's others", s.file), "kind", s.summary.kinds,
               s.summary.overall, document);
  }
  for (const auto& p : v.links) {
    add_simple(fmt::format("point to point ({}), transfers of 4 MiB and more against the catalogue's links", p.file), "table",
               p.summary.tables, p.summary.overall, document);
  }
  if (v.rows) document.blocks.emplace_back(row_table(v, false));
  Table skipped = skipped_table(v, v.rows);
  if (!skipped.rows.empty()) document.blocks.emplace_back(std::move(skipped));
  add_counts(v, document);
  document.paragraph(kFigures, Tone::dim);
  document.data = row_table(v, true);
  document.json = validation_json(v, context);
  return document;
}

}  // namespace trunkline::report
