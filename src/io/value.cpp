#include "io/value.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "io/files.hpp"

namespace trunkline::io {

const Value* Value::find(std::string_view key) const {
  for (const auto& [name, value] : fields_) {
    if (name == key) return &value;
  }
  return nullptr;
}

std::string Value::describe() const {
  switch (kind_) {
    case Kind::null: return "nothing";
    case Kind::list: return "a list";
    case Kind::map: return "a block of keys";
    case Kind::scalar: return fmt::format("\"{}\"", excerpt(text_));
  }
  return {};
}

Value Value::null(std::shared_ptr<const std::string> file, int line) {
  Value v;
  v.file_ = std::move(file);
  v.line_ = line;
  return v;
}

Value Value::scalar(std::shared_ptr<const std::string> file, int line, std::string text) {
  Value v = null(std::move(file), line);
  v.kind_ = Kind::scalar;
  v.text_ = std::move(text);
  return v;
}

Value Value::list(std::shared_ptr<const std::string> file, int line, std::vector<Value> items) {
  Value v = null(std::move(file), line);
  v.kind_ = Kind::list;
  v.items_ = std::move(items);
  return v;
}

Value Value::map(std::shared_ptr<const std::string> file, int line, std::vector<std::pair<std::string, Value>> fields) {
  Value v = null(std::move(file), line);
  v.kind_ = Kind::map;
  v.fields_ = std::move(fields);
  return v;
}

Result<void> Value::set(std::string_view dotted_path, Value value) {
  constexpr std::ptrdiff_t kMaxDepth = 64;
  if (std::count(dotted_path.begin(), dotted_path.end(), '.') >= kMaxDepth) {
    return bad_input(value.where(), fmt::format("a dotted path of more than {} keys", kMaxDepth), "write it as parallelism.tp=8");
  }
  const auto dot = dotted_path.find('.');
  const std::string key(dotted_path.substr(0, dot));
  if (key.empty())
    return bad_input(value.where(), fmt::format("an empty key in the dotted path \"{}\"", excerpt(dotted_path)),
                     "write it as parallelism.tp=8");
  if (kind_ == Kind::null) kind_ = Kind::map;
  if (kind_ == Kind::scalar) {  // `parallelism: auto` gives way to a block of keys
    kind_ = Kind::map;
    text_.clear();
  }
  if (kind_ != Kind::map) return bad_input(value.where(), fmt::format("\"{}\" lies under a list and cannot be set", key));
  Value* slot = nullptr;
  for (auto& [name, field] : fields_) {
    if (name == key) slot = &field;
  }
  if (!slot) {
    fields_.emplace_back(key, null(value.file_, value.line_));
    slot = &fields_.back().second;
  }
  if (dot == std::string_view::npos) {
    *slot = std::move(value);
    return {};
  }
  return slot->set(dotted_path.substr(dot + 1), std::move(value));
}

Result<Value> read_value(const std::string& path) {
  TRUNKLINE_ASSIGN(text, read_file(path));
  return path.ends_with(".json") ? parse_json(text, path) : parse_yaml(text, path);
}

}  // namespace trunkline::io
