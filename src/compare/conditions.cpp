#include "compare/conditions.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>

#include "base/quantity_text.hpp"

namespace trunkline::compare {
namespace {

using measure::Context;
using measure::Fact;
using measure::Measurement;
using measure::Metric;

namespace condition = measure::condition;

struct Deciding {
  std::string_view name;
  const char* reason;
};

// Circumstances under which the same metric is another measurement. What is not listed here (engine, algorithm, host, part) is what
// people compare.
constexpr Deciding kDeciding[] = {
    {condition::kFsync, "without fsync, writes end in memory"},
    {condition::kCache, "memory answers in place of the disk, or not"},
    {"direct", "memory answers in place of the disk, or not"},
    {condition::kBlock, "requests of another size"},
    {condition::kDepth, "another number of requests in flight"},
    {condition::kSize, "another amount of data"},
    {condition::kThreads, "another number of threads"},
    {"streams", "another number of connections"},
    {"queue_pairs", "another number of connections"},
    {condition::kRanks, "another number of ranks"},
    {condition::kNodes, "another number of nodes"},
    {condition::kStatistic, "another statistic of the samples"},
    {"operation", "another operation"},
    {"pattern", "another access pattern"},
    {"direction", "one way or both ways"},
    {"datatype", "another data type"},
    {"m", "another shape"},
    {"n", "another shape"},
    {"k", "another shape"},
};

constexpr double kDeviceShareApart = 0.1;  // of the bytes asked for: more, and a cache took part on one side only

const Deciding* deciding(std::string_view name) {
  const auto found = std::find_if(std::begin(kDeciding), std::end(kDeciding), [&](const Deciding& d) { return d.name == name; });
  return found == std::end(kDeciding) ? nullptr : found;
}

std::string text_of(std::string_view name, const Fact& fact) {
  const auto* count = std::get_if<std::int64_t>(&fact);
  if (count && name.ends_with("_bytes")) return fmt::format("{} ({})", *count, to_text(Bytes(*count)));
  return measure::to_text(fact);
}

double number_of(const Fact& fact) {
  if (const auto* count = std::get_if<std::int64_t>(&fact)) return double(*count);
  if (const auto* number = std::get_if<double>(&fact)) return *number;
  return std::nan("");
}

bool equal(const Fact& a, const Fact& b) {
  if (a == b) return true;
  return number_of(a) == number_of(b);  // 8 and 8.0; NaN for what is no number
}

Difference compared(const std::string& name, const Fact* a, const Fact* b) {
  Difference d;
  d.field = name;
  d.values = {a ? text_of(name, *a) : "", b ? text_of(name, *b) : ""};
  if (!a || !b) {
    if (deciding(name)) d.reason = "one side does not record it: cannot be checked";
    return d;
  }
  if (const Deciding* rule = deciding(name)) {
    d.decisive = true;
    d.reason = rule->reason;
  } else if (name == condition::kDeviceShare) {
    d.decisive = std::abs(number_of(*a) - number_of(*b)) > kDeviceShareApart;
    if (d.decisive) d.reason = "on one side a cache answered, or data was moved more than once";
  } else if (name == condition::kVerified) {
    d.reason = "on one side nothing was checked: its data may be wrong";
  }
  return d;
}

// A device share differs from run to run like any measured number: only where it says something is it worth a line.
bool worth_a_line(const Difference& d) { return d.decisive || d.field != condition::kDeviceShare; }

// Repetitions before the counted ones. Several in one sample (a mean) with none before them hold the costs of the first.
void add_warmup(const Metric& reference, const Metric& other, std::vector<Difference>& out) {
  const std::size_t a = reference.warmup.size(), b = other.warmup.size();
  if (a == b) return;
  if (measure::find(reference.conditions, "warmup_iterations") || measure::find(other.conditions, "warmup_iterations")) return;
  Difference d;
  d.field = "warmup";
  d.values = {fmt::format("{}", a), fmt::format("{}", b)};
  if (a == 0 || b == 0) d.reason = "the first repetitions may hold set-up costs on one side";
  out.push_back(std::move(d));
}

// Imported means say how many iterations came before.
void mark_cold_means(const Metric& reference, const Metric& other, std::vector<Difference>& out) {
  const auto none = [](const Metric& m) {
    const Fact* count = measure::find(m.conditions, "warmup_iterations");
    return count && number_of(*count) == 0;
  };
  for (Difference& d : out) {
    if (d.field != "warmup_iterations" || none(reference) == none(other)) continue;
    d.decisive = true;
    d.reason = "without warm-up, a mean holds the costs of the first iterations";
  }
}

std::string gpus_text(const Context& c) {
  if (c.gpus.empty()) return "";
  const bool alike = std::all_of(c.gpus.begin(), c.gpus.end(), [&](const auto& g) { return g.name == c.gpus.front().name; });
  return alike ? fmt::format("{} x {}", c.gpus.size(), c.gpus.front().name) : fmt::format("{} of different kinds", c.gpus.size());
}

std::string power_limit_text(const Context& c) {
  if (c.gpus.empty() || !c.gpus.front().power_limit_w) return "";
  return fmt::format("{:.0f} W", *c.gpus.front().power_limit_w);
}

struct Field {
  const char* name;
  std::function<std::string(const Context&)> text;
  const char* reason = "";
};

template <class T>
std::string number_text(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "";
}

std::string rounded(const std::optional<double>& value, double unit, const char* suffix) {
  return value ? significant(*value / unit, 2) + suffix : "";
}

const std::vector<Field>& context_fields() {
  static const std::vector<Field> fields = {
      {"tool_version", [](const Context& c) { return c.tool_version; }},
      {"backend", [](const Context& c) { return c.backend; }},
      {"quick", [](const Context& c) { return std::string(c.quick ? "yes" : "no"); }, "a quick run takes fewer repetitions"},
      {"machine", [](const Context& c) { return c.machine; }},
      {"cpu", [](const Context& c) { return c.cpu; }},
      {"cpus", [](const Context& c) { return number_text(c.cpus); }},
      {"sockets", [](const Context& c) { return number_text(c.sockets); }},
      {"cpu_quota", [](const Context& c) { return number_text(c.cpu_quota); }},
      {"numa_nodes", [](const Context& c) { return c.numa.empty() ? std::string() : fmt::format("{}", c.numa.size()); }},
      {"memory_gib", [](const Context& c) { return c.memory_bytes ? significant(as_gib(Bytes(*c.memory_bytes))) : ""; }},
      {"virtualization", [](const Context& c) { return c.virtualization; }},
      {"os", [](const Context& c) { return c.os; }},
      {"kernel", [](const Context& c) { return c.kernel; }},
      {"governor", [](const Context& c) { return c.governor; }, "a governor that saves power slows short repetitions"},
      {"clock_max", [](const Context& c) { return rounded(c.clock_max_hz, 1e9, " GHz"); }},
      {"gpus", gpus_text},
      {"gpu_power_limit", power_limit_text, "a lower limit lowers the clock of long work"},
      {"driver", [](const Context& c) { return c.driver; }},
      {"cuda", [](const Context& c) { return c.cuda; }},
      {"nccl", [](const Context& c) { return c.nccl; }},
      {"topology_hash", [](const Context& c) { return c.topology_hash; }, "not the same parts"},
  };
  return fields;
}

bool differs(const std::vector<std::string>& values) {
  return std::any_of(values.begin(), values.end(), [&](const std::string& v) { return v != values.front(); });
}

using Pairs = std::vector<std::pair<std::string, std::string>>;

// Variables and library versions, each a field of its own.
void add_pairs(const std::vector<Measurement>& results, const char* prefix, const Pairs Context::* pairs, std::vector<Difference>& out) {
  std::vector<std::string> names;
  for (const auto& r : results) {
    for (const auto& [name, value] : r.context.*pairs) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
  }
  for (const auto& name : names) {
    Difference d;
    d.field = prefix + name;
    for (const auto& r : results) {
      const auto& all = r.context.*pairs;
      const auto found = std::find_if(all.begin(), all.end(), [&](const auto& pair) { return pair.first == name; });
      d.values.push_back(found == all.end() ? std::string() : found->second);
    }
    if (differs(d.values)) out.push_back(std::move(d));
  }
}

constexpr char kSimulated[] = "fake";

}  // namespace

std::vector<Difference> differences_between(const Metric& reference, const Metric& other) {
  std::vector<Difference> out;
  if (reference.unit != other.unit || reference.better != other.better) {
    out.push_back({"unit", {reference.unit, other.unit}, true, {}, "another quantity under the same name"});
  }
  for (const auto& c : reference.conditions) {
    const Fact* b = measure::find(other.conditions, c.name);
    if (!b || !equal(c.value, *b)) out.push_back(compared(c.name, &c.value, b));
  }
  for (const auto& c : other.conditions) {
    if (!measure::find(reference.conditions, c.name)) out.push_back(compared(c.name, nullptr, &c.value));
  }
  std::erase_if(out, [](const Difference& d) { return !worth_a_line(d); });
  add_warmup(reference, other, out);
  mark_cold_means(reference, other, out);
  return out;
}

std::vector<Difference> differences_between(const std::vector<Measurement>& results) {
  std::vector<Difference> out;
  for (const Field& field : context_fields()) {
    Difference d;
    d.field = field.name;
    for (const auto& r : results) d.values.push_back(field.text(r.context));
    if (!differs(d.values)) continue;
    d.reason = field.reason;
    if (d.field == "backend" && std::find(d.values.begin(), d.values.end(), kSimulated) != d.values.end()) {
      d.decisive = true;
      d.reason = "one of them was simulated, not measured";
    }
    out.push_back(std::move(d));
  }
  add_pairs(results, "environment ", &Context::environment, out);
  add_pairs(results, "library ", &Context::libraries, out);
  Difference complete{"complete", {}, false, {}, "an interrupted run: what it did not reach is missing"};
  for (const auto& r : results) complete.values.emplace_back(r.complete ? "yes" : "no");
  if (differs(complete.values)) out.push_back(std::move(complete));
  return out;
}

}  // namespace trunkline::compare
