#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <concepts>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/files.hpp"
#include "io/value.hpp"
#include "measure/result.hpp"

namespace trunkline::measure {
namespace {

using io::Value;

constexpr char kEdited[] = "result files are written by trunkline measure: if this one was edited, undo it";

// Every reader below takes the map that holds `key`; absent and null are the same.

const Value* present(const Value& map, const char* key) {
  const Value* found = map.find(key);
  return found && !found->is_null() ? found : nullptr;
}

tl::unexpected<Error> wrong(const Value& value, const char* key, const char* expected) {
  return bad_input(value.where(), fmt::format("{}: found {}, expected {}", key, value.describe(), expected), kEdited);
}

Result<void> read(const Value& map, const char* key, std::string& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_scalar()) return wrong(*v, key, "text");
  out = v->text();
  return {};
}

Result<double> number_in(const Value& v, const char* key) {
  if (!v.is_scalar()) return wrong(v, key, "a number");
  const auto parsed = parse_number(v.text());
  if (!parsed) return wrong(v, key, "a number");
  return *parsed;
}

Result<void> read(const Value& map, const char* key, std::optional<double>& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  TRUNKLINE_ASSIGN(value, number_in(*v, key));
  out = value;
  return {};
}

template <std::integral T>
Result<void> read(const Value& map, const char* key, std::optional<T>& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_scalar()) return wrong(*v, key, "a whole number");
  T value{};
  const std::string& text = v->text();
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return wrong(*v, key, "a whole number");
  out = value;
  return {};
}

Result<void> read(const Value& map, const char* key, bool& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_scalar() || (v->text() != "true" && v->text() != "false")) return wrong(*v, key, "true or false");
  out = v->text() == "true";
  return {};
}

Result<void> read(const Value& map, const char* key, std::vector<double>& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_list()) return wrong(*v, key, "a list of numbers");
  for (const Value& item : v->items()) {
    TRUNKLINE_ASSIGN(value, number_in(item, key));
    out.push_back(value);
  }
  return {};
}

Result<void> read(const Value& map, const char* key, std::vector<std::string>& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_list()) return wrong(*v, key, "a list of texts");
  for (const Value& item : v->items()) {
    if (!item.is_scalar()) return wrong(item, key, "text");
    out.push_back(item.text());
  }
  return {};
}

Result<void> read(const Value& map, const char* key, std::vector<std::pair<std::string, std::string>>& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_map()) return wrong(*v, key, "a block of keys");
  for (const auto& [name, item] : v->fields()) {
    if (!item.is_scalar()) return wrong(item, key, "text");
    out.emplace_back(name, item.text());
  }
  return {};
}

// The tree keeps the text of a scalar, not its quotes: what reads as a flag or a number is one.
Fact fact_of(const std::string& text) {
  if (text == "true" || text == "false") return text == "true";
  std::int64_t count = 0;
  const char* end = text.data() + text.size();
  if (const auto done = std::from_chars(text.data(), end, count); done.ec == std::errc() && done.ptr == end) return count;
  double number = 0;
  if (const auto done = std::from_chars(text.data(), end, number); done.ec == std::errc() && done.ptr == end && std::isfinite(number))
    return number;
  return text;
}

Result<void> read(const Value& map, const char* key, Conditions& out) {
  const Value* v = present(map, key);
  if (!v) return {};
  if (!v->is_map()) return wrong(*v, key, "a block of keys");
  for (const auto& [name, item] : v->fields()) {
    if (!item.is_scalar()) return wrong(item, key, "one value");
    out.push_back({name, fact_of(item.text())});
  }
  return {};
}

// The map under `key`, or nullptr where it is absent.
Result<const Value*> block(const Value& map, const char* key) {
  const Value* v = present(map, key);
  if (v && !v->is_map()) return wrong(*v, key, "a block of keys");
  return v;
}

// The items of the list under `key`, each of them a map.
Result<std::vector<const Value*>> blocks(const Value& map, const char* key) {
  std::vector<const Value*> out;
  const Value* v = present(map, key);
  if (!v) return out;
  if (!v->is_list()) return wrong(*v, key, "a list");
  for (const Value& item : v->items()) {
    if (!item.is_map()) return wrong(item, key, "a block of keys");
    out.push_back(&item);
  }
  return out;
}

Result<void> read_word(const Value& map, const char* key, std::initializer_list<const char*> words, std::size_t& out) {
  const Value* v = present(map, key);
  if (!v) return bad_input(map.where(), fmt::format("the key \"{}\" is missing", key), kEdited);
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (v->is_scalar() && v->text() == words.begin()[i]) {
      out = i;
      return {};
    }
  }
  return wrong(*v, key, words.size() == 2 ? "higher or lower" : "ok, waived or failed");
}

Result<Metric> metric_from(const Value& map) {
  Metric m;
  std::size_t better = 0;
  TRUNKLINE_TRY(read(map, "name", m.name));
  TRUNKLINE_TRY(read(map, "unit", m.unit));
  if (m.name.empty() || m.unit.empty()) return bad_input(map.where(), "a metric without a name or a unit", kEdited);
  if (present(map, "better")) TRUNKLINE_TRY(read_word(map, "better", {"higher", "lower"}, better));
  m.better = better == 0 ? Better::higher : Better::lower;
  TRUNKLINE_TRY(read(map, "samples", m.samples));
  TRUNKLINE_TRY(read(map, "warmup", m.warmup));
  TRUNKLINE_TRY(read(map, "limit", m.limit));
  TRUNKLINE_TRY(read(map, "limit_source", m.limit_source));
  TRUNKLINE_TRY(read(map, "conditions", m.conditions));
  TRUNKLINE_TRY(read(map, "stopped", m.stopped));
  return m;
}

Result<ProbeResult> probe_from(const Value& map) {
  ProbeResult p;
  std::size_t status = 0;
  TRUNKLINE_TRY(read(map, "name", p.name));
  if (p.name.empty()) return bad_input(map.where(), "a probe without a name", kEdited);
  TRUNKLINE_TRY(read_word(map, "status", {"ok", "waived", "failed"}, status));
  p.status = Status(status);
  TRUNKLINE_TRY(read(map, "reason", p.reason));
  TRUNKLINE_TRY(read(map, "duration_s", p.duration_s));
  TRUNKLINE_TRY(read(map, "warnings", p.warnings));
  TRUNKLINE_ASSIGN(contention, block(map, "contention"));
  if (contention) {
    TRUNKLINE_TRY(read(*contention, "noticed", p.contention.noticed));
    TRUNKLINE_TRY(read(*contention, "steal_share", p.contention.steal_share));
    TRUNKLINE_TRY(read(*contention, "others_share", p.contention.others_share));
    TRUNKLINE_TRY(read(*contention, "load_before", p.contention.load_before));
  }
  TRUNKLINE_ASSIGN(metrics, blocks(map, "metrics"));
  for (const Value* item : metrics) {
    TRUNKLINE_ASSIGN(metric, metric_from(*item));
    if (p.find(metric.name)) return bad_input(item->where(), fmt::format("{}: the metric {} stands twice", p.name, metric.name), kEdited);
    p.metrics.push_back(std::move(metric));
  }
  return p;
}

Result<void> read_machine(const Value& map, Context& c) {
  TRUNKLINE_TRY(read(map, "host", c.host));
  TRUNKLINE_TRY(read(map, "os", c.os));
  TRUNKLINE_TRY(read(map, "kernel", c.kernel));
  TRUNKLINE_TRY(read(map, "machine", c.machine));
  TRUNKLINE_TRY(read(map, "virtualization", c.virtualization));
  TRUNKLINE_TRY(read(map, "cpu", c.cpu));
  TRUNKLINE_TRY(read(map, "cpus", c.cpus));
  TRUNKLINE_TRY(read(map, "cores", c.cores));
  TRUNKLINE_TRY(read(map, "sockets", c.sockets));
  TRUNKLINE_TRY(read(map, "cpu_quota", c.cpu_quota));
  TRUNKLINE_TRY(read(map, "memory_bytes", c.memory_bytes));
  TRUNKLINE_TRY(read(map, "governor", c.governor));
  TRUNKLINE_TRY(read(map, "topology_hash", c.topology_hash));
  TRUNKLINE_ASSIGN(nodes, blocks(map, "numa"));
  for (const Value* item : nodes) {
    std::optional<int> index;
    std::optional<std::int64_t> memory;
    NumaNode node;
    TRUNKLINE_TRY(read(*item, "index", index));
    TRUNKLINE_TRY(read(*item, "cpus", node.cpus));
    TRUNKLINE_TRY(read(*item, "memory_bytes", memory));
    node.index = index.value_or(int(c.numa.size()));
    node.memory_bytes = memory.value_or(0);
    c.numa.push_back(std::move(node));
  }
  return {};
}

Result<void> read(const Value& map, const char* key, std::optional<bool>& out) {
  if (!present(map, key)) return {};
  bool value = false;
  TRUNKLINE_TRY(read(map, key, value));
  out = value;
  return {};
}

Result<void> read(const Value& map, const char* key, GpuReading& out) {
  TRUNKLINE_ASSIGN(reading, block(map, key));
  if (!reading) return {};
  TRUNKLINE_TRY(read(*reading, "sm_clock_hz", out.sm_clock_hz));
  TRUNKLINE_TRY(read(*reading, "memory_clock_hz", out.memory_clock_hz));
  TRUNKLINE_TRY(read(*reading, "power_w", out.power_w));
  TRUNKLINE_TRY(read(*reading, "temperature_c", out.temperature_c));
  TRUNKLINE_TRY(read(*reading, "pcie_generation", out.pcie_generation));
  TRUNKLINE_TRY(read(*reading, "pcie_width", out.pcie_width));
  TRUNKLINE_TRY(read(*reading, "throttle", out.throttle));
  return {};
}

Result<void> read_gpus(const Value& map, Context& c) {
  TRUNKLINE_ASSIGN(gpus, blocks(map, "gpus"));
  for (const Value* item : gpus) {
    GpuState gpu;
    std::optional<int> index;
    TRUNKLINE_TRY(read(*item, "index", index));
    gpu.index = index.value_or(int(c.gpus.size()));
    TRUNKLINE_TRY(read(*item, "name", gpu.name));
    TRUNKLINE_TRY(read(*item, "uuid", gpu.uuid));
    TRUNKLINE_TRY(read(*item, "pci", gpu.pci));
    TRUNKLINE_TRY(read(*item, "memory_bytes", gpu.memory_bytes));
    TRUNKLINE_TRY(read(*item, "pcie_generation", gpu.pcie_generation));
    TRUNKLINE_TRY(read(*item, "pcie_width", gpu.pcie_width));
    TRUNKLINE_TRY(read(*item, "sm_clock_hz", gpu.sm_clock_hz));
    TRUNKLINE_TRY(read(*item, "power_limit_w", gpu.power_limit_w));
    TRUNKLINE_TRY(read(*item, "ecc", gpu.ecc));
    TRUNKLINE_TRY(read(*item, "links_up", gpu.links_up));
    TRUNKLINE_TRY(read(*item, "before", gpu.before));
    TRUNKLINE_TRY(read(*item, "after", gpu.after));
    c.gpus.push_back(std::move(gpu));
  }
  return {};
}

Result<void> read_run(const Value& map, Context& c) {
  TRUNKLINE_TRY(read(map, "tool_version", c.tool_version));
  TRUNKLINE_TRY(read(map, "command_line", c.command_line));
  TRUNKLINE_TRY(read(map, "backend", c.backend));
  TRUNKLINE_TRY(read(map, "started", c.started));
  TRUNKLINE_TRY(read(map, "finished", c.finished));
  TRUNKLINE_TRY(read(map, "seed", c.seed));
  TRUNKLINE_TRY(read(map, "quick", c.quick));
  TRUNKLINE_TRY(read(map, "steal_share", c.steal_share));
  TRUNKLINE_TRY(read(map, "driver", c.driver));
  TRUNKLINE_TRY(read(map, "cuda", c.cuda));
  TRUNKLINE_TRY(read(map, "nccl", c.nccl));
  TRUNKLINE_TRY(read(map, "libraries", c.libraries));
  TRUNKLINE_TRY(read(map, "environment", c.environment));
  TRUNKLINE_ASSIGN(clocks, block(map, "clocks"));
  if (clocks) {
    TRUNKLINE_TRY(read(*clocks, "min_hz", c.clock_min_hz));
    TRUNKLINE_TRY(read(*clocks, "max_hz", c.clock_max_hz));
    TRUNKLINE_TRY(read(*clocks, "before_hz", c.clock_before_hz));
    TRUNKLINE_TRY(read(*clocks, "after_hz", c.clock_after_hz));
  }
  TRUNKLINE_ASSIGN(load, block(map, "load"));
  if (load) {
    TRUNKLINE_TRY(read(*load, "before", c.load_before));
    TRUNKLINE_TRY(read(*load, "after", c.load_after));
  }
  return {};
}

Result<Context> context_from(const Value& root) {
  const Value* map = present(root, "context");
  const Value* probes = present(root, "probes");
  if (!map || !map->is_map() || !probes || !probes->is_list()) {
    return bad_input(root.where(), "this is no result file: it lacks \"context\" or \"probes\"",
                     "trunkline measure -o FILE.json writes one");
  }
  std::optional<int> version;
  TRUNKLINE_TRY(read(*map, "schema_version", version));
  if (!version) return bad_input(map->where(), "context lacks schema_version: this is no result file of trunkline", kEdited);
  if (*version > kSchemaVersion) {
    return bad_input(map->where(), fmt::format("schema version {}, this program knows up to {}", *version, kSchemaVersion),
                     "read it with the version of trunkline that wrote it, or a newer one");
  }
  Context c;
  TRUNKLINE_TRY(read_run(*map, c));
  TRUNKLINE_TRY(read_machine(*map, c));
  TRUNKLINE_TRY(read_gpus(*map, c));
  return c;
}

}  // namespace

Result<Measurement> measurement_from(std::string_view json, const std::string& file) {
  TRUNKLINE_ASSIGN(root, io::parse_json(json, file));
  Measurement out;
  out.file = file;
  TRUNKLINE_ASSIGN(context, context_from(root));
  out.context = std::move(context);
  TRUNKLINE_TRY(read(root, "complete", out.complete));
  TRUNKLINE_ASSIGN(probes, blocks(root, "probes"));
  for (const Value* item : probes) {
    TRUNKLINE_ASSIGN(probe, probe_from(*item));
    if (out.find(probe.name)) return bad_input(item->where(), fmt::format("the probe {} stands twice", probe.name), kEdited);
    out.probes.push_back(std::move(probe));
  }
  return out;
}

Result<Measurement> read_measurement(const std::string& path) {
  TRUNKLINE_ASSIGN(text, io::read_file(path));
  return measurement_from(text, path);
}

}  // namespace trunkline::measure
