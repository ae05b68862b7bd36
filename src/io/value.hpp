// A tree of scalars, lists and maps read from YAML or JSON; every node knows its file and line.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"

namespace trunkline::io {

class Value {
 public:
  enum class Kind { null, scalar, list, map };

  Kind kind() const { return kind_; }
  bool is_null() const { return kind_ == Kind::null; }
  bool is_scalar() const { return kind_ == Kind::scalar; }
  bool is_list() const { return kind_ == Kind::list; }
  bool is_map() const { return kind_ == Kind::map; }

  const std::string& text() const { return text_; }                                     // of a scalar, as written
  const std::vector<Value>& items() const { return items_; }                            // of a list
  const std::vector<std::pair<std::string, Value>>& fields() const { return fields_; }  // of a map, in file order

  // The field `key` of a map, or nullptr.
  const Value* find(std::string_view key) const;

  Where where() const { return {file_ ? *file_ : std::string(), line_}; }
  std::string describe() const;  // "a list", "the text \"…\"", for errors

  static Value null(std::shared_ptr<const std::string> file, int line);
  static Value scalar(std::shared_ptr<const std::string> file, int line, std::string text);
  static Value list(std::shared_ptr<const std::string> file, int line, std::vector<Value> items);
  static Value map(std::shared_ptr<const std::string> file, int line, std::vector<std::pair<std::string, Value>> fields);

  // Sets a dotted path such as `parallelism.tp` (maps are made where missing), as `--set key=value` does.
  Result<void> set(std::string_view dotted_path, Value value);

 private:
  Kind kind_ = Kind::null;
  int line_ = 0;
  std::shared_ptr<const std::string> file_;
  std::string text_;
  std::vector<Value> items_;
  std::vector<std::pair<std::string, Value>> fields_;
};

// Parses text; `file` names it in errors. Refuses what is no UTF-8 text, more than a million nodes, more than 64 levels, duplicate
// keys, and in YAML a second document, merge keys (<<) and aliases that expand to more than some ten megabytes.
Result<Value> parse_yaml(std::string_view text, const std::string& file);
Result<Value> parse_json(std::string_view text, const std::string& file);

// For JSON that other programs write: of a key that stands several times in one block (iperf3 does that) find() gives the first.
Result<Value> parse_foreign_json(std::string_view text, const std::string& file);

// `text` as a JSON string, with its quotes. What is not UTF-8 becomes U+FFFD.
std::string json_quoted(std::string_view text);

// Reads a file and parses it by its extension (.json, else YAML).
Result<Value> read_value(const std::string& path);

}  // namespace trunkline::io
