// What a user may set for probes: each backend declares its options once; the command line and the checks follow from that.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity_text.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::measure {

enum class OptionKind { text, bytes, integer, number, time, flag };

struct Option {
  std::string flags;  // "--size", "-b,--minbytes"
  OptionKind kind = OptionKind::text;
  std::string type;  // as the help shows the value: "SIZE"
  std::string doc;
  std::vector<std::string> choices = {};  // of a text; empty = any
  std::optional<double> min = {};         // of numbers, in SI units

  std::string name() const;  // the long flag without dashes: "size"
};

// What was set, by option name, and what holds for every probe.
class Settings {
 public:
  std::uint64_t seed = 1;
  bool quick = false;
  int repetitions = 0;  // so many samples of everything; 0 = until the median is precise or the time is used up

  void put(const std::string& name, std::string text) { values_[name] = std::move(text); }
  bool has(std::string_view name) const { return values_.contains(name); }

  // Each is absent where nothing was set. The texts have passed check() before.
  std::optional<std::string> text(std::string_view name) const;
  std::optional<Bytes> bytes(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<Seconds> time(std::string_view name) const;
  bool flag(std::string_view name) const { return has(name); }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

// Every value that was set has the form that its option asks for. The error is one of the command line.
Result<void> check(const std::vector<Option>& options, const Settings& settings);

}  // namespace trunkline::measure
