#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "report/assumed.hpp"
#include "report/compare_report.hpp"
#include "report/measure_report.hpp"

namespace trunkline::report {
namespace {

using compare::Kept;
using compare::Verdict;

constexpr const char kNone[] = "–";
constexpr std::size_t kManyRows = 30;  // from so many on, what is the same goes into one line

// Results are called A, B, C … in tables: file names are too long for headings.
std::string letter(std::size_t i) { return i < 26 ? std::string(1, char('A' + i)) : fmt::format("R{}", i + 1); }

ReadableUnit unit_of(const std::string& unit, std::optional<double> typical) {
  measure::Metric m{"", unit, measure::Better::higher, {}};
  m.limit = typical;
  return readable_unit(m);
}

std::string scaled(std::optional<double> value, const ReadableUnit& unit) { return value ? significant(*value * unit.scale) : kNone; }

Cell cell_of(Verdict v) {
  switch (v) {
    case Verdict::better: return {"better", Tone::good};
    case Verdict::worse: return {"worse", Tone::bad};
    case Verdict::same: return {"same"};
    case Verdict::undecided: return {"undecided", Tone::strong};
  }
  return {};
}

std::string p_text(std::optional<double> p) {
  if (!p) return kNone;
  return *p < 0.001 ? "<0.001" : fmt::format("{:.3f}", *p);
}

Table differences_of(const compare::Comparison& c) {
  Table table;
  table.title = "what differs in conditions";
  table.columns = {{"field"}};
  for (std::size_t i = 0; i < c.names.size(); ++i) table.columns.push_back({letter(i), Align::left, true});
  table.columns.insert(table.columns.end(), {{"decides"}, {"where", Align::left, true}, {"what to make of it", Align::left, true}});
  for (const auto& d : c.differences) {
    std::vector<Cell> row = {d.field};
    for (const auto& v : d.values) row.emplace_back(v.empty() ? "not recorded" : v);
    row.push_back(d.decisive ? Cell("yes", Tone::bad) : Cell("no"));
    row.emplace_back(d.where.empty() ? "all" : join(d.where, ", "));
    row.emplace_back(d.reason);
    table.add(std::move(row));
  }
  return table;
}

std::string repetitions_text(const compare::Row& row) {
  if (row.repetitions) return fmt::format("{} repetitions a side would decide", *row.repetitions);
  return row.verdict == Verdict::undecided && row.evidence.low ? "no number of repetitions in sight: about at the limit" : "";
}

std::string note_of(const compare::Row& row) {
  if (row.reason.empty()) return "";
  const std::string more = repetitions_text(row);
  return row.reason + (more.empty() ? "" : "; " + more);
}

Table rows_of(const compare::Comparison& c, bool every_row) {
  Table table;
  const bool several = c.names.size() > 2;
  table.columns = {{"metric"}};
  if (several) table.columns.push_back({"of"});
  table.columns.insert(table.columns.end(), {{"A", Align::right},
                                             {several ? "it" : "B", Align::right},
                                             {"unit"},
                                             {"ratio", Align::right},
                                             {"95 %", Align::right},
                                             {"p", Align::right},
                                             {"n", Align::right},
                                             {"verdict"},
                                             {"note", Align::left, true}});
  table.keys = several ? 2 : 1;
  for (const auto& row : c.rows) {
    if (!every_row && row.verdict == Verdict::same) continue;
    const auto& e = row.evidence;
    const ReadableUnit unit = unit_of(row.unit, row.values.front());
    std::vector<Cell> cells = {row.name()};
    if (several) cells.emplace_back(letter(row.result));
    cells.insert(cells.end(), {scaled(row.values.front(), unit), scaled(row.values[row.result], unit), unit.unit,
                               Cell(e.ratio ? fmt::format("{:.3f}", *e.ratio) : kNone, Tone::strong),
                               e.low && e.high ? fmt::format("{:.3f}–{:.3f}", *e.low, *e.high) : std::string(kNone), p_text(row.p_value),
                               fmt::format("{}, {}", e.reference_n, e.n), row.verdict ? cell_of(*row.verdict) : Cell("refused", Tone::bad),
                               note_of(row)});
    table.add(std::move(cells));
  }
  return table;
}

Table unmatched_of(const compare::Comparison& c) {
  Table table;
  table.title = "not everywhere measured";
  table.columns = {{"probe"}};
  for (std::size_t i = 0; i < c.names.size(); ++i) table.columns.push_back({letter(i), Align::left, true});
  for (const auto& u : c.unmatched) {
    std::vector<Cell> row = {Cell(u.probe, u.regression ? Tone::bad : Tone::plain)};
    for (const auto& s : u.states) row.emplace_back(s);
    table.add(std::move(row));
  }
  return table;
}

std::string summary_of(const compare::Comparison& c) {
  std::size_t refused = 0, counts[4] = {};
  for (const auto& row : c.rows) row.verdict ? ++counts[std::size_t(*row.verdict)] : ++refused;
  std::string out =
      fmt::format("{} compared: {} better, {} worse, {} the same, {} undecided", c.rows.size(), counts[0], counts[1], counts[2], counts[3]);
  return refused > 0 ? out + fmt::format(", {} refused", refused) : out;
}

void add_comparison(const Comparing& comparing, Document& document) {
  const compare::Comparison& c = *comparing.comparison;
  if (c.comparable)
    document.paragraph("comparable: yes", Tone::strong);
  else
    document.blocks.emplace_back(Paragraph{"comparable: no: " + c.reason, Tone::bad, 2});
  if (!c.differences.empty()) document.blocks.emplace_back(differences_of(c));
  const bool every_row = comparing.every_row || c.rows.size() < kManyRows;
  if (Table rows = rows_of(c, every_row); !rows.rows.empty()) document.blocks.emplace_back(std::move(rows));
  if (c.rows.empty()) document.paragraph("They have no metric in common.", Tone::bad);
  if (!c.unmatched.empty()) document.blocks.emplace_back(unmatched_of(c));
  if (c.rows.empty()) return;
  document.paragraph(summary_of(c) + (every_row ? "" : " (--all shows those that are the same)"), Tone::strong);
  document.paragraph(
      fmt::format(
          "ratio: median against A's, with its 95 % interval (bootstrap). same: the interval lies inside ± {:.0f} %. better, worse: p < {} "
          "(Mann–Whitney, corrected for all metrics together by Holm), the interval excludes 1, and the ratio is off by more than {:.0f} "
          "%.",
          100 * c.rules.margin, significant(c.rules.error, 1), 100 * c.rules.margin),
      Tone::dim);
}

Cell cell_of(Kept kept) { return {name_of(kept), kept == Kept::pass ? Tone::good : kept == Kept::shortfall ? Tone::bad : Tone::strong}; }

Table promise_of(const compare::PromiseCheck& check) {
  Table table;
  table.title = fmt::format("{} against what \"{}\" promises", check.result, check.platform);
  table.columns = {{"metric"},
                   {"measured", Align::right},
                   {"promised", Align::right},
                   {"unit"},
                   {"share %", Align::right},
                   {"n", Align::right},
                   {"verdict"},
                   {"promise rests on", Align::left, true}};
  for (const auto& row : check.rows) {
    const ReadableUnit unit = unit_of(row.unit, row.promised);
    const bool any = row.promised > 0;
    table.add({row.metric.empty() ? row.probe : row.name(), scaled(row.measured, unit), any ? scaled(row.promised, unit) : kNone,
               any ? unit.unit : "", Cell(row.share ? fmt::format("{:.0f}", 100 * *row.share) : kNone, Tone::strong),
               fmt::format("{}", row.n), cell_of(row.kept),
               row.reason.empty()   ? row.source
               : row.source.empty() ? row.reason
                                    : row.reason + "; " + row.source});
  }
  return table;
}

// Reasons with the metrics that they hold for.
std::string unpromised_text(const compare::PromiseCheck& check) {
  std::vector<std::pair<std::string, std::vector<std::string>>> reasons;
  for (const auto& u : check.unpromised) {
    auto same = std::find_if(reasons.begin(), reasons.end(), [&](const auto& r) { return r.first == u.reason; });
    if (same == reasons.end()) same = reasons.insert(same, {u.reason, {}});
    same->second.push_back(u.name);
  }
  std::vector<std::string> out;
  for (auto& [reason, names] : reasons) {
    const std::size_t count = names.size();
    constexpr std::size_t kShown = 3;
    if (count > kShown) names.resize(kShown);
    out.push_back(join(names, ", ") + (count > kShown ? fmt::format(" and {} more", count - kShown) : "") + " (" + reason + ")");
  }
  return join(out, "; ");
}

void add_promise(const compare::PromiseCheck& check, Document& document) {
  if (!check.rows.empty()) document.blocks.emplace_back(promise_of(check));
  const auto count = [&](Kept kept) {
    return std::count_if(check.rows.begin(), check.rows.end(), [&](const auto& r) { return r.kept == kept; });
  };
  document.paragraph(fmt::format("{}: {} pass, {} fall short, {} undecided (a promise is kept from {:.0f} % of it on)", check.result,
                                 count(Kept::pass), count(Kept::shortfall), count(Kept::undecided), 100 * check.at_least),
                     check.shortfall() ? Tone::bad : Tone::strong);
  if (!check.unpromised.empty()) document.blocks.emplace_back(Paragraph{"not promised: " + unpromised_text(check), Tone::dim, 2});
}

std::string figure_text(const std::optional<compare::Figure>& f, const ReadableUnit& unit) {
  if (!f) return kNone;
  return significant(f->value * unit.scale) + (f->measured ? "" : " *");
}

Table ranking_of(const std::vector<compare::Rank>& ranking) {
  Table table;
  table.title = "platforms";
  table.columns = {{"rank", Align::right},       {"platform"},
                   {"GPUs", Align::right},       {"bandwidth GB/s", Align::right},
                   {"latency us", Align::right}, {"step s", Align::right},
                   {"80 %", Align::right},       {"efficiency %", Align::right},
                   {"speed-up", Align::right},   {"from GPUs", Align::right},
                   {"steps/h", Align::right},    {"per 1000 steps", Align::right}};
  table.keys = 2;
  for (const auto& r : ranking) {
    const std::string cost = r.per_1000_steps ? significant(r.per_1000_steps->amount) + " " + r.per_1000_steps->currency : kNone;
    table.add({Cell(fmt::format("{}", r.rank), Tone::strong), r.platform, fmt::format("{}", r.gpus),
               figure_text(r.bandwidth, {"GB/s", 1e-9}), figure_text(r.latency, {"us", 1e6}),
               Cell(r.fits ? significant(r.step_s) : "(" + significant(r.step_s) + ")", Tone::strong),
               significant(r.low_s) + "–" + significant(r.high_s), fmt::format("{:.0f}", 100 * r.efficiency), significant(r.speedup),
               fmt::format("{}", r.baseline_gpus), significant(r.steps_per_hour), cost});
  }
  return table;
}

Table causes_of(const compare::Gap& gap) {
  Table table;
  table.title =
      fmt::format("why a{} {} takes {} on \"{}\" and {} on \"{}\"", gap.quantity == compare::Quantity::epoch ? "n" : "",
                  name_of(gap.quantity), to_text(seconds(gap.reference_s)), gap.reference, to_text(seconds(gap.other_s)), gap.other);
  table.columns = {{"trunk"}, {"adds", Align::right}, {"share %", Align::right}, {"what differs", Align::left, true}};
  const auto text = [](double s) { return (s < 0 ? "-" : "") + to_text(seconds(std::abs(s))); };
  for (const auto& c : gap.causes)
    table.add({c.trunk, text(c.seconds), Cell(c.share ? fmt::format("{:.1f}", 100 * *c.share) : kNone, Tone::strong), c.fact});
  table.add(
      {Cell("the gap", Tone::strong), Cell(text(gap.other_s - gap.reference_s), Tone::strong), gap.causes.empty() ? kNone : "100", ""});
  return table;
}

void add_platforms(const Comparing& comparing, Document& document) {
  document.blocks.emplace_back(ranking_of(comparing.ranking));
  const auto unmeasured = [](const std::optional<compare::Figure>& f) { return f && !f->measured; };
  const auto& ranks = comparing.ranking;
  std::string notes = "step: predicted with what was measured there";
  if (std::any_of(ranks.begin(), ranks.end(), [&](const auto& r) { return unmeasured(r.bandwidth) || unmeasured(r.latency); }))
    notes += "; * not measured: from the model";
  if (std::any_of(ranks.begin(), ranks.end(), [](const auto& r) { return !r.fits; })) notes += "; in brackets: if it fitted into memory";
  document.paragraph(notes + ".", Tone::dim);
  for (const auto& gap : comparing.gaps) document.blocks.emplace_back(causes_of(gap));
  if (!comparing.gaps.empty())
    document.paragraph(
        "A trunk's part is its mean effect over all orders in which the trunks could be exchanged one by one (Shapley value); the parts "
        "add up to the gap.",
        Tone::dim);
}

// One row a metric and result, SI units.
Table data_of(const Comparing& comparing) {
  Table table;
  const auto columns = [&](std::initializer_list<const char*> names) {
    for (const char* name : names) table.columns.push_back({name});
  };
  const auto number = [](std::optional<double> v) { return v ? fmt::format("{}", *v) : std::string(); };
  if (comparing.comparison) {
    columns({"metric", "unit", "reference", "result", "reference_median", "median", "ratio", "low", "high", "p_value", "verdict", "reason",
             "repetitions"});
    for (const auto& row : comparing.comparison->rows) {
      const auto& e = row.evidence;
      table.add({row.name(), row.unit, comparing.comparison->names.front(), comparing.comparison->names[row.result],
                 number(row.values.front()), number(row.values[row.result]), number(e.ratio), number(e.low), number(e.high),
                 number(row.p_value), row.verdict ? name_of(*row.verdict) : "", row.reason,
                 row.repetitions ? fmt::format("{}", *row.repetitions) : ""});
    }
  } else {
    columns({"result", "metric", "unit", "measured", "promised", "share", "verdict"});
    for (const auto& check : comparing.promises) {
      for (const auto& row : check.rows)
        table.add({check.result, row.name(), row.unit, number(row.measured), number(row.promised), number(row.share), name_of(row.kept)});
    }
  }
  return table;
}

}  // namespace

Document compare_document(const Comparing& comparing, const Context& context) {
  Document document;
  std::vector<std::string> named;
  for (std::size_t i = 0; i < comparing.results.size(); ++i) {
    const auto& c = comparing.results[i].context;
    std::string what = letter(i) + " = " + comparing.results[i].file;
    if (!c.machine.empty()) what += ", " + c.machine;
    if (!c.backend.empty() && c.backend != "machine") what += ", " + c.backend;
    named.push_back(std::move(what));
  }
  if (!named.empty()) document.heading(join(named, "\n"));
  if (comparing.comparison) add_comparison(comparing, document);
  for (const auto& check : comparing.promises) add_promise(check, document);
  if (!comparing.ranking.empty()) add_platforms(comparing, document);
  for (const auto& r : comparing.results) {
    for (const auto& p : r.probes) {
      for (const auto& w : p.warnings)
        document.blocks.emplace_back(Paragraph{fmt::format("warning: {}: {}: {}", r.file, p.name, w), Tone::dim, 4});
    }
  }
  document.data = data_of(comparing);
  document.json = compare_json(comparing, context);
  return document;
}

}  // namespace trunkline::report
