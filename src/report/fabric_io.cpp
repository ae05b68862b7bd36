#include "report/fabric_report.hpp"
#include "report/json_io.hpp"

namespace trunkline::report {
namespace {

using network::RunResult;
using network::Study;

Json result_json(const Study& study) {
  const RunResult& r = study.first();
  Json out;
  out["flows"] = r.flows;
  out["rate_bytes_per_s"] = {{"mean", r.rate.mean.si()}, {"min", r.rate.min.si()}, {"p1", r.rate.p1.si()}};
  out["completion_s"] = {
      {"mean", r.completion.mean.si()}, {"p50", r.completion.p50.si()}, {"p99", r.completion.p99.si()}, {"max", r.completion.max.si()}};
  if (r.unserved == r.flows) out["rate_bytes_per_s"] = nullptr;  // nobody has a way
  if (!(r.finish.si() > 0)) out["completion_s"] = nullptr;
  out["finish_s"] = r.finish.si() > 0 ? Json(r.finish.si()) : Json(nullptr);
  out["ideal_s"] = r.ideal.si();
  Json hottest = Json::array();
  for (const auto& use : r.hottest) hottest.push_back({{"name", use.name}, {"utilisation", use.utilisation}});
  out["links"] = {{"max_utilisation", r.max_utilisation},
                  {"mean_utilisation", r.mean_utilisation},
                  {"core_utilisation", r.core_utilisation},
                  {"hottest", std::move(hottest)}};
  out["hops"] = {{"mean", r.mean_hops}, {"max", r.max_hops}};
  if (study.file.traffic.pattern == network::Pattern::collective) out["links"] = out["hops"] = nullptr;  // of whole collectives only times
  Json cut_off = Json::array();
  for (const std::size_t flow : r.cut_off) {
    const auto& demand = study.demands[flow];
    cut_off.push_back({{"flow", flow}, {"source", demand.source}, {"destination", demand.destination}});
  }
  out["without_a_way"] = std::move(cut_off);
  out["solve_s"] = r.solve.si() + r.simulate.si();
  out["solve"] = {
      {"tolerance", study.file.run.tolerance}, {"rates_s", r.solve.si()}, {"completion_s", r.simulate.si()}, {"steps", or_null(r.steps)}};
  return out;
}

Json paused_json(const network::LosslessRun& run, const std::string& kind) {
  return {{"kind", kind},
          {"victims", run.victims},
          {"paused_links", run.paused_links},
          {"paused", run.paused},
          {"rate_bytes_per_s", {{"mean", run.real.mean.si()}, {"min", run.real.min.si()}}},
          {"fair_rate_bytes_per_s", {{"mean", run.fair.mean.si()}, {"min", run.fair.min.si()}}},
          {"completion_mean_s", run.completion.si()},
          {"finish_s", run.finish.si()},
          {"fair_completion_mean_s", run.completion_fair.si()},
          {"fair_finish_s", run.finish_fair.si()}};
}

Json seeds_json(const Study& study) {
  Json figures = Json::object(), runs = Json::array();
  for (const FabricFigure& figure : fabric_figures()) {
    const auto s = study.spread(figure.of);
    figures[figure.key] = {{"mean", s.mean}, {"p5", s.low}, {"p50", s.median}, {"p95", s.high}, {"min", s.min}, {"max", s.max}};
  }
  for (std::size_t i = 0; i < study.runs.size(); ++i) {
    Json run = {{"seed_offset", i}};
    for (const FabricFigure& figure : fabric_figures()) run[figure.key] = figure.of(study.runs[i]);
    run["without_a_way"] = study.runs[i].cut_off.size();
    if (!study.paused.empty()) run["lossless"] = paused_json(study.paused[i], network::name_of(study.file.lossless->kind));
    runs.push_back(std::move(run));
  }
  return {{"count", study.runs.size()}, {"figures", std::move(figures)}, {"runs", std::move(runs)}};
}

Json entry_json(const FabricEntry& entry) {
  Json out;
  if (!entry.swept.empty()) out["swept"] = object_of(entry.swept);
  if (!entry.study) {
    out["error"] = entry.error.text();
    return out;
  }
  const Study& study = *entry.study;
  out.update(result_json(study));
  out["lossless"] = study.paused.empty() ? Json(nullptr) : paused_json(study.paused.front(), network::name_of(study.file.lossless->kind));
  if (study.runs.size() > 1) out["seeds"] = seeds_json(study);
  out["fabric"] = {{"name", study.file.name},
                   {"hosts", study.file.fabric->hosts()},
                   {"shape", study.file.shape},
                   {"host_rate_bytes_per_s", study.file.host_rate.si()},
                   {"faults", study.file.faults},
                   {"traffic", study.file.traffic.words()},
                   {"routing", topology::name_of(study.file.run.routing.policy)}};
  out["assumed"] = object_of(study.file.assumed);
  return out;
}

}  // namespace

std::string fabric_json(const std::vector<FabricEntry>& entries, const Context& context) {
  Json out;
  if (entries.size() == 1) {
    out = entry_json(entries.front());
  } else {
    out["points"] = Json::array();
    for (const auto& entry : entries) out["points"].push_back(entry_json(entry));
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
