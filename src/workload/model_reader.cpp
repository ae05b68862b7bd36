#include "workload/model_reader.hpp"

#include <fmt/format.h>

#include "base/quantity_text.hpp"

namespace trunkline::workload {

std::string or_short_form(const std::string& hint) {
  const std::string form =
      "rite the short form, for example model: {layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 128256, gated: true, "
      "norm: rms, positions: rotary, tied: false}";
  if (hint.empty()) return "w" + form;
  return hint + (hint.ends_with('?') ? " Or w" : "; or w") + form;
}

const io::Value* ConfigReader::find(Keys keys) const {
  for (const char* key : keys) {
    const io::Value* value = map_.find(key);
    if (value && !value->is_null()) return value;
  }
  return nullptr;
}

Where ConfigReader::where(Keys keys) const {
  const io::Value* value = find(keys);
  return value ? value->where() : map_.where();
}

void ConfigReader::fault(Where where, std::string message, std::string hint) {
  if (!fault_) fault_ = Error{ErrorKind::bad_input, std::move(message), std::move(where), std::move(hint)};
}

Result<void> ConfigReader::status() const {
  if (fault_) return fail(*fault_);
  return {};
}

std::optional<std::int64_t> ConfigReader::parsed(Keys keys) {
  const io::Value* value = find(keys);
  if (!value) return std::nullopt;
  if (!value->is_scalar()) {
    fault(value->where(), fmt::format("{}: found {}, expected a whole number", *keys.begin(), value->describe()));
    return 1;
  }
  const auto number = parse_integer(value->text());
  if (!number) {
    fault(value->where(), fmt::format("{}: {}", *keys.begin(), number.error().message), number.error().hint);
    return 1;
  }
  if (*number < 0 || double(*number) > kLargestSize) {
    fault(value->where(), fmt::format("{}: {} is out of range", *keys.begin(), *number), "expected a whole number from 0 to 1e9");
    return 1;
  }
  return *number;
}

std::int64_t ConfigReader::integer(Keys keys, const char* meaning) {
  const auto number = parsed(keys);
  if (!number) {
    fault(map_.where(), fmt::format("the {} lacks the key \"{}\"", what_, *keys.begin()),
          or_short_form(fmt::format("expected {}: a whole number, {}", *keys.begin(), meaning)));
    return 1;
  }
  if (*number < 1) {
    fault(where(keys), fmt::format("{}: found {}, expected at least 1 ({})", *keys.begin(), *number, meaning));
    return 1;
  }
  return *number;
}

std::int64_t ConfigReader::integer_or(Keys keys, std::int64_t fallback, const char* why) {
  if (const auto number = parsed(keys)) return *number;
  if (why) assumed_.emplace_back(*keys.begin(), fmt::format("{} ({})", fallback, why));
  return fallback;
}

bool ConfigReader::flag_or(Keys keys, bool fallback, const char* why) {
  const io::Value* value = find(keys);
  if (!value) {
    if (why) assumed_.emplace_back(*keys.begin(), fmt::format("{} ({})", fallback, why));
    return fallback;
  }
  if (value->is_scalar() && (value->text() == "true" || value->text() == "false")) return value->text() == "true";
  fault(value->where(), fmt::format("{}: found {}, expected true or false", *keys.begin(), value->describe()));
  return fallback;
}

double ConfigReader::number_or(Keys keys, double fallback) {
  const io::Value* value = find(keys);
  if (!value) return fallback;
  const auto number = value->is_scalar() ? parse_number(value->text()) : tl::unexpected(Error{});
  if (number) return *number;
  fault(value->where(), fmt::format("{}: found {}, expected a number", *keys.begin(), value->describe()));
  return fallback;
}

std::string ConfigReader::text_or(const char* key, const std::string& fallback) {
  const io::Value* value = find({key});
  if (!value) return fallback;
  if (value->is_scalar()) return value->text();
  fault(value->where(), fmt::format("{}: found {}, expected a word", key, value->describe()));
  return fallback;
}

Activation ConfigReader::activation(const char* key, const char* fallback) {
  const std::string function = text_or(key, fallback);
  if (function == "gelu_new" || function == "gelu_fast") return Activation::gelu_new;
  return function == "quick_gelu" ? Activation::quick_gelu : Activation::single;
}

}  // namespace trunkline::workload
