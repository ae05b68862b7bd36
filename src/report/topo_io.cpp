#include "report/json_io.hpp"
#include "report/topo_report.hpp"

namespace trunkline::report {

std::string topo_json(const topology::Description& d, const Context& context) {
  const auto rate = [](Bandwidth b) { return b.si() > 0 ? Json(b.si()) : Json(nullptr); };
  Json out;
  out["title"] = d.title;
  out["tree"] = Json::array();
  for (const auto& row : d.tree) out["tree"].push_back({{"depth", row.depth}, {"text", row.text}});
  out["columns"] = d.columns;
  out["matrix"] = d.matrix;
  out["paths"] = Json::array();
  for (const auto& p : d.paths) {
    out["paths"].push_back({{"path", p.label},
                            {"between", p.between},
                            {"pairs", p.pairs},
                            {"bandwidth_bytes_per_s", rate(p.capacity)},
                            {"latency_s", p.latency.si()},
                            {"narrowest", p.narrowest}});
  }
  const auto& l = d.limits;
  out["limits"] = {{"gpu_to_gpu_bytes_per_s", rate(l.gpu_to_gpu)}, {"ring_bytes_per_s", rate(l.ring)},
                   {"ring_over_links", l.ring_over_links},         {"host_to_gpu_bytes_per_s", rate(l.host_to_gpu)},
                   {"nic_to_gpu_bytes_per_s", rate(l.nic_to_gpu)}, {"node_to_network_bytes_per_s", rate(l.node_to_network)},
                   {"nic_across_socket", l.nic_across_socket}};
  out["warnings"] = Json::array();
  for (const auto& w : d.warnings) out["warnings"].push_back({{"id", w.id}, {"text", w.text}, {"fix", or_null(w.fix)}});
  out["assumed"] = object_of(d.assumed);
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
