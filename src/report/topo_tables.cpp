#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "report/assumed.hpp"
#include "report/topo_report.hpp"

namespace trunkline::report {
namespace {

Verbatim tree_of(const topology::Description& d) {
  std::string text;
  for (const auto& row : d.tree) text += std::string(std::size_t(row.depth) * 2, ' ') + row.text + "\n";
  return {text};
}

Table matrix_of(const topology::Description& d) {
  Table table;
  table.title = "paths from each GPU, as nvidia-smi topo -m names them";
  table.columns = {{""}};
  for (const auto& name : d.columns) table.columns.push_back({name});
  for (std::size_t g = 0; g < d.matrix.size(); ++g) {
    std::vector<Cell> row = {fmt::format("GPU{}", g)};
    for (const auto& label : d.matrix[g]) row.emplace_back(label);
    table.add(std::move(row));
  }
  return table;
}

Table paths_of(const topology::Description& d) {
  Table table;
  table.title = "one transfer alone, one direction, as copies reach";
  table.columns = {{"path"},
                   {"between"},
                   {"pairs", Align::right},
                   {"GB/s", Align::right},
                   {"latency us", Align::right},
                   {"narrowest part", Align::left, true}};
  for (const auto& p : d.paths) {
    table.add({p.label, p.between, fmt::format("{}", p.pairs), significant(as_gbyte_per_s(p.capacity)),
               significant(as_microseconds(p.latency)), p.narrowest});
  }
  return table;
}

Table limits_of(const topology::NodeLimits& limits) {
  Table table;
  table.title = "limits of the node, one direction";
  table.columns = {{"limit"}, {"GB/s", Align::right}, {"of what", Align::left, true}};
  const auto row = [&](const char* name, Bandwidth rate, const char* what) {
    if (rate.si() > 0) table.add({name, significant(as_gbyte_per_s(rate)), what});
  };
  row("GPU to GPU", limits.gpu_to_gpu, "a copy between the slowest pair, alone");
  row("ring", limits.ring, limits.ring_over_links ? "each GPU, all at once, over the GPU links" : "each GPU, all at once, over PCIe");
  row("host to GPU", limits.host_to_gpu, "each GPU, all at once");
  row("GPU to NIC", limits.nic_to_gpu,
      limits.nic_across_socket ? "the nearest NIC; for some GPUs across the link between sockets" : "the nearest NIC");
  row("node to network", limits.node_to_network, "all NICs at once");
  return table;
}

}  // namespace

Document topo_document(const topology::Description& d, const Context& context) {
  Document document;
  document.heading(d.title);
  document.blocks.emplace_back(tree_of(d));
  document.blocks.emplace_back(matrix_of(d));
  document.blocks.emplace_back(paths_of(d));
  document.blocks.emplace_back(limits_of(d.limits));
  for (const auto& w : d.warnings)
    document.blocks.emplace_back(Paragraph{"warning: " + w.text + (w.fix.empty() ? "" : "\n  → " + w.fix), Tone::bad, 4});
  if (!d.assumed.empty()) document.blocks.emplace_back(assumed_list(d.assumed, "assumed, as the file does not say"));
  document.data = paths_of(d);
  document.json = topo_json(d, context);
  return document;
}

}  // namespace trunkline::report
