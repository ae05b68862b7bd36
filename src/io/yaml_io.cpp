#include <fmt/format.h>
#include <yaml-cpp/yaml.h>

#include <set>

#include "io/value.hpp"

namespace trunkline::io {
namespace {

constexpr int kMaxNodes = 1'000'000;
constexpr int kMaxDepth = 64;

struct Converter {
  std::shared_ptr<const std::string> file;
  int nodes = 0;

  Result<Value> convert(const YAML::Node& node, int depth) {
    const int line = node.Mark().line + 1;
    if (++nodes > kMaxNodes) return bad_input({*file, line}, "more than a million entries once aliases are expanded", "remove the repeated aliases (*name)");
    if (depth > kMaxDepth) return bad_input({*file, line}, fmt::format("nested deeper than {} levels", kMaxDepth));
    switch (node.Type()) {
      case YAML::NodeType::Undefined:
      case YAML::NodeType::Null: return Value::null(file, line);
      case YAML::NodeType::Scalar: return Value::scalar(file, line, node.Scalar());
      case YAML::NodeType::Sequence: return convert_list(node, line, depth);
      case YAML::NodeType::Map: return convert_map(node, line, depth);
    }
    return bad_input({*file, line}, "an unreadable YAML node");
  }

  Result<Value> convert_list(const YAML::Node& node, int line, int depth) {
    std::vector<Value> items;
    for (const auto& item : node) {
      TRUNKLINE_ASSIGN(value, convert(item, depth + 1));
      items.push_back(std::move(value));
    }
    return Value::list(file, line, std::move(items));
  }

  Result<Value> convert_map(const YAML::Node& node, int line, int depth) {
    std::vector<std::pair<std::string, Value>> fields;
    std::set<std::string> seen;
    for (const auto& pair : node) {
      const int key_line = pair.first.Mark().line + 1;
      if (!pair.first.IsScalar()) return bad_input({*file, key_line}, "a key that is not plain text");
      std::string key = pair.first.Scalar();
      if (!seen.insert(key).second) return bad_input({*file, key_line}, fmt::format("the key \"{}\" stands twice in one block", key), "keep one of them");
      TRUNKLINE_ASSIGN(value, convert(pair.second, depth + 1));
      fields.emplace_back(std::move(key), std::move(value));
    }
    return Value::map(file, line, std::move(fields));
  }
};

}  // namespace

Result<Value> parse_yaml(std::string_view text, const std::string& file) {
  try {
    const YAML::Node node = YAML::Load(std::string(text));
    Converter converter{std::make_shared<const std::string>(file)};
    return converter.convert(node, 0);
  } catch (const YAML::Exception& problem) {
    return bad_input({file, problem.mark.is_null() ? 0 : problem.mark.line + 1}, fmt::format("not valid YAML: {}", problem.msg),
                     "check the indentation, the colons and the quotes near this line");
  }
}

}  // namespace trunkline::io
