#include "explain/readers/support.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

bool digits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Escape sequences of terminals: ESC [ … letter.
std::string without_colours(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\x1b') {
      out += text[i];
      continue;
    }
    if (i + 1 < text.size() && text[i + 1] == '[') {
      i += 2;
      while (i < text.size() && (text[i] < '@' || text[i] > '~')) ++i;
    }
  }
  return out;
}

// "[1,0]<stdout>:# size …" of mpirun --tag-output, "3: # size …" of srun --label.
std::string_view without_tag(std::string_view line) {
  const std::string_view inner = trim(line);
  if (inner.starts_with('[')) {
    const auto close = inner.find("]<std");
    const auto colon = close == std::string_view::npos ? close : inner.find(">:", close);
    if (colon != std::string_view::npos) return inner.substr(colon + 2);
  }
  const auto colon = inner.find(": ");
  if (colon != std::string_view::npos && colon <= 5 && digits(inner.substr(0, colon))) return inner.substr(colon + 2);
  return line;
}

}  // namespace

std::vector<Line> lines_of(std::string_view text) {
  std::vector<Line> out;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
    const std::string plain = contains(line, "\x1b") ? without_colours(line) : std::string(line);
    out.push_back({number, std::string(without_tag(plain))});
  }
  return out;
}

std::vector<std::string> words_of(std::string_view line) {
  std::vector<std::string> out;
  std::size_t at = 0;
  while (at < line.size()) {
    while (at < line.size() && (line[at] == ' ' || line[at] == '\t')) ++at;
    const std::size_t start = at;
    while (at < line.size() && line[at] != ' ' && line[at] != '\t') ++at;
    if (at > start) out.emplace_back(line.substr(start, at - start));
  }
  return out;
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::optional<double> number_of(std::string_view text) {
  double value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size() || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::optional<std::int64_t> whole_number_of(std::string_view text) {
  std::int64_t value = 0;
  const auto done = std::from_chars(text.data(), text.data() + text.size(), value);
  if (done.ec != std::errc() || done.ptr != text.data() + text.size()) return std::nullopt;
  return value;
}

std::vector<std::string> warnings_of(const std::vector<Skipped>& skipped, const std::string& file) {
  constexpr std::size_t kMost = 5;
  std::vector<std::string> out;
  for (const Skipped& s : skipped) {
    if (out.size() == kMost) {
      out.push_back(fmt::format("and {} more lines left out", skipped.size() - kMost));
      break;
    }
    out.push_back(fmt::format("{}:{}: left out: {}", file, s.line, s.reason));
  }
  return out;
}

Result<io::Value> json_in(std::string_view text, const std::string& file) {
  const auto open = text.find('{'), close = text.rfind('}');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open) {
    return bad_input({file, 0}, "no JSON object in it", "was the output cut off?");
  }
  std::string padded(std::size_t(std::count(text.begin(), text.begin() + std::ptrdiff_t(open), '\n')), '\n');
  padded += text.substr(open, close - open + 1);
  return io::parse_foreign_json(padded, file);
}

bool json_begins_with(std::string_view text, std::string_view key) {
  constexpr std::size_t kFar = 2000;  // tools write their own name first
  const auto open = text.find('{');
  return open != std::string_view::npos && contains(text.substr(open, kFar), fmt::format("\"{}\"", key));
}

const io::Value* map_at(const io::Value& map, std::string_view key) {
  const io::Value* v = map.find(key);
  return v && v->is_map() ? v : nullptr;
}

std::span<const io::Value> items_at(const io::Value& map, std::string_view key) {
  const io::Value* v = map.find(key);
  if (!v || !v->is_list()) return {};
  return v->items();
}

std::string text_at(const io::Value& map, std::string_view key) {
  const io::Value* v = map.find(key);
  return v && v->is_scalar() ? v->text() : std::string();
}

std::optional<double> number_at(const io::Value& map, std::string_view key) { return number_of(text_at(map, key)); }
std::optional<std::int64_t> whole_at(const io::Value& map, std::string_view key) { return whole_number_of(text_at(map, key)); }

std::string size_label(std::int64_t bytes) {
  struct Unit {
    std::int64_t size;
    const char* name;
  };
  for (const Unit& unit : {Unit{1LL << 30, "GiB"}, Unit{1LL << 20, "MiB"}, Unit{1LL << 10, "KiB"}}) {
    if (bytes >= unit.size && bytes % unit.size == 0) return fmt::format("{}{}", bytes / unit.size, unit.name);
  }
  return fmt::format("{}B", bytes);
}

measure::ProbeResult& probe_in(measure::Measurement& m, const std::string& name) {
  const auto found = std::find_if(m.probes.begin(), m.probes.end(), [&](const auto& p) { return p.name == name; });
  if (found != m.probes.end()) return *found;
  m.probes.push_back({name, measure::Status::ok, {}});
  return m.probes.back();
}

measure::Metric& metric_in(measure::ProbeResult& probe, const std::string& name, const std::string& unit, measure::Better better,
                           const measure::Conditions& conditions) {
  const auto found = std::find_if(probe.metrics.begin(), probe.metrics.end(), [&](const auto& m) { return m.name == name; });
  if (found != probe.metrics.end()) return *found;
  measure::Metric m{name, unit, better, {}};
  m.conditions = conditions;
  probe.metrics.push_back(std::move(m));
  return probe.metrics.back();
}

}  // namespace trunkline::explain::readers
