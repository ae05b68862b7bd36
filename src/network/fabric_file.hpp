// A fabric file: a network, how it routes, and the traffic that it has to carry.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/spec.hpp"
#include "network/fabric.hpp"
#include "network/fabric_run.hpp"
#include "network/lossless.hpp"
#include "network/traffic_spec.hpp"

namespace trunkline::network {

struct FabricFile {
  std::string name;
  std::string file;
  std::shared_ptr<const Fabric> fabric;
  std::string shape;                // of the fabric, in words: "fat tree of 3 tiers, 16 leaves of 8 hosts, …"
  std::vector<std::string> faults;  // links out of service or slow, in words
  Bandwidth host_rate;              // of a host's link in good order
  TrafficSpec traffic;
  RunOptions run;
  std::optional<LosslessOptions> lossless;                   // what pausing does is asked for as well
  std::vector<std::pair<std::string, std::string>> assumed;  // what the file left open and what was taken, in words
};

const io::ObjectSpec& fabric_spec();

// `folder`: what relative file names in it refer to. Errors name file, line and the element that cannot be.
Result<FabricFile> fabric_from(const io::Value& value, const std::string& folder);
Result<FabricFile> read_fabric(const std::string& path);

// The demands of the file's traffic with its seed moved by `seed`.
std::vector<Demand> demands_of(const FabricFile& file, std::uint64_t seed = 0);

// Routes with the file's seed moved by `seed`.
RunOptions options_of(const FabricFile& file, std::uint64_t seed = 0);

}  // namespace trunkline::network
