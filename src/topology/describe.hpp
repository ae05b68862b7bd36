// What `trunkline topo PLATFORM` shows of a platform, as data; how it looks is the printer's business.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "topology/graph.hpp"
#include "topology/platform.hpp"

namespace trunkline::topology {

// One part in the tree of a node.
struct TreeRow {
  int depth = 0;
  std::string text;
};

// All pairs whose paths are of one kind: "PIX", "SYS through host memory", …
struct PathGroup {
  std::string label;
  std::string between;  // "GPU-GPU", "GPU-NIC", "memory-GPU"
  int pairs = 0;
  Bandwidth capacity;     // of one transfer alone; the slowest of the group
  Seconds latency;        // the longest of the group
  std::string narrowest;  // the part that bounds it
};

struct TopologyWarning {
  std::string id;    // "no-gpu-links", …
  std::string text;  // what it is and what it costs, with numbers
  std::string fix;   // what would change it; may be empty
};

struct Description {
  std::string title;
  std::vector<TreeRow> tree;
  std::vector<std::string> columns;              // GPUs, then NICs; NICs that no path tells apart share a column ("NIC0-3")
  std::vector<std::vector<std::string>> matrix;  // one row a GPU: the label of the path to each column
  std::vector<PathGroup> paths;
  NodeLimits limits;
  std::vector<TopologyWarning> warnings;
  std::vector<std::pair<std::string, std::string>> assumed;
};

Description describe(const Platform& platform);

// The description as plain text, one string a line.
std::vector<std::string> text_rows(const Description& description);

}  // namespace trunkline::topology
