// NVLink and xGMI of a node as a file states them. Internal to this folder.
#pragma once

#include "topology/node_reader.hpp"

namespace trunkline::topology {

// Reads `gpu_links` into `node` (its GPU is already known). A description that the GPU cannot have is an error that
// names what it has.
Result<void> read_gpu_links(const io::Value& value, NodeType& node, Notes& notes);

}  // namespace trunkline::topology
