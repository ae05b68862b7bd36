#include "report/json_io.hpp"
#include "report/measure_report.hpp"

namespace trunkline::report {

std::string probe_list_json(const std::vector<ProbeLine>& probes, const Context& context) {
  Json out;
  out["probes"] = Json::array();
  for (const ProbeLine& p : probes) out["probes"].push_back({{"name", p.name}, {"answers", p.answers}, {"needs", p.needs}});
  out["context"] = context_json(context);
  return text_of(out);
}

std::string measure_plan_json(const std::vector<PlannedProbe>& probes, const Context& context) {
  Json out;
  out["probes"] = Json::array();
  for (const PlannedProbe& p : probes) {
    Json one = {{"name", p.name}, {"would_run", p.waived.empty()}, {"reason", or_null(p.waived)}, {"estimate", nullptr}};
    if (p.estimate) {
      one["estimate"] = {{"written_bytes", p.estimate->written.count()},
                         {"read_bytes", p.estimate->read.count()},
                         {"memory_bytes", p.estimate->memory.count()},
                         {"disk_bytes", p.estimate->disk.count()},
                         {"time_s", p.estimate->time.si()},
                         {"note", or_null(p.estimate->note)}};
    }
    out["probes"].push_back(std::move(one));
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
