#include "measure/result.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"

namespace trunkline::measure {

const Fact* find(const Conditions& conditions, std::string_view name) {
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const Condition& c) { return c.name == name; });
  return found == conditions.end() ? nullptr : &found->value;
}

void set(Conditions& conditions, std::string name, Fact value) {
  const auto found = std::find_if(conditions.begin(), conditions.end(), [&](const Condition& c) { return c.name == name; });
  if (found == conditions.end())
    conditions.push_back({std::move(name), std::move(value)});
  else
    found->value = std::move(value);
}

std::string to_text(const Fact& fact) {
  if (const auto* flag = std::get_if<bool>(&fact)) return *flag ? "yes" : "no";
  if (const auto* count = std::get_if<std::int64_t>(&fact)) return fmt::format("{}", *count);
  if (const auto* number = std::get_if<double>(&fact)) return significant(*number);
  return std::get<std::string>(fact);
}

std::optional<stats::Summary> Metric::summary() const { return stats::summarize(samples); }

std::optional<double> Metric::median() const {
  if (const auto s = summary()) return s->median;
  return std::nullopt;
}

std::optional<stats::Interval> Metric::interval() const { return stats::median_interval(samples, 0.95); }

std::optional<double> Metric::share_of_limit() const {
  const auto middle = median();
  if (!middle || !limit || *limit <= 0 || *middle <= 0) return std::nullopt;
  return better == Better::higher ? *middle / *limit : *limit / *middle;
}

const Metric* ProbeResult::find(std::string_view metric) const {
  const auto found = std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return m.name == metric; });
  return found == metrics.end() ? nullptr : &*found;
}

const ProbeResult* Measurement::find(std::string_view probe) const {
  const auto found = std::find_if(probes.begin(), probes.end(), [&](const ProbeResult& p) { return p.name == probe; });
  return found == probes.end() ? nullptr : &*found;
}

std::string name_of(Status status) {
  switch (status) {
    case Status::ok: return "ok";
    case Status::waived: return "waived";
    case Status::failed: return "failed";
  }
  return {};
}

std::string name_of(Better better) { return better == Better::higher ? "higher" : "lower"; }

}  // namespace trunkline::measure
