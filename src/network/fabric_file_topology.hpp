// The fabric that a fabric file describes; a part of reading one (fabric_file.cpp).
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/value.hpp"
#include "network/fabric.hpp"

namespace trunkline::network {

struct Shape {
  std::shared_ptr<const Fabric> fabric;
  std::string words;
  std::vector<std::string> faults;
  Bandwidth host_rate;
  int rails = 1;
  bool rail_only = false;
  bool graph = false, table = false;  // not a Clos; with forwarding tables
  bool from_platform = false;
  RoutingOptions routing;  // what the topology brings with it
};

using Assumed = std::vector<std::pair<std::string, std::string>>;

// `file` is the whole fabric file, checked.
Result<Shape> shape_from(const io::Value& file, const std::string& folder, Assumed& assumed);

}  // namespace trunkline::network
