#include "network/platform_fabric.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace trunkline::network {

Result<ClosSpec> clos_of(const topology::Platform& platform) {
  const auto& nics = platform.node.nics;
  if (!platform.fabric.present || nics.count < 1) {
    return bad_input({platform.file, 0}, fmt::format("\"{}\" has no network between its nodes", platform.name), "add a fabric and NICs");
  }
  ClosNeed need;
  need.hosts = int(std::min<std::int64_t>(std::int64_t(platform.nodes) * nics.count, std::numeric_limits<int>::max()));
  need.tiers = platform.fabric.tiers;
  need.ports = platform.fabric.ports;
  need.oversubscription = platform.fabric.oversubscription;
  need.rails = platform.fabric.rail_optimised ? nics.count : 1;
  need.rail_only = platform.fabric.rail_only && nics.count > 1;
  need.rate = nics.rate * nics.efficiency;
  auto spec = clos_for(need);
  if (!spec) {
    spec.error().where = {platform.file, 0};
    return spec;
  }
  spec->ends = nics.latency * 2.0;
  return spec;
}

RoutingOptions routing_of(const topology::Fabric& fabric, std::uint64_t seed) {
  RoutingOptions options;
  options.policy = fabric.routing;
  options.seed = seed;
  options.rail_local = fabric.rail_optimised;
  return options;
}

}  // namespace trunkline::network
