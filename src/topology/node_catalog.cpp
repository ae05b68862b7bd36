// data/catalog/nodes.yaml → constants and ready-made nodes.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <map>

#include "base/text.hpp"
#include "io/embedded.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

constexpr const char* kFile = "catalog/nodes.yaml";

struct NodeFile {
  std::map<std::string, double, std::less<>> constants;
  std::vector<SpeltNode> nodes;  // in file order
};

[[noreturn]] void broken(const Error& error) {  // our own fault: a unit test reads all of it
  std::fprintf(stderr, "the built-in node catalogue is broken: %s\n", error.text().c_str());
  std::abort();
}

std::vector<std::string> texts(const io::Value& map, std::string_view key) {
  std::vector<std::string> out;
  const io::Value* list = map.find(key);
  if (list && list->is_list()) {
    for (const auto& item : list->items()) out.push_back(item.text());
  }
  return out;
}

// A copy of `map` without what speaks of one entry only.
io::Value without_labels(const io::Value& map) {
  std::vector<std::pair<std::string, io::Value>> fields;
  for (const auto& field : map.fields()) {
    if (field.first != "aliases" && field.first != "notes" && field.first != "like") fields.push_back(field);
  }
  auto file = std::make_shared<const std::string>(map.where().file);
  return io::Value::map(std::move(file), map.where().line, std::move(fields));
}

Result<io::Value> resolved(const io::Value& nodes, const std::string& id, const io::Value& from, int depth) {
  const io::Value* entry = nodes.find(id);
  if (!entry) return bad_input(from.where(), fmt::format("no node \"{}\" in this list", id));
  if (depth > 8) return bad_input(entry->where(), "`like` goes round in a circle");
  TRUNKLINE_TRY(io::check(*entry, node_entry_spec()));
  const auto like = io::get_text(*entry, "like");
  if (!like) return without_labels(*entry);
  TRUNKLINE_ASSIGN(base, resolved(nodes, *like, *entry, depth + 1));
  return merged(std::move(base), without_labels(*entry));
}

Result<NodeFile> read_file() {
  const auto text = io::embedded_file(kFile);
  if (!text) return fail({ErrorKind::failed, "not built into the program", {kFile, 0}, {}});
  TRUNKLINE_ASSIGN(root, io::parse_yaml(*text, kFile));
  NodeFile file;
  const io::Value* constants = root.find("constants");
  const io::Value* nodes = root.find("nodes");
  if (!constants || !nodes) return bad_input(root.where(), "lacks the key \"constants\" or \"nodes\"");
  for (const auto& [id, value] : constants->fields()) {
    TRUNKLINE_TRY(io::check(value, constant_spec()));
    file.constants[id] = io::get_number(value, "value").value_or(0);
  }
  for (const auto& [id, value] : nodes->fields()) {
    TRUNKLINE_ASSIGN(spelt, resolved(*nodes, id, value, 0));
    file.nodes.push_back({id, texts(value, "aliases"), io::get_text(value, "notes").value_or(""), std::move(spelt)});
  }
  return file;
}

const NodeFile& node_file() {
  static const NodeFile file = [] {
    auto read = read_file();
    if (!read) broken(read.error());
    return std::move(*read);
  }();
  return file;
}

// "Standard_ND96asr_v4" and "standard-nd96asr-v4" are the same name.
std::string squeezed(std::string_view name) {
  std::string out;
  for (char c : lower(name)) {
    if (c != ' ' && c != '-' && c != '_' && c != '.') out += c;
  }
  return out;
}

catalog::Confidence confidence_from(const std::string& word) {
  using catalog::Confidence;
  if (word == "vendor") return Confidence::vendor;
  if (word == "quoted") return Confidence::quoted;
  if (word == "secondary") return Confidence::secondary;
  if (word == "measured") return Confidence::measured;
  if (word == "derived") return Confidence::derived;
  return Confidence::unsourced;
}

Result<NodeType> built(const SpeltNode& spelt) {
  Notes notes;  // what a ready-made node leaves to the GPU catalogue is no news to its user
  TRUNKLINE_ASSIGN(node, node_from(spelt.value, notes));
  node.id = spelt.id;
  node.name = io::get_text(spelt.value, "name").value_or(spelt.id);
  return node;
}

}  // namespace

double constant(std::string_view id) {
  const auto& constants = node_file().constants;
  const auto found = constants.find(id);
  if (found == constants.end()) broken({ErrorKind::failed, fmt::format("no constant \"{}\"", id), {kFile, 0}, {}});
  return found->second;
}

Result<const SpeltNode*> find_spelt_node(const std::string& id) {
  const std::string wanted = squeezed(id);
  std::vector<std::string> names;
  for (const auto& node : node_file().nodes) {
    names.push_back(node.id);
    if (squeezed(node.id) == wanted) return &node;
    for (const auto& alias : node.aliases) {
      if (squeezed(alias) == wanted) return &node;
      names.push_back(alias);
    }
  }
  return bad_input({}, fmt::format("no ready-made node \"{}\"", id.substr(0, 60)), did_you_mean(id, names));
}

const std::vector<NodeEntry>& node_catalog() {
  static const std::vector<NodeEntry> entries = [] {
    std::vector<NodeEntry> out;
    for (const auto& spelt : node_file().nodes) {
      auto node = built(spelt);
      if (!node) broken(node.error());
      NodeEntry entry;
      entry.id = spelt.id;
      entry.name = node->name;
      entry.source = io::get_text(spelt.value, "source").value_or("");
      entry.notes = spelt.notes;
      entry.aliases = spelt.aliases;
      entry.confidence = confidence_from(io::get_text(spelt.value, "confidence").value_or("unsourced"));
      entry.node = std::move(*node);
      out.push_back(std::move(entry));
    }
    return out;
  }();
  return entries;
}

Result<NodeType> node_type(const std::string& id) {
  TRUNKLINE_ASSIGN(spelt, find_spelt_node(id));
  return built(*spelt);
}

}  // namespace trunkline::topology
