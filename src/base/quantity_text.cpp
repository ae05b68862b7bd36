#include "base/quantity_text.hpp"

#include <fmt/format.h>

#include <algorithm>
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
  std::string_view digits;  // the number as written
  std::string_view unit;
};

tl::unexpected<Error> wrong(std::string message, std::string hint = {}) { return bad_input({}, std::move(message), std::move(hint)); }

Result<Split> split_number(std::string_view text, std::string_view expected) {
  text = trim(text);
  double number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code == std::errc::result_out_of_range) {
    return wrong(fmt::format("\"{}\" is too large or too small a number", excerpt(text)), fmt::format("expected {}", expected));
  }
  if (code != std::errc{} || !std::isfinite(number)) {
    return wrong(fmt::format("\"{}\" is not a number with a unit", excerpt(text)), fmt::format("expected {}", expected));
  }
  const auto length = std::size_t(end - text.data());
  const Split parts{number, text.substr(0, length), trim(text.substr(length))};
  if (!parts.unit.empty() && (parts.unit[0] == ',' || parts.unit[0] == '_' || parts.unit[0] == '\'')) {
    return wrong(fmt::format("\"{}\" has \"{}\" inside the number", excerpt(text), parts.unit[0]),
                 "write 1500000 or 1.5e6; the decimal sign is a point");
  }
  return parts;
}

using UnitTable = std::vector<std::pair<std::string, double>>;

// Other spellings of what `unit` may have meant, in its own case: Gbps → Gb/s, 400Gb → 400 Gb/s, TFLOPS → TFLOP/s, sec → s.
std::vector<std::string> respelt(const std::string& unit) {
  static const std::vector<std::pair<const char*, const char*>> kWords{
      {"sec", "s"}, {"secs", "s"}, {"second", "s"}, {"seconds", "s"}, {"minute", "min"}, {"minutes", "min"}, {"mins", "min"},
      {"m", "min"}, {"m", "ms"},   {"hr", "h"},     {"hrs", "h"},     {"msec", "ms"},    {"usec", "us"},     {"nsec", "ns"}};
  std::vector<std::string> out{unit, unit + "/s", unit + "B", unit + "B/s"};
  if (unit.ends_with("ps")) out.push_back(unit.substr(0, unit.size() - 2) + "/s");
  if (unit.ends_with("s") || unit.ends_with("S")) out.push_back(unit.substr(0, unit.size() - 1) + "/s");
  if (const auto bits = unit.find("bits"); bits != std::string::npos) out.push_back(unit.substr(0, bits) + "bit/s");
  for (const auto& [from, to] : kWords) {
    if (lower(unit) == from) out.emplace_back(to);
  }
  return out;
}

// "did you mean 400 Gb/s or 400 GB/s?" for a unit that is nearly one of the table.
std::string unit_hint(const Split& parts, const UnitTable& table) {
  std::vector<std::string> names, same, near;
  const auto spellings = respelt(std::string(parts.unit.substr(0, 40)));
  for (const auto& [name, factor] : table) {
    names.push_back(name);
    const auto folded = [&](const std::string& spelling) { return lower(spelling) == lower(name); };
    if (std::find(spellings.begin(), spellings.end(), name) != spellings.end()) same.push_back(fmt::format("{} {}", parts.digits, name));
    if (std::any_of(spellings.begin(), spellings.end(), folded)) near.push_back(fmt::format("{} {}", parts.digits, name));
  }
  if (!same.empty()) near = same;
  if (near.empty()) return did_you_mean(parts.unit, names);
  const bool bits_or_bytes = parts.unit.find_first_of("bB") != std::string_view::npos;
  return fmt::format("did you mean {}?{}", join(near, " or "), bits_or_bytes ? " (b = bit, B = byte)" : "");
}

// The number and the factor of its unit, or what is wrong with it.
Result<std::pair<Split, double>> number_and_factor(std::string_view text, const UnitTable& table, std::string_view expected) {
  TRUNKLINE_ASSIGN(parts, split_number(text, expected));
  for (const auto& [unit, factor] : table) {
    if (parts.unit == unit) return std::pair(parts, factor);
  }
  if (parts.unit.empty()) return wrong(fmt::format("\"{}\" has no unit", excerpt(trim(text))), fmt::format("expected {}", expected));
  return wrong(fmt::format("\"{}\" is not a unit here (in \"{}\")", excerpt(parts.unit, 40), excerpt(trim(text))),
               fmt::format("expected {}; {}", expected, unit_hint(parts, table)));
}

// A finite amount ≥ 0 in SI units.
Result<double> with_unit(std::string_view text, const UnitTable& table, std::string_view expected) {
  TRUNKLINE_ASSIGN(found, number_and_factor(text, table, expected));
  const double value = found.first.number * found.second;
  if (value < 0) return wrong(fmt::format("\"{}\" is negative", excerpt(trim(text))), fmt::format("expected {}", expected));
  if (!std::isfinite(value)) return wrong(fmt::format("\"{}\" is too large", excerpt(trim(text))), fmt::format("expected {}", expected));
  return value;
}

UnitTable byte_units(std::string_view suffix) {
  UnitTable table;
  const std::array<std::pair<const char*, double>, 6> decimal{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}, {"P", 1e15}}};
  const std::array<std::pair<const char*, double>, 4> binary{
      {{"Ki", 1024.0}, {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0}}};
  for (const auto& [prefix, factor] : decimal) table.emplace_back(fmt::format("{}B{}", prefix, suffix), factor);
  table.emplace_back(fmt::format("KB{}", suffix), 1e3);
  for (const auto& [prefix, factor] : binary) table.emplace_back(fmt::format("{}B{}", prefix, suffix), factor);
  return table;
}

const UnitTable& bandwidth_units() {
  static const UnitTable table = [] {
    UnitTable t = byte_units("/s");
    for (const auto& [prefix, factor] :
         std::array<std::pair<const char*, double>, 5>{{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}, {"T", 1e12}}}) {
      t.emplace_back(fmt::format("{}b/s", prefix), factor / 8);
      t.emplace_back(fmt::format("{}bit/s", prefix), factor / 8);
    }
    return t;
  }();
  return table;
}

struct Step {
  double factor;
  const char* unit;
  double from = 1;  // used from this many units on
};

std::string scaled_text(double value, const std::vector<Step>& steps) {
  for (const auto& step : steps) {
    if (std::abs(value) >= step.factor * step.from * 0.9995) return fmt::format("{} {}", significant(value / step.factor), step.unit);
  }
  return fmt::format("{} {}", significant(value / steps.back().factor), steps.back().unit);
}

}  // namespace

Result<double> parse_number(std::string_view text) {
  constexpr std::string_view kExpected = "a number without a unit, such as 0.94 or 100e6";
  TRUNKLINE_ASSIGN(parts, split_number(text, kExpected));
  if (!parts.unit.empty())
    return wrong(fmt::format("\"{}\" is not a plain number", excerpt(trim(text))), fmt::format("expected {}", kExpected));
  return parts.number;
}

Result<std::int64_t> parse_integer(std::string_view text) {
  TRUNKLINE_ASSIGN(number, parse_number(text));
  if (number != std::floor(number) || std::abs(number) > 9e15) {
    return wrong(fmt::format("\"{}\" is not a whole number below 9e15", excerpt(trim(text))), "expected a whole number such as 8 or 1e6");
  }
  return std::int64_t(number);
}

Result<Bytes> parse_bytes(std::string_view text) {
  static const UnitTable table = byte_units("");
  constexpr std::string_view kExpected = "a size such as 28.5 KB, 80 GB or 25 MiB";
  TRUNKLINE_ASSIGN(found, number_and_factor(text, table, kExpected));
  const auto& [parts, factor] = found;
  const double value = parts.number * factor;
  if (value < 0 || value > 9e18)
    return wrong(fmt::format("\"{}\" is out of range for a size", excerpt(trim(text))), fmt::format("expected {}", kExpected));
  std::int64_t whole = 0;  // whole numbers stay exact beyond the 53 bits of a double
  const auto [end, code] = std::from_chars(parts.digits.data(), parts.digits.data() + parts.digits.size(), whole);
  if (code == std::errc{} && end == parts.digits.data() + parts.digits.size()) return Bytes(whole) * std::int64_t(factor);
  return scaled(Bytes(1), value);
}

Result<Bandwidth> parse_bandwidth(std::string_view text) {
  TRUNKLINE_ASSIGN(value, with_unit(text, bandwidth_units(), "a rate such as 400 Gb/s (bits) or 8 GB/s (bytes)"));
  return byte_per_s(value);
}

Result<Seconds> parse_seconds(std::string_view text) {
  static const UnitTable table{{"ns", 1e-9},   {"us", 1e-6},    {"µs", 1e-6},     {"ms", 1e-3},     {"s", 1},
                               {"min", 60},    {"h", 3600},     {"hour", 3600},   {"hours", 3600},  {"d", 86400},
                               {"day", 86400}, {"days", 86400}, {"week", 604800}, {"weeks", 604800}};
  TRUNKLINE_ASSIGN(value, with_unit(text, table, "a time such as 130 ns, 10 min, 4000 h or 5 days"));
  return seconds(value);
}

Result<FlopRate> parse_flop_rate(std::string_view text) {
  static const UnitTable table{{"GFLOP/s", 1e9}, {"TFLOP/s", 1e12}, {"PFLOP/s", 1e15}};
  TRUNKLINE_ASSIGN(value, with_unit(text, table, "a rate such as 312 TFLOP/s"));
  return flop_per_s(value);
}

Result<Money> parse_money(std::string_view text) {
  TRUNKLINE_ASSIGN(parts, split_number(text, "an amount such as 12 CNY or 2.49 USD"));
  if (parts.number < 0)
    return wrong(fmt::format("\"{}\" is negative", excerpt(trim(text))), "expected an amount such as 12 CNY or 2.49 USD");
  if (parts.number > 1e15)  // more than all the money there is, in any currency
    return wrong(fmt::format("\"{}\" is out of range for an amount", excerpt(trim(text))), "expected an amount such as 12 CNY or 2.49 USD");
  bool code = parts.unit.size() == 3;
  for (char c : parts.unit) code = code && c >= 'A' && c <= 'Z';
  if (!code) return wrong(fmt::format("\"{}\" names no currency", excerpt(trim(text))), "expected an amount such as 12 CNY or 2.49 USD");
  return Money{parts.number, std::string(parts.unit)};
}

std::string significant(double value, int digits) {
  if (!std::isfinite(value)) return fmt::format("{}", value);
  if (value == 0) return "0";
  int exponent = int(std::floor(std::log10(std::abs(value))));
  const double unit = std::pow(10.0, exponent - digits + 1);
  const double rounded = std::isnormal(unit) ? std::round(value / unit) * unit : value;
  if (std::abs(rounded) >= std::pow(10.0, exponent + 1) * (1 - 1e-12)) ++exponent;  // 9.996 became 10.0
  if (exponent >= 6 || exponent < -4) return fmt::format("{:.{}e}", value, digits - 1);
  return fmt::format("{:.{}f}", rounded, std::max(0, digits - 1 - exponent));
}

std::string to_text(Bytes value) {
  if (std::abs(value.count()) < 1000) return fmt::format("{} B", value.count());
  return scaled_text(double(value.count()), {{1e15, "PB"}, {1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "KB"}, {1, "B"}});
}
std::string to_text(Bandwidth value) {
  return scaled_text(value.si(), {{1e12, "TB/s"}, {1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "KB/s"}, {1, "B/s"}});
}
std::string to_text(Seconds value) {
  if (value.si() == 0) return "0 s";
  return scaled_text(value.si(), {{86400, "days", 2}, {3600, "h", 2}, {60, "min", 2}, {1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}});
}
std::string to_text(FlopRate value) { return scaled_text(value.si(), {{1e15, "PFLOP/s"}, {1e12, "TFLOP/s"}, {1e9, "GFLOP/s"}}); }

}  // namespace base
}  // namespace trunkline
