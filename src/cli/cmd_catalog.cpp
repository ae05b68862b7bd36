#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/text.hpp"
#include "catalog/catalog.hpp"
#include "cli/cmd.hpp"
#include "report/catalog_report.hpp"
#include "topology/platform.hpp"

namespace trunkline::cli {
namespace {

using catalog::Part;
using catalog::PartKind;

// Ready-made nodes live in the topology; here they look like every other part.
Part part_of(const topology::NodeEntry& entry) {
  Part part;
  part.kind = PartKind::node;
  part.id = entry.id;
  part.name = entry.name;
  part.aliases = entry.aliases;
  part.notes = entry.notes;
  const auto fact = [&](const char* field, std::string value) {
    if (!value.empty()) part.facts.push_back({field, std::move(value), entry.source, entry.confidence, {}, {}});
  };
  const auto& node = entry.node;
  fact("gpu", node.gpu.id);
  fact("gpus", fmt::format("{}", node.gpus));
  fact("gpu_links", topology::name_of(node.gpu_links));
  if (node.link_bandwidth.si() > 0) fact("link_bandwidth", fmt::format("{:.0f} GB/s", as_gbyte_per_s(node.link_bandwidth)));
  fact("sockets", fmt::format("{}", node.sockets));
  fact("pcie", fmt::format("generation {}, {} switches", node.pcie_generation, node.pcie_switches));
  if (node.nics.count > 0)
    fact("nics", fmt::format("{} x {}, {:.0f} Gb/s each", node.nics.count, node.nics.part, as_gbit_per_s(node.nics.rate)));
  return part;
}

std::vector<Part> all_parts() {
  std::vector<Part> parts = catalog::Catalog::builtin().parts();
  for (const auto& entry : topology::node_catalog()) parts.push_back(part_of(entry));
  return parts;
}

Result<PartKind> kind_named(const std::string& word) {
  std::vector<std::string> names;
  for (PartKind kind : {PartKind::gpu, PartKind::node, PartKind::link, PartKind::nic, PartKind::switch_, PartKind::storage, PartKind::price,
                        PartKind::measurement}) {
    names.push_back(lower(name_of(kind)));
    if (names.back() == lower(word)) return kind;
  }
  return usage_error(fmt::format("--kind: no kind of part is called \"{}\"", excerpt(word)), did_you_mean(word, names));
}

Result<Part> find_part(const std::string& name) {
  for (const auto& entry : topology::node_catalog()) {
    if (entry.id == name || std::find(entry.aliases.begin(), entry.aliases.end(), name) != entry.aliases.end()) return part_of(entry);
  }
  TRUNKLINE_ASSIGN(part, catalog::Catalog::builtin().part(name));
  return *part;
}

Result<int> show(const std::string& name, const std::string& kind, Session& session) {
  if (!name.empty()) {
    TRUNKLINE_ASSIGN(part, find_part(name));
    TRUNKLINE_TRY(session.output.write(report::catalog_part(part, session.context)));
    return 0;
  }
  report::CatalogList list;
  list.parts = all_parts();
  PartKind only = PartKind::gpu;
  if (!kind.empty()) {
    TRUNKLINE_ASSIGN(named, kind_named(kind));
    only = named;
    std::erase_if(list.parts, [&](const Part& part) { return part.kind != only; });
  }
  if (only == PartKind::gpu) list.gpus = catalog::Catalog::builtin().gpus();
  TRUNKLINE_TRY(session.output.write(report::catalog_list(list, session.context)));
  return 0;
}

}  // namespace

Command catalog_command() {
  Command command;
  command.name = "catalog";
  command.arguments = "[NAME]";
  command.answers = "what a part is able to do, and who says so";
  command.examples = {{"trunkline catalog h100-sxm", "every value with its source"}, {"trunkline catalog --kind gpu", "all GPUs"}};
  command.declare = [](CLI::App& app) -> Action {
    auto name = std::make_shared<std::string>();
    auto kind = std::make_shared<std::string>();
    app.add_option("NAME", *name, "a part's id or another name of it; without: all parts");
    app.add_option("--kind", *kind, "gpu, node, link, nic, switch, storage, price or measurement")->type_name("KIND");
    return [name, kind](Session& session) { return show(*name, *kind, session); };
  };
  return command;
}

}  // namespace trunkline::cli
