#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "report/measure_report.hpp"

namespace trunkline::report {
namespace {

using measure::Measurement;
using measure::Metric;
using measure::ProbeResult;
using measure::Status;

constexpr const char kNone[] = "–";

std::string scaled(std::optional<double> value, const ReadableUnit& unit) { return value ? significant(*value * unit.scale) : kNone; }

std::string percent(std::optional<double> share) {
  if (!share) return kNone;
  return *share < 0.0995 ? significant(100 * *share, 2) : fmt::format("{:.0f}", 100 * *share);
}

// The end of the median's 95 % interval that lies farther from it, as a share of it.
std::optional<double> uncertainty(const Metric& m) {
  const auto interval = m.interval();
  const auto middle = m.median();
  if (!interval || !middle || *middle == 0) return std::nullopt;
  return std::max(interval->high - *middle, *middle - interval->low) / std::abs(*middle);
}

// From the slowest tenth to the fastest tenth of the samples.
std::optional<double> spread(const Metric& m) {
  const auto s = m.summary();
  if (!s || s->n < 2 || s->median == 0) return std::nullopt;
  return (s->p90 - s->p10) / std::abs(s->median);
}

void add_rows(const ProbeResult& probe, Table& table) {
  std::string shown = probe.name;
  for (const Metric& m : probe.metrics) {
    if (m.samples.empty()) continue;
    const ReadableUnit unit = readable_unit(m);
    table.add({shown, m.name, Cell(scaled(m.median(), unit), Tone::strong), unit.unit, percent(uncertainty(m)), percent(spread(m)),
               fmt::format("{}", m.samples.size()), scaled(m.limit, unit), percent(m.share_of_limit())});
    shown.clear();
  }
}

Table results_of(const Measurement& measurement) {
  Table table;
  table.columns = {{"probe"},
                   {"metric"},
                   {"median", Align::right},
                   {"unit"},
                   {"± %", Align::right},
                   {"spread %", Align::right},
                   {"n", Align::right},
                   {"limit", Align::right},
                   {"share %", Align::right}};
  table.keys = 2;
  for (const ProbeResult& p : measurement.probes) add_rows(p, table);
  return table;
}

Table unmeasured_of(const Measurement& measurement) {
  Table table;
  table.columns = {{"not measured"}, {"status"}, {"reason", Align::left, true}};
  for (const ProbeResult& p : measurement.probes) {
    if (p.status == Status::ok) continue;
    table.add({p.name, p.status == Status::failed ? Cell("failed", Tone::bad) : Cell("waived"), p.reason});
  }
  return table;
}

// One row a metric in SI units; a probe without metrics has one row with its reason.
Table data_of(const Measurement& measurement) {
  Table table;
  for (const char* key :
       {"probe", "status", "reason", "metric", "unit", "n", "median", "low", "high", "min", "max", "limit", "share_of_limit"})
    table.columns.push_back({key});
  const auto number = [](std::optional<double> v) { return v ? fmt::format("{}", *v) : std::string(); };
  for (const ProbeResult& p : measurement.probes) {
    if (p.metrics.empty()) table.add({p.name, name_of(p.status), p.reason});
    for (const Metric& m : p.metrics) {
      const auto summary = m.summary();
      const auto interval = m.interval();
      const auto of = [&](double stats::Summary::* field) { return summary ? number(*summary.*field) : std::string(); };
      table.add({p.name, name_of(p.status), p.reason, m.name, m.unit, fmt::format("{}", m.samples.size()), number(m.median()),
                 interval ? number(interval->low) : "", interval ? number(interval->high) : "", of(&stats::Summary::min),
                 of(&stats::Summary::max), number(m.limit), number(m.share_of_limit())});
    }
  }
  return table;
}

std::string title_of(const measure::Context& c) {
  std::string out = c.host.empty() ? "a machine without a name" : c.host;
  if (!c.machine.empty()) out += ", " + c.machine;
  if (!c.cpu.empty()) out += ", " + c.cpu;
  if (c.cpus) out += fmt::format(", {} CPUs", *c.cpus);
  if (c.memory_bytes) out += fmt::format(", {}", to_text(Bytes(*c.memory_bytes)));
  if (!c.virtualization.empty()) out += ", " + c.virtualization;
  if (!c.kernel.empty()) out += ", Linux " + c.kernel;
  return out;
}

// What each limit rests on, and the probes that it holds for.
Table limits_of(const Measurement& measurement) {
  std::vector<std::pair<std::string, std::string>> sources;
  for (const ProbeResult& p : measurement.probes) {
    for (const Metric& m : p.metrics) {
      if (!m.limit || m.limit_source.empty()) continue;
      auto known = std::find_if(sources.begin(), sources.end(), [&](const auto& s) { return s.first == m.limit_source; });
      if (known == sources.end()) known = sources.insert(known, {m.limit_source, {}});
      if (known->second.find(p.name) == std::string::npos) known->second += (known->second.empty() ? "" : ", ") + p.name;
    }
  }
  Table table;
  table.columns = {{"limit", Align::left, true}, {"of", Align::left, true}};
  for (auto& [source, probes] : sources) table.add({source, probes});
  return table;
}

}  // namespace

ReadableUnit readable_unit(const Metric& metric) {
  const double typical = std::abs(metric.median().value_or(metric.limit.value_or(0)));
  if (metric.unit == "B/s") return {"GB/s", 1e-9};
  if (metric.unit == "FLOP/s") return {"TFLOP/s", 1e-12};
  if (metric.unit == "s") return typical < 1e-3 ? ReadableUnit{"us", 1e6} : typical < 1 ? ReadableUnit{"ms", 1e3} : ReadableUnit{"s", 1};
  if (metric.unit == "1/s")
    return typical >= 1e6 ? ReadableUnit{"M/s", 1e-6} : typical >= 1e3 ? ReadableUnit{"k/s", 1e-3} : ReadableUnit{"/s", 1};
  return {metric.unit, 1};
}

Document measure_document(const Measurement& measurement) {
  Document document;
  document.heading(title_of(measurement.context));
  const Table results = results_of(measurement);
  if (!results.rows.empty()) document.blocks.emplace_back(results);
  if (Table rest = unmeasured_of(measurement); !rest.rows.empty()) document.blocks.emplace_back(std::move(rest));
  if (Table limits = limits_of(measurement); !limits.rows.empty()) document.blocks.emplace_back(std::move(limits));
  for (const ProbeResult& p : measurement.probes) {
    for (const std::string& warning : p.warnings)
      document.blocks.emplace_back(Paragraph{fmt::format("warning: {}: {}", p.name, warning), Tone::bad, 4});
  }
  if (!results.rows.empty()) {
    document.paragraph(
        "± %: how far the median's 95 % interval reaches (absent below 6 samples). spread %: from the 10th to the 90th percentile of the "
        "samples.",
        Tone::dim);
  }
  document.data = data_of(measurement);
  document.json = measure::to_json(measurement);
  return document;
}

Document probe_list_document(const std::vector<ProbeLine>& probes, const Context& context) {
  Table table;
  table.columns = {{"probe"}, {"answers", Align::left, true}, {"needs", Align::left, true}};
  for (const ProbeLine& p : probes) table.add({p.name, p.answers, p.needs});
  Document document;
  document.blocks.emplace_back(table);
  document.data = std::move(table);
  document.json = probe_list_json(probes, context);
  return document;
}

Document measure_plan_document(const std::vector<PlannedProbe>& probes, const Context& context) {
  Table table;
  table.columns = {{"probe"},
                   {"writes GB", Align::right},
                   {"reads GB", Align::right},
                   {"memory GB", Align::right},
                   {"disk GB", Align::right},
                   {"time at most s", Align::right},
                   {"remarks", Align::left, true}};
  const auto size = [](Bytes b) { return b.count() > 0 ? significant(as_gbytes(b)) : std::string(kNone); };
  measure::Estimate total;
  for (const PlannedProbe& p : probes) {
    if (!p.estimate) {
      table.add({p.name, kNone, kNone, kNone, kNone, kNone, "waived: " + p.waived});
      continue;
    }
    const measure::Estimate& e = *p.estimate;
    table.add({p.name, size(e.written), size(e.read), size(e.memory), size(e.disk), significant(e.time.si()), e.note});
    total.written += e.written;
    total.read += e.read;
    total.memory = std::max(total.memory, e.memory);
    total.disk = std::max(total.disk, e.disk);
    total.time += e.time;
  }
  Document document;
  document.data = table;
  if (probes.size() > 1) {
    table.gap();
    table.add({Cell("all", Tone::strong), size(total.written), size(total.read), size(total.memory), size(total.disk),
               significant(total.time.si()), "one after the other"});
  }
  document.blocks.emplace_back(std::move(table));
  document.json = measure_plan_json(probes, context);
  return document;
}

}  // namespace trunkline::report
