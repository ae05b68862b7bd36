#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "measure/result.hpp"

namespace trunkline::measure {
namespace {

using Json = nlohmann::ordered_json;

// Absent = null; JSON knows no infinity and no NaN, so these are null too.
Json number(std::optional<double> value) { return value && std::isfinite(*value) ? Json(*value) : Json(nullptr); }
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

Json json_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) out[key] = value;
  return out;
}

Json json_of(const Conditions& conditions) {
  Json out = Json::object();
  for (const auto& c : conditions) out[c.name] = std::visit([](const auto& value) { return Json(value); }, c.value);
  return out;
}

Json json_of(const Metric& m) {
  const auto summary = m.summary();
  const auto interval = m.interval();
  Json out = {{"name", m.name},
              {"unit", m.unit},
              {"better", name_of(m.better)},
              {"n", m.samples.size()},
              {"median", number(m.median())},
              {"interval", nullptr},
              {"min", number(summary ? std::optional(summary->min) : std::nullopt)},
              {"max", number(summary ? std::optional(summary->max) : std::nullopt)},
              {"limit", number(m.limit)},
              {"limit_source", or_null(m.limit_source)},
              {"share_of_limit", number(m.share_of_limit())},
              {"stopped", or_null(m.stopped)},
              {"conditions", json_of(m.conditions)},
              {"warmup", m.warmup},
              {"samples", m.samples}};
  if (interval) out["interval"] = {{"low", interval->low}, {"high", interval->high}, {"level", interval->level}};
  return out;
}

Json json_of(const ProbeResult& p) {
  Json out = {{"name", p.name},
              {"status", name_of(p.status)},
              {"reason", or_null(p.reason)},
              {"duration_s", number(p.duration_s)},
              {"contention",
               {{"noticed", p.contention.noticed},
                {"steal_share", number(p.contention.steal_share)},
                {"others_share", number(p.contention.others_share)},
                {"load_before", number(p.contention.load_before)}}},
              {"warnings", p.warnings},
              {"metrics", Json::array()}};
  for (const Metric& m : p.metrics) out["metrics"].push_back(json_of(m));
  return out;
}

Json json_of(const GpuReading& r) {
  return {{"sm_clock_hz", number(r.sm_clock_hz)},
          {"memory_clock_hz", number(r.memory_clock_hz)},
          {"power_w", number(r.power_w)},
          {"temperature_c", number(r.temperature_c)},
          {"pcie_generation", or_null(r.pcie_generation)},
          {"pcie_width", or_null(r.pcie_width)},
          {"throttle", r.throttle}};
}

Json json_of(const GpuState& g) {
  return {{"index", g.index},
          {"name", or_null(g.name)},
          {"uuid", or_null(g.uuid)},
          {"pci", or_null(g.pci)},
          {"memory_bytes", or_null(g.memory_bytes)},
          {"pcie_generation", or_null(g.pcie_generation)},
          {"pcie_width", or_null(g.pcie_width)},
          {"sm_clock_hz", number(g.sm_clock_hz)},
          {"power_limit_w", number(g.power_limit_w)},
          {"ecc", or_null(g.ecc)},
          {"links_up", or_null(g.links_up)},
          {"before", json_of(g.before)},
          {"after", json_of(g.after)}};
}

Json json_of(const Context& c) {
  Json out = {{"schema_version", kSchemaVersion},
              {"tool", "trunkline"},
              {"tool_version", or_null(c.tool_version)},
              {"command_line", or_null(c.command_line)},
              {"backend", or_null(c.backend)},
              {"started", or_null(c.started)},
              {"finished", or_null(c.finished)},
              {"seed", or_null(c.seed)},
              {"quick", c.quick},
              {"host", or_null(c.host)},
              {"os", or_null(c.os)},
              {"kernel", or_null(c.kernel)},
              {"machine", or_null(c.machine)},
              {"virtualization", or_null(c.virtualization)},
              {"cpu", or_null(c.cpu)},
              {"cpus", or_null(c.cpus)},
              {"cores", or_null(c.cores)},
              {"sockets", or_null(c.sockets)},
              {"cpu_quota", number(c.cpu_quota)},
              {"memory_bytes", or_null(c.memory_bytes)},
              {"numa", Json::array()},
              {"governor", or_null(c.governor)},
              {"clocks",
               {{"min_hz", number(c.clock_min_hz)},
                {"max_hz", number(c.clock_max_hz)},
                {"before_hz", number(c.clock_before_hz)},
                {"after_hz", number(c.clock_after_hz)}}},
              {"load", {{"before", number(c.load_before)}, {"after", number(c.load_after)}}},
              {"steal_share", number(c.steal_share)},
              {"gpus", Json::array()},
              {"driver", or_null(c.driver)},
              {"cuda", or_null(c.cuda)},
              {"nccl", or_null(c.nccl)},
              {"libraries", json_of(c.libraries)},
              {"environment", json_of(c.environment)},
              {"topology_hash", or_null(c.topology_hash)}};
  for (const NumaNode& n : c.numa) out["numa"].push_back({{"index", n.index}, {"cpus", n.cpus}, {"memory_bytes", n.memory_bytes}});
  for (const GpuState& g : c.gpus) out["gpus"].push_back(json_of(g));
  return out;
}

}  // namespace

std::string to_json(const Measurement& measurement) {
  Json out;
  out["context"] = json_of(measurement.context);
  out["complete"] = measurement.complete;
  out["probes"] = Json::array();
  for (const ProbeResult& p : measurement.probes) out["probes"].push_back(json_of(p));
  return out.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trunkline::measure
