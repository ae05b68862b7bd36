// Small helpers of the JSON writers; for *_io.cpp only.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/context.hpp"

namespace trunkline::report {

using Json = nlohmann::ordered_json;

// Absent = null, never 0 or "".
template <class T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json(nullptr);
}
inline Json or_null(const std::string& text) { return text.empty() ? Json(nullptr) : Json(text); }

// Several entries of one key are joined, so that nothing is lost.
inline Json object_of(const std::vector<std::pair<std::string, std::string>>& pairs) {
  Json out = Json::object();
  for (const auto& [key, value] : pairs) {
    if (out.contains(key))
      out[key] = out[key].get<std::string>() + "; " + value;
    else
      out[key] = value;
  }
  return out;
}

inline Json context_json(const Context& context) {
  return {{"schema_version", kSchemaVersion},
          {"tool", "trunkline"},
          {"tool_version", context.tool_version},
          {"command_line", context.command_line}};
}

// Indented, numbers in the fewest digits that give the same double again, one line break at the end.
inline std::string text_of(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

}  // namespace trunkline::report
