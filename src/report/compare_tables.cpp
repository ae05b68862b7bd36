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

// A time that says the same as the bus bandwidth of its size.
bool repeats(const compare::Comparison& c, const compare::Row& row) {
  const auto at = row.metric.find('@');
  if (at == std::string::npos || !row.metric.starts_with("time")) return false;
  const std::string busbw = "busbw" + row.metric.substr(4);
  return std::any_of(c.rows.begin(), c.rows.end(), [&](const compare::Row& other) {
    return other.probe == row.probe && other.metric == busbw && other.result == row.result && other.verdict == row.verdict;
  });
}

bool is_shown(const compare::Comparison& c, const compare::Row& row, bool every_row) {
  return (every_row || row.verdict != Verdict::same) && !repeats(c, row);
}

std::string ratio_text(const compare::Evidence& e) {
  if (!e.ratio) return kNone;
  const std::string ratio = fmt::format("{:.3f}", *e.ratio);
  return e.low && e.high ? ratio + fmt::format(" ({:.3f}–{:.3f})", *e.low, *e.high) : ratio;
}

std::string n_text(const compare::Evidence& e) {
  return e.reference_n == e.n ? fmt::format("{}", e.n) : fmt::format("{}, {}", e.reference_n, e.n);
}

Table rows_of(const compare::Comparison& c, bool every_row) {
  Table table;
  const bool several = c.names.size() > 2;
  table.columns = {{"metric"}};
  if (several) table.columns.push_back({""});
  table.columns.insert(table.columns.end(), {{"A", Align::right},
                                             {several ? "other" : "B", Align::right},
                                             {"unit"},
                                             {"ratio (95 %)", Align::left},
                                             {"p", Align::right},
                                             {"n", Align::right},
                                             {"verdict"}});
  table.keys = several ? 2 : 1;
  for (const auto& row : c.rows) {
    if (!is_shown(c, row, every_row)) continue;
    const ReadableUnit unit = unit_of(row.unit, row.values.front());
    std::vector<Cell> cells = {row.name()};
    if (several) cells.emplace_back(letter(row.result));
    cells.insert(cells.end(), {scaled(row.values.front(), unit), scaled(row.values[row.result], unit), unit.unit,
                               Cell(ratio_text(row.evidence), Tone::strong), p_text(row.p_value), n_text(row.evidence),
                               row.verdict ? cell_of(*row.verdict) : Cell("refused", Tone::bad)});
    table.add(std::move(cells));
  }
  return table;
}

// Why there is no verdict, and what would give one.
std::string note_of(const compare::Row& row) {
  if (row.repetitions && row.evidence.low) return row.reason + fmt::format(": {} repetitions a side would decide", *row.repetitions);
  if (row.repetitions) return row.reason + fmt::format(": {} a side are the least", *row.repetitions);
  const bool at_limit = row.verdict == Verdict::undecided && row.evidence.low;
  return row.reason + (at_limit ? ": about at the limit, no number of repetitions in sight" : "");
}

// Names by what they share; few of them are shown where they are many.
class Grouped {
 public:
  void add(const std::string& what, const std::string& name) {
    auto same = std::find_if(groups_.begin(), groups_.end(), [&](const auto& g) { return g.first == what; });
    if (same == groups_.end()) same = groups_.insert(same, {what, {}});
    same->second.push_back(name);
  }
  Table table(const char* names, const char* what) const {
    constexpr std::size_t kShown = 4;
    Table out;
    out.columns = {{names, Align::left, true}, {what, Align::left, true}};
    for (const auto& [text, all] : groups_) {
      std::vector<std::string> shown(all.begin(), all.begin() + std::ptrdiff_t(std::min(all.size(), kShown)));
      out.add({join(shown, ", ") + (all.size() > kShown ? fmt::format(" and {} more", all.size() - kShown) : ""), text});
    }
    return out;
  }
  bool empty() const { return groups_.empty(); }

 private:
  std::vector<std::pair<std::string, std::vector<std::string>>> groups_;
};

Grouped notes_of(const compare::Comparison& c) {
  Grouped notes;
  const bool several = c.names.size() > 2;
  for (const auto& row : c.rows) {
    if (!row.reason.empty() && !repeats(c, row)) notes.add(note_of(row), several ? row.name() + " of " + letter(row.result) : row.name());
  }
  return notes;
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
  if (const Grouped notes = notes_of(c); !notes.empty()) document.blocks.emplace_back(notes.table("no verdict", "why"));
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

// A time that says the same as the bus bandwidth of its size.
bool repeats(const compare::PromiseCheck& check, const compare::PromiseRow& row) {
  const auto at = row.metric.find('@');
  if (at == std::string::npos || !row.metric.starts_with("time")) return false;
  const std::string busbw = "busbw" + row.metric.substr(4);
  return std::any_of(check.rows.begin(), check.rows.end(),
                     [&](const auto& other) { return other.probe == row.probe && other.metric == busbw && other.kept == row.kept; });
}

Table promise_of(const compare::PromiseCheck& check, bool every_row) {
  Table table;
  table.columns = {{"metric"}, {"measured", Align::right}, {"promised", Align::right},
                   {"unit"},   {"share %", Align::right},  {"n", Align::right},
                   {"verdict"}};
  for (const auto& row : check.rows) {
    if (repeats(check, row) || (!every_row && row.kept == Kept::pass)) continue;
    const ReadableUnit unit = unit_of(row.unit, row.promised);
    const bool any = row.promised > 0;
    const std::string share = row.share ? fmt::format("{:.0f}", 100 * *row.share) : kNone;
    const std::string range =
        row.kept == Kept::undecided && row.low ? fmt::format(" ({:.0f}–{:.0f})", 100 * *row.low, 100 * *row.high) : "";
    table.add({row.metric.empty() ? row.probe : row.name(), scaled(row.measured, unit), any ? scaled(row.promised, unit) : kNone,
               any ? unit.unit : "", Cell(share + range, Tone::strong), fmt::format("{}", row.n), cell_of(row.kept)});
  }
  return table;
}

void add_promise(const compare::PromiseCheck& check, bool all, Document& document) {
  document.heading(fmt::format("{} against what \"{}\" promises", check.result, check.platform));
  const bool every_row = all || check.rows.size() < kManyRows;
  if (Table table = promise_of(check, every_row); !table.rows.empty()) document.blocks.emplace_back(std::move(table));
  const auto count = [&](Kept kept) {
    return std::count_if(check.rows.begin(), check.rows.end(), [&](const auto& r) { return r.kept == kept; });
  };
  document.paragraph(
      fmt::format("{} pass, {} fall short, {} undecided; kept = at least {:.0f} % of the promise{}", count(Kept::pass),
                  count(Kept::shortfall), count(Kept::undecided), 100 * check.at_least, every_row ? "" : " (--all shows what passes)"),
      check.shortfall() ? Tone::bad : Tone::strong);
  Grouped failed, sources, unpromised;
  for (const auto& row : check.rows) {
    if (!row.metric.empty() && !repeats(check, row)) sources.add(row.source, row.name());
    if (row.metric.empty()) failed.add(row.reason, row.probe);
  }
  for (const auto& u : check.unpromised) unpromised.add(u.reason, u.name);
  if (!failed.empty()) document.blocks.emplace_back(failed.table("failed", "why"));
  if (!sources.empty()) document.blocks.emplace_back(sources.table("promised", "rests on"));
  if (!unpromised.empty()) document.blocks.emplace_back(unpromised.table("not promised", "why"));
}

std::string figure_text(const std::optional<compare::Figure>& f, const ReadableUnit& unit) {
  if (!f) return kNone;
  return significant(f->value * unit.scale) + (f->measured ? "" : " *");
}

Table ranking_of(const std::vector<compare::Rank>& ranking) {
  Table table;
  table.title = "platforms";
  table.columns = {{"rank", Align::right},         {"platform", Align::left, true}, {"GPUs", Align::right},
                   {"GB/s", Align::right},         {"latency us", Align::right},    {"step s (80 %)"},
                   {"efficiency %", Align::right}, {"speed-up", Align::right},      {"steps/h", Align::right}};
  table.keys = 2;
  for (const auto& r : ranking) {
    const std::string step = r.fits ? significant(r.step_s) : "[" + significant(r.step_s) + "]";
    table.add({Cell(fmt::format("{}", r.rank), Tone::strong), r.platform, fmt::format("{}", r.gpus),
               figure_text(r.bandwidth, {"GB/s", 1e-9}), figure_text(r.latency, {"us", 1e6}),
               Cell(fmt::format("{} ({}–{})", step, significant(r.low_s), significant(r.high_s)), Tone::strong),
               fmt::format("{:.0f}", 100 * r.efficiency), significant(r.speedup), significant(r.steps_per_hour)});
  }
  return table;
}

// "8 GPUs", or with the platform where they differ.
std::string baselines_of(const std::vector<compare::Rank>& ranking) {
  const bool alike =
      std::all_of(ranking.begin(), ranking.end(), [&](const auto& r) { return r.baseline_gpus == ranking.front().baseline_gpus; });
  if (alike) return fmt::format("{} GPUs", ranking.front().baseline_gpus);
  std::vector<std::string> out;
  for (const auto& r : ranking) out.push_back(fmt::format("{} on \"{}\"", r.baseline_gpus, r.platform));
  return join(out, ", ") + " GPUs";
}

std::string signed_time(double s) { return (s < 0 ? "-" : "") + to_text(seconds(std::abs(s))); }

Table causes_of(const compare::Gap& gap) {
  Table table;
  table.columns = {{"trunk"}, {"adds", Align::right}, {"share %", Align::right}, {"what differs", Align::left, true}};
  std::vector<std::string> without;
  for (const auto& c : gap.causes) {
    if (std::abs(c.seconds) < 1e-9 * gap.reference_s) {
      without.push_back(c.trunk);
      continue;
    }
    const std::string scatter = c.scatter ? "within what measuring scatters: " : "";
    table.add(
        {c.trunk, signed_time(c.seconds), Cell(c.share ? fmt::format("{:.1f}", 100 * *c.share) : kNone, Tone::strong), scatter + c.fact});
  }
  table.add({Cell("the gap", Tone::strong), Cell(signed_time(gap.other_s - gap.reference_s), Tone::strong),
             gap.causes.empty() ? kNone : "100",
             without.empty() ? "" : "no effect on this " + name_of(gap.quantity) + ": " + join(without, ", ")});
  return table;
}

std::string gap_title(const compare::Gap& gap) {
  return fmt::format("why a{} {} takes {} on \"{}\" and {} on \"{}\"", gap.quantity == compare::Quantity::epoch ? "n" : "",
                     name_of(gap.quantity), to_text(seconds(gap.reference_s)), gap.reference, to_text(seconds(gap.other_s)), gap.other);
}

void add_platforms(const Comparing& comparing, Document& document) {
  const auto& ranks = comparing.ranking;
  document.blocks.emplace_back(ranking_of(ranks));
  const auto modelled = [](const std::optional<compare::Figure>& f) { return f && !f->measured; };
  std::string notes =
      "GB/s: all-reduce over all GPUs, bus bandwidth. step: predicted with what was measured there. speed-up and efficiency: from " +
      baselines_of(ranks);
  if (std::any_of(ranks.begin(), ranks.end(), [&](const auto& r) { return modelled(r.bandwidth) || modelled(r.latency); }))
    notes += ". *: not measured, from the model";
  if (std::any_of(ranks.begin(), ranks.end(), [](const auto& r) { return !r.fits; })) notes += ". In brackets: does not fit into memory";
  document.paragraph(notes + ".", Tone::dim);
  for (const auto& gap : comparing.gaps) {
    document.paragraph(gap_title(gap), Tone::strong);
    document.blocks.emplace_back(causes_of(gap));
  }
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
  for (const auto& check : comparing.promises) add_promise(check, comparing.every_row, document);
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
