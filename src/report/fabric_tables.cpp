#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "report/assumed.hpp"
#include "report/fabric_report.hpp"

namespace trunkline::report {
namespace {

using network::RunResult;
using network::Spread;
using network::Study;

constexpr std::size_t kNamedFlows = 8;

Column right(std::string heading) { return {std::move(heading), Align::right}; }

// A unit that keeps times of about that size readable.
struct TimeUnit {
  const char* name;
  double per_second;
};

TimeUnit unit_for(double s) {
  if (s < 1e-3) return {"us", 1e6};
  if (s < 1) return {"ms", 1e3};
  return {"s", 1};
}

// --- one run ---------------------------------------------------------------------------------------------------------------

std::string routing_words(const network::FabricFile& file) {
  using topology::Routing;
  const auto& r = file.run.routing;
  std::string out = topology::name_of(r.policy);
  switch (r.policy) {
    case Routing::ideal: out += ": shares by capacity over every way, without loss"; break;
    case Routing::ecmp: out += ": one way for good, drawn by a hash"; break;
    case Routing::pinned: out += ": the way follows from the destination"; break;
    case Routing::flowlet: out += fmt::format(": a new way at each of {} pauses", r.flowlets - 1); break;
    case Routing::spray: out += ": packets over every way alike"; break;
    case Routing::adaptive: out += ": shares by capacity over every way"; break;
  }
  if (file.run.queue_pairs > 1) out += fmt::format("; {} queue pairs a flow", file.run.queue_pairs);
  if (r.efficiency < 1) out += fmt::format("; {} % of the capacity", significant(100 * r.efficiency));
  if (r.rail_local) out += "; to the destination's rail inside the node (PXN)";
  if (file.run.sharing == network::Sharing::inverse_latency) out += "; flows share links by 1/latency";
  return out;
}

std::string solved_words(const Study& study) {
  const double tolerance = study.file.run.tolerance;
  const std::string how = tolerance > 0 ? fmt::format("completion to {} %", significant(100 * tolerance)) : "exactly";
  const std::string& steps = study.first().steps;
  if (study.file.traffic.pattern == network::Pattern::collective) return fmt::format("{}; in {}", steps, to_text(study.first().simulate));
  if (!steps.empty()) return fmt::format("exactly, {}, in {}", steps, to_text(study.first().solve + study.first().simulate));
  return fmt::format("{}, in {}", how, to_text(study.first().solve + study.first().simulate));
}

Table setting_of(const Study& study) {
  const auto& file = study.file;
  Table table;
  table.bullets = true;
  table.columns = {{""}, {"", Align::left, true}};
  table.add({"  fabric", file.shape});
  table.add({"  host links", to_text(file.host_rate)});
  for (const auto& fault : file.faults) table.add({"  fault", {fault, Tone::bad}});
  table.add({"  routing", routing_words(file)});
  table.add({"  traffic", file.traffic.words()});
  table.add({"  solved", solved_words(study)});
  return table;
}

Table flows_of(const Study& study) {
  const RunResult& r = study.first();
  const TimeUnit unit = unit_for(r.completion.max.si());
  const double line = as_gbyte_per_s(study.file.host_rate);
  Table table;
  table.title = fmt::format("{} flows", r.flows);
  table.columns = {{""}, {"unit"}, right("mean"), right("median"), right("worst 1 %"), right("worst")};
  const auto rate = [&](Bandwidth b) { return significant(as_gbyte_per_s(b)); };
  const auto share = [&](Bandwidth b) { return significant(100 * as_gbyte_per_s(b) / line); };
  const auto time = [&](Seconds t) { return r.finish.si() > 0 ? significant(t.si() * unit.per_second) : "–"; };
  table.add({"rate, all at once", "GB/s", rate(r.rate.mean), "", rate(r.rate.p1), rate(r.rate.min)});
  table.add({"  of a host's link", "%", share(r.rate.mean), "", share(r.rate.p1), share(r.rate.min)});
  table.add({"completion", unit.name, time(r.completion.mean), time(r.completion.p50), time(r.completion.p99), time(r.completion.max)});
  table.add({"switches on the way", "", significant(r.mean_hops), "", "", fmt::format("{}", r.max_hops)});
  return table;
}

std::string finish_words(const RunResult& r) {
  if (!(r.finish.si() > 0)) return r.steps.empty() ? "No flow comes to an end." : "The ring is cut: it never comes to an end.";
  if (!(r.ideal.si() > 0)) return fmt::format("The last flow is complete after {}.", to_text(r.finish));
  return fmt::format(
      "The last flow is complete after {}, {} times as long as the hosts' own links alone would take ({}, latency left out).",
      to_text(r.finish), significant(r.finish / r.ideal), to_text(r.ideal));
}

// Beside the fair shares, what pausing makes of them.
Table paused_of(const network::LosslessRun& run, const std::string& kind) {
  Table table;
  const TimeUnit unit = unit_for(run.finish.si());
  table.title = fmt::format("under {}: {} of {} flows slowed although no link of their own way is full, {} links held back", kind,
                            run.victims, run.flows, run.paused_links);
  table.columns = {{""}, {"unit"}, right("fair shares"), right(kind)};
  const auto rate = [](Bandwidth b) { return significant(as_gbyte_per_s(b)); };
  const auto time = [&](Seconds t) { return significant(t.si() * unit.per_second); };
  table.add({"rate, mean", "GB/s", rate(run.fair.mean), rate(run.real.mean)});
  table.add({"rate, worst", "GB/s", rate(run.fair.min), rate(run.real.min)});
  table.add({"completion, mean", unit.name, time(run.completion_fair), time(run.completion)});
  table.add({"completion, last", unit.name, time(run.finish_fair), time(run.finish)});
  return table;
}

std::string cut_off_words(const Study& study) {
  std::vector<std::string> names;
  for (const std::size_t flow : study.first().cut_off) {
    if (names.size() == kNamedFlows) break;
    const auto& demand = study.demands[flow];
    names.push_back(fmt::format("{} → {}", study.file.fabric->host_name(demand.source), study.file.fabric->host_name(demand.destination)));
  }
  const std::size_t all = study.first().cut_off.size();
  std::string out =
      fmt::format("{} flow{} no way in service and in no figure above: {}", all, all > 1 ? "s have" : " has", join(names, ", "));
  if (all > names.size()) out += fmt::format(" and {} more", all - names.size());
  return out + ".";
}

Table hottest_of(const RunResult& r) {
  Table table;
  const std::string core =
      r.core_utilisation > 0 ? fmt::format("; all links between switches: mean {} %", significant(100 * r.core_utilisation)) : "";
  table.title = fmt::format("fullest links, all flows at once (links in use: mean {} %{})", significant(100 * r.mean_utilisation), core);
  table.columns = {{"link"}, right("load %")};
  for (const auto& use : r.hottest) table.add({use.name, significant(100 * use.utilisation)});
  return table;
}

// --- seeds and sweeps ------------------------------------------------------------------------------------------------------

// What multiplies a figure for people, and its unit.
std::pair<double, std::string> scale_of(const FabricFigure& figure, double typical) {
  switch (figure.kind) {
    case FabricFigure::Kind::rate: return {1e-9, "GB/s"};
    case FabricFigure::Kind::share: return {100, "%"};
    case FabricFigure::Kind::ratio: return {1, ""};
    case FabricFigure::Kind::time: break;
  }
  const TimeUnit unit = unit_for(typical);
  return {unit.per_second, unit.name};
}

Table seeds_of(const Study& study) {
  Table table;
  table.title = fmt::format("over {} seeds of routing and traffic", study.runs.size());
  table.columns = {{""}, {"unit"}, right("mean"), right("least"), right("5 %"), right("median"), right("95 %"), right("most")};
  for (const FabricFigure& figure : fabric_figures()) {
    const Spread s = study.spread(figure.of);
    const auto [factor, unit] = scale_of(figure, s.max);
    std::vector<Cell> row = {figure.words, unit};
    for (const double v : {s.mean, s.min, s.low, s.median, s.high, s.max}) row.emplace_back(significant(v * factor));
    table.add(std::move(row));
  }
  return table;
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::vector<Cell> key_cells(const FabricEntry& entry) {
  std::vector<Cell> out;
  for (const auto& [key, value] : entry.swept) out.emplace_back(value);
  return out;
}

// One line a point; with seeds the mean over them.
Table sweep_of(const std::vector<FabricEntry>& entries) {
  Table table;
  for (const auto& [key, value] : entries.front().swept) table.columns.push_back(right(last_word(key)));
  table.keys = int(table.columns.size());
  std::vector<double> factors;
  std::size_t seeds = 1;
  for (const FabricFigure& figure : fabric_figures()) {
    double largest = 0;
    for (const auto& entry : entries) {
      if (!entry.study) continue;
      largest = std::max(largest, entry.study->spread(figure.of).mean);
      seeds = entry.study->runs.size();
    }
    const auto [factor, unit] = scale_of(figure, largest);
    factors.push_back(factor);
    table.columns.push_back({figure.words + (unit.empty() ? "" : " " + unit), Align::right, true});
  }
  if (seeds > 1) table.title = fmt::format("means over {} seeds of routing and traffic", seeds);
  for (const auto& entry : entries) {
    std::vector<Cell> row = key_cells(entry);
    for (std::size_t i = 0; i < factors.size(); ++i) {
      if (entry.study)
        row.emplace_back(significant(entry.study->spread(fabric_figures()[i].of).mean * factors[i]));
      else
        row.emplace_back(i == 0 ? Cell("impossible", Tone::bad) : Cell("–"));
    }
    table.add(std::move(row));
  }
  return table;
}

Table data_of(const std::vector<FabricEntry>& entries) {
  Table table;
  for (const auto& [key, value] : entries.front().swept) table.columns.push_back({key});
  table.columns.push_back({"seed_offset"});
  table.columns.push_back({"flows"});
  for (const FabricFigure& figure : fabric_figures()) table.columns.push_back({figure.key});
  table.columns.push_back({"without_a_way"});
  table.columns.push_back({"error"});
  for (const auto& entry : entries) {
    if (!entry.study) {
      std::vector<Cell> row = key_cells(entry);
      row.resize(table.columns.size());
      row.back() = entry.error.text();
      table.add(std::move(row));
      continue;
    }
    for (std::size_t i = 0; i < entry.study->runs.size(); ++i) {
      const RunResult& run = entry.study->runs[i];
      std::vector<Cell> row = key_cells(entry);
      row.emplace_back(fmt::format("{}", i));
      row.emplace_back(fmt::format("{}", run.flows));
      for (const FabricFigure& figure : fabric_figures()) row.emplace_back(fmt::format("{}", figure.of(run)));
      row.emplace_back(fmt::format("{}", run.cut_off.size()));
      row.emplace_back("");
      table.add(std::move(row));
    }
  }
  return table;
}

Table collective_of(const Study& study) {
  const RunResult& r = study.first();
  const TimeUnit unit = unit_for(r.finish.si());
  Table table;
  table.columns = {{""}, {"unit"}, right("value")};
  table.add({"time", unit.name, significant(r.finish.si() * unit.per_second)});
  table.add({"bound by the ports", unit.name, significant(r.ideal.si() * unit.per_second)});
  table.add({"size / time (algbw)", "GB/s", significant(as_gbyte_per_s(r.rate.mean))});
  return table;
}

void add_run(const Study& study, Document& document) {
  document.blocks.emplace_back(setting_of(study));
  if (study.file.traffic.pattern == network::Pattern::collective) {
    document.blocks.emplace_back(collective_of(study));
    if (study.runs.size() > 1) document.blocks.emplace_back(seeds_of(study));
    return;
  }
  const bool any = study.first().unserved < study.first().flows;
  if (any) document.blocks.emplace_back(flows_of(study));
  document.paragraph(finish_words(study.first()));
  if (!study.first().cut_off.empty()) document.paragraph(cut_off_words(study), Tone::bad);
  if (any) document.blocks.emplace_back(hottest_of(study.first()));
  if (!study.paused.empty()) document.blocks.emplace_back(paused_of(study.paused.front(), network::name_of(study.file.lossless->kind)));
  if (study.runs.size() > 1) document.blocks.emplace_back(seeds_of(study));
  if (!study.file.assumed.empty()) document.blocks.emplace_back(assumed_list(study.file.assumed, "assumed, as the file does not say"));
}

}  // namespace

const std::vector<FabricFigure>& fabric_figures() {
  using Kind = FabricFigure::Kind;
  static const std::vector<FabricFigure> figures = {
      {"rate_mean_bytes_per_s", "rate, mean", Kind::rate, [](const RunResult& r) { return r.rate.mean.si(); }},
      {"rate_min_bytes_per_s", "rate, worst", Kind::rate, [](const RunResult& r) { return r.rate.min.si(); }},
      {"completion_mean_s", "completion, mean", Kind::time, [](const RunResult& r) { return r.completion.mean.si(); }},
      {"completion_p99_s", "completion, 99 %", Kind::time, [](const RunResult& r) { return r.completion.p99.si(); }},
      {"completion_max_s", "completion, last", Kind::time, [](const RunResult& r) { return r.completion.max.si(); }},
      {"finish_over_ideal", "finish / ideal", Kind::ratio, [](const RunResult& r) { return r.ideal.si() > 0 ? r.finish / r.ideal : 0; }},
      {"links_mean_utilisation", "used links, mean load", Kind::share, [](const RunResult& r) { return r.mean_utilisation; }},
      {"links_core_utilisation", "all links between switches", Kind::share, [](const RunResult& r) { return r.core_utilisation; }},
  };
  return figures;
}

Document fabric_document(const std::vector<FabricEntry>& entries, const Context& context) {
  Document document;
  const auto known = std::find_if(entries.begin(), entries.end(), [](const FabricEntry& e) { return e.study.has_value(); });
  document.heading(known == entries.end() ? "fabric" : known->study->file.name);
  if (entries.size() == 1 && known != entries.end()) {
    add_run(*known->study, document);
  } else {
    document.blocks.emplace_back(sweep_of(entries));
    for (const auto& entry : entries) {
      if (entry.study) continue;
      std::vector<std::string> point;
      for (const auto& [key, value] : entry.swept) point.push_back(fmt::format("{} {}", key, value));
      document.blocks.emplace_back(Paragraph{fmt::format("{}: {}", join(point, ", "), entry.error.text()), Tone::bad, 4});
    }
  }
  document.data = data_of(entries);
  document.json = fabric_json(entries, context);
  return document;
}

}  // namespace trunkline::report
