// A node as a platform file or the node catalogue spells it → NodeType. Internal to this folder.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "io/spec.hpp"
#include "topology/platform.hpp"

namespace trunkline::topology {

using Notes = std::vector<std::pair<std::string, std::string>>;  // what was left open and what was taken, in words

const io::ObjectSpec& node_entry_spec();  // one of `nodes` in data/catalog/nodes.yaml
const io::ObjectSpec& constant_spec();    // one of `constants` there

// The node that `value` (already checked) spells out. What it leaves open is derived from the GPU and NIC catalogue and
// said in `notes`.
Result<NodeType> node_from(const io::Value& value, Notes& notes);

// `base` with every field that `change` states put in its place; blocks of keys are merged key by key.
Result<io::Value> merged(io::Value base, const io::Value& change);

// A ready-made node spelt out, for merging.
struct SpeltNode {
  std::string id;
  std::vector<std::string> aliases;
  std::string notes;
  io::Value value;  // `like` already resolved
};
Result<const SpeltNode*> find_spelt_node(const std::string& id);

// A positive rate, or an error that says where zero was written.
Result<std::optional<Bandwidth>> positive_rate(const io::Value& map, std::string_view key);

// The disk that `value` describes.
Result<Disk> disk_from(const io::Value& value);

// Sets kind and rate of one NIC as a fabric states them; the efficiency follows unless the file gave it.
void apply_fabric(NodeType& node, std::optional<catalog::NicKind> kind, std::optional<Bandwidth> rate, bool efficiency_given, Notes& notes);

std::optional<catalog::NicKind> nic_kind_from(const std::string& word);
std::string name_of(catalog::NicKind kind);

// A number of the `constants` in data/catalog/nodes.yaml, in its own unit; a name that is not there is our own fault.
double constant(std::string_view id);

}  // namespace trunkline::topology
