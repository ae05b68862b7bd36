#include "base/quantity_text.hpp"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace trunkline {
inline namespace base {
namespace {

struct Split {
  double number = 0;
  std::string_view unit;
};

tl::unexpected<Error> wrong(std::string message, std::string hint = {}) {
  return bad_input({}, std::move(message), std::move(hint));
}

Result<Split> split_number(std::string_view text, std::string_view expected) {
  text = trim(text);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc{} || !std::isfinite(number)) {
    return wrong(fmt::format("\"{}\" is not a number with a unit", text.substr(0, 60)), fmt::format("expected {}", expected));
  }
  return Split{number, trim(text.substr(std::size_t(end - text.data())))};
}

using UnitTable = std::vector<std::pair<std::string, double>>;

// Finds the unit or explains what is wrong with it.
Result<double> with_unit(std::string_view text, const UnitTable& table, std::string_view expected) {
  TRUNKLINE_ASSIGN(parts, split_number(text, expected));
  for (const auto& [unit, factor] : table) {
    if (parts.unit == unit) return parts.number * factor;
  }
  if (parts.unit.empty()) {
    return wrong(fmt::format("\"{}\" has no unit", trim(text)), fmt::format("expected {}", expected));
  }
  std::vector<std::string> names;
  for (const auto& [unit, factor] : table) names.push_back(unit);
  return wrong(fmt::format("\"{}\" is not a unit here (in \"{}\")", parts.unit.substr(0, 40), trim(text).substr(0, 60)),
               fmt::format("expected {}; {}", expected, did_you_mean(parts.unit, names)));
}

UnitTable byte_units(std::string_view suffix) {
  UnitTable table;
  const std::array<std::pair<const char*, double>, 6> decimal{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};
  const std::array<std::pair<const char*, double>, 4> binary{{{"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}}};
  for (const auto& [prefix, factor] : decimal) table.emplace_back(fmt::format("{}B{}", prefix, suffix), factor);
  table.emplace_back(fmt::format("KB{}", suffix), 1e3);
  for (const auto& [prefix, factor] : binary) table.emplace_back(fmt::format("{}B{}", prefix, suffix), factor);
  return table;
}

const UnitTable& bandwidth_units() {
  static const UnitTable table = [] {
    UnitTable t = byte_units("/s");
    for (const auto& [prefix, factor] : std::array<std::pair<const char*, double>, 5>{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}}) {
      t.emplace_back(fmt::format("{}b/s", prefix), factor / 8);
      t.emplace_back(fmt::format("{}bit/s", prefix), factor / 8);
    }
    return t;
  }();
  return table;
}

std::string scaled_text(double value, const std::vector<std::pair<double, const char*>>& steps) {
  for (const auto& [factor, unit] : steps) {
    if (std::abs(value) >= factor * 0.9995) return fmt::format("{} {}", significant(value / factor), unit);
  }
  return fmt::format("{} {}", significant(value / steps.back().first), steps.back().second);
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  TRUNKLINE_ASSIGN(parts, split_number(text, "a number such as 0.94 or 100e6"));
  if (!parts.unit.empty()) return wrong(fmt::format("\"{}\" is not a plain number", trim(text).substr(0, 60)), "expected a number without a unit, such as 0.94 or 100e6");
  return parts.number;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  TRUNKLINE_ASSIGN(number, parse_number(text));
  if (number != std::floor(number) || std::abs(number) > 9e15) {
    return wrong(fmt::format("\"{}\" is not a whole number", trim(text).substr(0, 60)), "expected a whole number such as 8 or 1e6");
  }
  return std::int64_t(number);
}

Result<Bytes> parse_bytes(std::string_view text) {
  static const UnitTable table = byte_units("");
  TRUNKLINE_ASSIGN(value, with_unit(text, table, "a size such as 28.5 KB, 80 GB or 25 MiB"));
  if (value < 0 || value > 9e18) return wrong(fmt::format("\"{}\" is out of range for a size", trim(text).substr(0, 60)));
  return scaled(Bytes(1), value);
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  TRUNKLINE_ASSIGN(value, with_unit(text, bandwidth_units(), "a rate such as 400 Gb/s (bits) or 8 GB/s (bytes)"));
  if (value < 0) return wrong(fmt::format("\"{}\" is negative", trim(text).substr(0, 60)));
  return byte_per_s(value);
}

Result<Seconds> parse_seconds(std::string_view text) {
  static const UnitTable table{{"ns", 1e-9}, {"us", 1e-6}, {"µs", 1e-6}, {"ms", 1e-3}, {"s", 1},   {"min", 60},
                               {"h", 3600},  {"hour", 3600}, {"hours", 3600}, {"d", 86400}, {"day", 86400}, {"days", 86400}, {"week", 604800}, {"weeks", 604800}};
  TRUNKLINE_ASSIGN(value, with_unit(text, table, "a time such as 130 ns, 10 min, 4000 h or 5 days"));
  if (value < 0) return wrong(fmt::format("\"{}\" is negative", trim(text).substr(0, 60)));
  return seconds(value);
}

Result<FlopRate> parse_flop_rate(std::string_view text) {
  static const UnitTable table{{"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  TRUNKLINE_ASSIGN(value, with_unit(text, table, "a rate such as 312 TFLOP/s"));
  if (value < 0) return wrong(fmt::format("\"{}\" is negative", trim(text).substr(0, 60)));
  return flop_per_s(value);
}

Result<Money> parse_money(std::string_view text) {
  TRUNKLINE_ASSIGN(parts, split_number(text, "an amount such as 12 CNY or 2.49 USD"));
  if (parts.number < 0) return wrong(fmt::format("\"{}\" is negative", trim(text).substr(0, 60)));
  bool code = parts.unit.size() == 3;
  for (char c : parts.unit) code = code && c >= 'A' && c <= 'Z';
  if (!code) return wrong(fmt::format("\"{}\" names no currency", trim(text).substr(0, 60)), "expected an amount such as 12 CNY or 2.49 USD");
  return Money{parts.number, std::string(parts.unit)};
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  const int exponent = int(std::floor(std::log10(std::abs(value))));
  if (exponent >= 6 || exponent < -4) return fmt::format("{:.{}e}", value, digits - 1);
  const double unit = std::pow(10.0, exponent - digits + 1);
  const double rounded = std::round(value / unit) * unit;
  return fmt::format("{:.{}f}", rounded, std::max(0, digits - 1 - exponent));
}

std::string to_text(Bytes value) {
  return scaled_text(double(value.count()), {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}});
}
std::string to_text(Bandwidth value) {
  return scaled_text(value.si(), {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "KB/s"}, {1, "B/s"}});
}
std::string to_text(Seconds value) {
  return scaled_text(value.si(), {{172800, "days"}, {7200, "h"}, {120, "min"}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}
std::string to_text(FlopRate value) {
  return scaled_text(value.si(), {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}});
}

}  // namespace base
}  // namespace trunkline
