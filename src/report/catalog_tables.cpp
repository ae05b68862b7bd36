#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "report/catalog_report.hpp"

namespace trunkline::report {

using catalog::Part;
using catalog::PartKind;

namespace {

std::string plural(PartKind kind) {
  switch (kind) {
    case PartKind::switch_: return "switches";
    case PartKind::storage: return "storage";
    default: return (kind == PartKind::gpu ? "GPU" : kind == PartKind::nic ? "NIC" : name_of(kind)) + "s";
  }
}

std::string or_dash(double value) { return value > 0 ? significant(value) : "–"; }

Table gpu_table(const std::vector<catalog::Gpu>& gpus) {
  Table table;
  table.title = "GPUs (dense rates; links: all together, one direction)";
  const auto right = [](const char* heading) { return Column{heading, Align::right}; };
  table.columns = {{"id"},    {"name"},      right("memory GiB"), right("GB/s"), right("bf16 TFLOP/s"), right("fp8 TFLOP/s"),
                   {"links"}, right("GB/s"), right("PCIe")};
  for (const auto& gpu : gpus) {
    std::string links = "–";
    if (gpu.link_family != catalog::LinkFamily::none)
      links = fmt::format("{} {}", gpu.link_family == catalog::LinkFamily::nvlink ? "NVLink" : "xGMI", gpu.link_generation);
    table.add({gpu.id, gpu.name, or_dash(as_gib(gpu.memory)), or_dash(as_gbyte_per_s(gpu.memory_bandwidth)),
               or_dash(as_tflop_per_s(gpu.bf16)), or_dash(as_tflop_per_s(gpu.fp8)), links, or_dash(as_gbyte_per_s(gpu.link_bandwidth)),
               gpu.pcie_generation > 0 ? fmt::format("{}x{}", gpu.pcie_generation, gpu.pcie_lanes) : "–"});
  }
  return table;
}

// What tells parts of a kind apart at a glance; the rest is shown by `trunkline catalog ID`.
std::vector<std::string> telling_fields(PartKind kind) {
  switch (kind) {
    case PartKind::link: return {"unit", "line", "practical"};
    case PartKind::nic: return {"kind", "rate", "efficiency"};
    case PartKind::switch_: return {"kind", "ports", "port_rate", "latency"};
    case PartKind::storage: return {"kind", "read", "write", "scope"};
    case PartKind::price: return {"gpu", "gpus", "per_gpu_hour", "kind", "date"};
    case PartKind::measurement: return {"what", "low", "high", "limit"};
    case PartKind::gpu:
    case PartKind::node: return {};
  }
  return {};
}

Table kind_table(PartKind kind, const std::vector<Part>& parts) {
  Table table;
  table.title = plural(kind);
  table.title.front() = char(std::toupper(static_cast<unsigned char>(table.title.front())));
  table.columns = {{"id"}, {"name", Align::left, true}};
  const auto fields = telling_fields(kind);
  for (const auto& field : fields) table.columns.push_back({field, Align::left, true});
  for (const Part& part : parts) {
    if (part.kind != kind) continue;
    std::vector<Cell> row = {part.id, part.name};
    for (const auto& field : fields) {
      const auto* fact = part.find(field);
      row.emplace_back(fact ? fact->value : std::string("–"));
    }
    table.add(std::move(row));
  }
  return table;
}

Table fact_rows(std::span<const Part> parts) {
  Table table;
  table.columns = {{"kind"}, {"id"}, {"field"}, {"value"}, {"confidence"}, {"source"}, {"printed"}, {"note"}};
  for (const Part& part : parts) {
    for (const auto& fact : part.facts) {
      table.add({catalog::name_of(part.kind), part.id, fact.field, fact.value, catalog::name_of(fact.confidence), fact.source, fact.printed,
                 fact.note});
    }
  }
  return table;
}

std::string remark_of(const catalog::Fact& fact) {
  std::string text = fact.note;
  if (!fact.printed.empty()) text += (text.empty() ? "" : "; ") + fmt::format("printed there: {}", fact.printed);
  return text;
}

// The place of `source` in the list, appended where it is new.
std::size_t number_of(const std::string& source, std::vector<std::string>& sources) {
  auto at = std::find(sources.begin(), sources.end(), source);
  if (at == sources.end()) at = sources.insert(sources.end(), source);
  return std::size_t(at - sources.begin()) + 1;
}

}  // namespace

Document catalog_list(const CatalogList& list, const Context& context) {
  Document document;
  if (!list.gpus.empty()) document.blocks.emplace_back(gpu_table(list.gpus));
  for (PartKind kind :
       {PartKind::node, PartKind::link, PartKind::nic, PartKind::switch_, PartKind::storage, PartKind::price, PartKind::measurement}) {
    if (std::any_of(list.parts.begin(), list.parts.end(), [&](const Part& part) { return part.kind == kind; })) {
      document.blocks.emplace_back(kind_table(kind, list.parts));
    }
  }
  document.paragraph("trunkline catalog ID shows every value of a part with its source and how far it can be trusted.", Tone::dim);
  document.data = fact_rows(list.parts);
  document.json = parts_json(list.parts, context);
  return document;
}

Document catalog_part(const Part& part, const Context& context) {
  Document document;
  document.heading(fmt::format("{}: {} ({})", part.id, part.name, catalog::name_of(part.kind)));
  Table table;
  table.columns = {{"field"}, {"value", Align::left, true}, {"confidence"}, {"source", Align::right}};
  const bool remarks = std::any_of(part.facts.begin(), part.facts.end(), [](const auto& fact) { return !remark_of(fact).empty(); });
  if (remarks) table.columns.push_back({"remark", Align::left, true});
  std::vector<std::string> sources;  // most facts of a part share one
  for (const auto& fact : part.facts) {
    const std::string number = fact.source.empty() ? "–" : fmt::format("[{}]", number_of(fact.source, sources));
    std::vector<Cell> row = {
        fact.field, fact.value, {catalog::name_of(fact.confidence), fact.doubtful() ? Tone::bad : Tone::plain}, number};
    if (remarks) row.emplace_back(remark_of(fact));
    table.add(std::move(row));
  }
  document.blocks.emplace_back(std::move(table));
  Table list;
  list.columns = {{"", Align::right}, {"", Align::left, true}};
  list.bullets = true;
  for (std::size_t i = 0; i < sources.size(); ++i) list.add({fmt::format("[{}]", i + 1), sources[i]});
  if (!sources.empty()) document.blocks.emplace_back(std::move(list));
  if (!part.aliases.empty()) document.paragraph("also called: " + join(part.aliases, ", "));
  if (!part.notes.empty()) document.paragraph("note: " + part.notes);
  document.data = fact_rows({&part, 1});
  document.json = parts_json({&part, 1}, context);
  return document;
}

}  // namespace trunkline::report
