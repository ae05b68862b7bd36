// What may stand in a file that users write: one table gives validation with hints, and JSON Schema.
//
// A reader calls check() first; afterwards every present field is known to have the right form, so the typed
// getters below only convert.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/quantity_text.hpp"
#include "base/result.hpp"
#include "base/units.hpp"
#include "io/value.hpp"

namespace trunkline::io {

enum class FieldType { text, choice, boolean, integer, number, bytes, bandwidth, time, flop_rate, money, object, list, any };

struct ObjectSpec;

struct FieldSpec {
  std::string name;
  FieldType type = FieldType::text;
  std::string doc;  // one line, as shown in the schema
  bool required = false;
  std::vector<std::string> choices = {};     // of a choice
  const ObjectSpec* object = nullptr;        // of an object, or of a list's items
  std::vector<std::string> also = {};        // words accepted in place of the type, for example "auto"
  std::optional<double> min = {}, max = {};  // of integer and number
  std::string low = {}, high = {};           // of a quantity, with its unit: "1 Mb/s"; empty = those of its type (spec.cpp)
  std::string why = {};                      // the bounds are where they are; a few words for whoever meets them
};

struct ObjectSpec {
  std::string name;  // "job", "platform.node"
  std::string doc;
  std::vector<FieldSpec> fields;
};

// The bounds of a field in words, "1 Mb/s to 100 TB/s"; empty = none of its own.
std::string bounds_text(const FieldSpec& field);

// Checks `value` against `spec` all the way down. The error names file, line, what was found, what was expected,
// and the nearest known words.
Result<void> check(const Value& value, const ObjectSpec& spec);

// JSON Schema (draft 2020-12) of `spec`, as text.
std::string json_schema(const ObjectSpec& spec);

// Typed access after check(). Each returns nullopt where the field is absent, null, or one of the `also` words.
std::optional<std::string> get_text(const Value& map, std::string_view key);
std::optional<bool> get_bool(const Value& map, std::string_view key);
std::optional<std::int64_t> get_integer(const Value& map, std::string_view key);
std::optional<double> get_number(const Value& map, std::string_view key);
std::optional<Bytes> get_bytes(const Value& map, std::string_view key);
std::optional<Bandwidth> get_bandwidth(const Value& map, std::string_view key);
std::optional<Seconds> get_seconds(const Value& map, std::string_view key);
std::optional<FlopRate> get_flop_rate(const Value& map, std::string_view key);
std::optional<Money> get_money(const Value& map, std::string_view key);

}  // namespace trunkline::io
