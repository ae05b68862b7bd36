#include "io/spec.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace trunkline::io {
namespace {

const char* expected_form(FieldType type) {
  switch (type) {
    case FieldType::text: return "text";
    case FieldType::choice: return "one of a few words";
    case FieldType::boolean: return "true or false";
    case FieldType::integer: return "a whole number";
    case FieldType::number: return "a number";
    case FieldType::bytes: return "a size with a unit, such as 28.5 KB";
    case FieldType::bandwidth: return "a rate with a unit, such as 400 Gb/s or 8 GB/s";
    case FieldType::time: return "a time with a unit, such as 10 min";
    case FieldType::flop_rate: return "a rate such as 312 TFLOP/s";
    case FieldType::money: return "an amount such as 12 CNY";
    case FieldType::object: return "a block of keys";
    case FieldType::list: return "a list";
    case FieldType::any: return "anything";
  }
  return "";
}

tl::unexpected<Error> at(const Value& value, const FieldSpec& field, const std::string& problem, std::string hint) {
  return bad_input(value.where(), fmt::format("{}: {}", field.name, problem), std::move(hint));
}

std::string because(const std::string& why) { return why.empty() ? why : ": " + why; }

template <class T>
Result<void> number_in_range(const Result<T>& number, const Value& value, const FieldSpec& field) {
  if (!number) return at(value, field, number.error().message, number.error().hint);
  if (field.min && double(*number) < *field.min)
    return at(value, field, fmt::format("{} is below {}", excerpt(value.text()), *field.min),
              fmt::format("expected at least {}{}", *field.min, because(field.why)));
  if (field.max && double(*number) > *field.max)
    return at(value, field, fmt::format("{} is above {}", excerpt(value.text()), *field.max),
              fmt::format("expected at most {}{}", *field.max, because(field.why)));
  return {};
}

struct Bounds {
  std::string low, high, why;
};

// What no quantity of a type exceeds, whichever field it stands in: beyond it a figure is a slip, and sums with it lose their meaning.
Bounds bounds_of(const FieldSpec& field) {
  if (!field.low.empty() || !field.high.empty()) return {field.low, field.high, field.why};
  switch (field.type) {
    case FieldType::bytes: return {"", "1000 PB", "no memory, disk or dataset is larger"};
    case FieldType::bandwidth: return {"1 KB/s", "1000 TB/s", "nothing that carries training data is slower or faster"};
    case FieldType::time: return {"", "1e9 days", "longer is for ever: leave the key out"};
    case FieldType::flop_rate: return {"1 GFLOP/s", "1000 PFLOP/s", "no GPU is slower or faster"};
    default: return {};
  }
}

// Zero is never too little here: its reader knows what it would mean.
template <class Parse>
Result<void> quantity_in_range(Parse parse, const Value& value, const FieldSpec& field) {
  const auto found = parse(value.text());
  if (!found) return at(value, field, found.error().message, found.error().hint);
  const Bounds bounds = bounds_of(field);
  const auto low = parse(bounds.low), high = parse(bounds.high);
  const bool below = low && *found < *low && *found > decltype(*found - *found){};
  if (!below && (!high || *found <= *high)) return {};
  const std::string expected = low && high ? fmt::format("{} to {}", bounds.low, bounds.high)
                               : low       ? "at least " + bounds.low
                                           : "at most " + bounds.high;
  return at(value, field, fmt::format("{} is {}", excerpt(value.text()), below ? "below " + bounds.low : "above " + bounds.high),
            fmt::format("expected {}{}", expected, because(bounds.why)));
}

Result<void> check_scalar(const Value& value, const FieldSpec& field) {
  const std::string& text = value.text();
  switch (field.type) {
    case FieldType::choice: {
      if (std::find(field.choices.begin(), field.choices.end(), text) != field.choices.end()) return {};
      return at(value, field, fmt::format("\"{}\" is not known here", excerpt(text)), did_you_mean(text, field.choices));
    }
    case FieldType::boolean:
      if (text == "true" || text == "false") return {};
      return at(value, field, fmt::format("found {}, expected true or false", value.describe()), {});
    case FieldType::integer: return number_in_range(parse_integer(text), value, field);
    case FieldType::number: return number_in_range(parse_number(text), value, field);
    case FieldType::bytes: return quantity_in_range(parse_bytes, value, field);
    case FieldType::bandwidth: return quantity_in_range(parse_bandwidth, value, field);
    case FieldType::time: return quantity_in_range(parse_seconds, value, field);
    case FieldType::flop_rate: return quantity_in_range(parse_flop_rate, value, field);
    case FieldType::money: {
      const auto money = parse_money(text);
      return money ? Result<void>{} : at(value, field, money.error().message, money.error().hint);
    }
    default: return {};
  }
}

Result<void> check_field(const Value& value, const FieldSpec& field) {
  if (value.is_scalar() && std::find(field.also.begin(), field.also.end(), value.text()) != field.also.end()) return {};
  if (field.type == FieldType::any) return {};
  const auto wrong_form = [&] {
    std::string hint;
    if (!field.also.empty()) hint = fmt::format("or {}", join(field.also, ", "));
    return at(value, field, fmt::format("found {}, expected {}", value.describe(), expected_form(field.type)), hint);
  };
  if (field.type == FieldType::object) {
    if (!value.is_map()) return wrong_form();
    return field.object ? check(value, *field.object) : Result<void>{};
  }
  if (field.type == FieldType::list) {
    if (!value.is_list()) return wrong_form();
    if (!field.object) return {};
    for (const auto& item : value.items()) TRUNKLINE_TRY(check(item, *field.object));
    return {};
  }
  if (!value.is_scalar()) return wrong_form();
  return check_scalar(value, field);
}

std::string schema_of(const ObjectSpec& spec, int indent);

std::string field_schema(const FieldSpec& field, int indent) {
  std::string type;
  switch (field.type) {
    case FieldType::boolean: type = R"("type": "boolean")"; break;
    case FieldType::integer: type = R"("type": ["integer", "string"])"; break;
    case FieldType::number: type = R"("type": ["number", "string"])"; break;
    case FieldType::list: type = R"("type": "array")"; break;
    case FieldType::object: type = R"("type": "object")"; break;
    case FieldType::any: type.clear(); break;
    default: type = R"("type": "string")";
  }
  std::vector<std::string> parts;
  std::string doc = field.doc;
  if (field.type >= FieldType::bytes && field.type <= FieldType::money) {
    doc += fmt::format(" ({})", expected_form(field.type));
    if (const std::string bounds = bounds_text(field); !bounds.empty()) doc += "; " + bounds;
  }
  parts.push_back(fmt::format("\"description\": {}", json_quoted(doc)));
  if (field.type == FieldType::choice) {
    std::vector<std::string> words;
    for (const auto& w : field.choices) words.push_back(json_quoted(w));
    for (const auto& w : field.also) words.push_back(json_quoted(w));
    parts.push_back(fmt::format("\"enum\": [{}]", join(words, ", ")));
  } else if (field.type == FieldType::object && field.object) {
    std::string inner = schema_of(*field.object, indent);
    if (field.also.empty()) return inner;
    std::vector<std::string> words;
    for (const auto& w : field.also) words.push_back(json_quoted(w));
    return fmt::format("{{\"anyOf\": [{}, {{\"enum\": [{}]}}]}}", inner, join(words, ", "));
  } else if (field.type == FieldType::list && field.object) {
    parts.push_back(type);
    parts.push_back(fmt::format("\"items\": {}", schema_of(*field.object, indent)));
  } else if (!type.empty() && field.also.empty()) {
    parts.push_back(type);
  }
  if (!field.also.empty() && field.type != FieldType::choice) {
    std::vector<std::string> words;
    for (const auto& w : field.also) words.push_back(json_quoted(w));
    if (!type.empty()) parts.push_back(fmt::format("\"anyOf\": [{{{}}}, {{\"enum\": [{}]}}]", type, join(words, ", ")));
  }
  if (field.min) parts.push_back(fmt::format("\"minimum\": {}", *field.min));
  if (field.max) parts.push_back(fmt::format("\"maximum\": {}", *field.max));
  return "{" + join(parts, ", ") + "}";
}

std::string schema_of(const ObjectSpec& spec, int indent) {
  const std::string pad(std::size_t(indent + 2), ' ');
  std::string out = fmt::format("{{\n{}\"type\": \"object\",\n{}\"description\": {},\n{}\"additionalProperties\": false,\n", pad, pad,
                                json_quoted(spec.doc), pad);
  std::vector<std::string> required;
  for (const auto& f : spec.fields) {
    if (f.required) required.push_back(json_quoted(f.name));
  }
  if (!required.empty()) out += fmt::format("{}\"required\": [{}],\n", pad, join(required, ", "));
  out += fmt::format("{}\"properties\": {{\n", pad);
  for (std::size_t i = 0; i < spec.fields.size(); ++i) {
    out += fmt::format("{}  {}: {}{}\n", pad, json_quoted(spec.fields[i].name), field_schema(spec.fields[i], indent + 4),
                       i + 1 < spec.fields.size() ? "," : "");
  }
  out += fmt::format("{}}}\n{}}}", pad, std::string(std::size_t(indent), ' '));
  return out;
}

const Value* scalar_field(const Value& map, std::string_view key) {
  const Value* field = map.find(key);
  return field && field->is_scalar() ? field : nullptr;
}

template <class T, class Parse>
std::optional<T> get_parsed(const Value& map, std::string_view key, Parse parse) {
  const Value* field = scalar_field(map, key);
  if (!field) return std::nullopt;
  auto parsed = parse(field->text());
  if (!parsed) return std::nullopt;
  return *parsed;
}

}  // namespace

std::string bounds_text(const FieldSpec& field) {
  const auto between = [](const std::string& low, const std::string& high) {
    if (low.empty()) return high.empty() ? high : "at most " + high;
    return high.empty() ? "at least " + low : low + " to " + high;
  };
  if (!field.low.empty() || !field.high.empty()) return between(field.low, field.high);
  const auto text = [](const std::optional<double>& bound) { return bound ? fmt::format("{:g}", *bound) : std::string(); };
  return between(text(field.min), text(field.max));
}

Result<void> check(const Value& value, const ObjectSpec& spec) {
  if (!value.is_map())
    return bad_input(value.where(), fmt::format("{}: found {}, expected a block of keys", spec.name, value.describe()), spec.doc);
  std::vector<std::string> names;
  for (const auto& f : spec.fields) names.push_back(f.name);
  for (const auto& [key, field_value] : value.fields()) {
    const auto field = std::find_if(spec.fields.begin(), spec.fields.end(), [&](const FieldSpec& f) { return f.name == key; });
    if (field == spec.fields.end()) {
      return bad_input(field_value.where(), fmt::format("unknown key \"{}\" in {}", excerpt(key), spec.name), did_you_mean(key, names));
    }
    if (!field_value.is_null()) TRUNKLINE_TRY(check_field(field_value, *field));
  }
  for (const auto& f : spec.fields) {
    const Value* present = value.find(f.name);
    if (f.required && (!present || present->is_null())) {
      return bad_input(value.where(), fmt::format("{} lacks the key \"{}\"", spec.name, f.name),
                       fmt::format("{}: {} ({})", f.name, f.doc, expected_form(f.type)));
    }
  }
  return {};
}

std::string json_schema(const ObjectSpec& spec) {
  std::string body = schema_of(spec, 0);
  return "{\n  \"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n  \"title\": " + json_quoted(spec.name) + "," +
         body.substr(1) + "\n";
}

std::optional<std::string> get_text(const Value& map, std::string_view key) {
  const Value* field = scalar_field(map, key);
  if (!field) return std::nullopt;
  return field->text();
}
std::optional<bool> get_bool(const Value& map, std::string_view key) {
  const Value* field = scalar_field(map, key);
  if (!field) return std::nullopt;
  if (field->text() == "true") return true;
  if (field->text() == "false") return false;
  return std::nullopt;
}
std::optional<std::int64_t> get_integer(const Value& map, std::string_view key) {
  return get_parsed<std::int64_t>(map, key, parse_integer);
}
std::optional<double> get_number(const Value& map, std::string_view key) { return get_parsed<double>(map, key, parse_number); }
std::optional<Bytes> get_bytes(const Value& map, std::string_view key) { return get_parsed<Bytes>(map, key, parse_bytes); }
std::optional<Bandwidth> get_bandwidth(const Value& map, std::string_view key) { return get_parsed<Bandwidth>(map, key, parse_bandwidth); }
std::optional<Seconds> get_seconds(const Value& map, std::string_view key) { return get_parsed<Seconds>(map, key, parse_seconds); }
std::optional<FlopRate> get_flop_rate(const Value& map, std::string_view key) { return get_parsed<FlopRate>(map, key, parse_flop_rate); }
std::optional<Money> get_money(const Value& map, std::string_view key) { return get_parsed<Money>(map, key, parse_money); }

}  // namespace trunkline::io
