// What a platform file says about the network between its nodes, as a Clos and a way of routing.
#pragma once

#include "network/routing.hpp"

namespace trunkline::network {

// One host a NIC of every node, all links at the NIC's rate × the share of it that large messages reach. An error where the platform has
// no fabric or no NICs, or where its switches cannot carry the nodes. Latencies are left at zero but for the NIC's, at each end:
// a platform file does not name the switches.
Result<ClosSpec> clos_of(const topology::Platform& platform);

// Rail-optimised fabrics are used with PXN (RoutingOptions::rail_local), as NCCL does.
RoutingOptions routing_of(const topology::Fabric& fabric, std::uint64_t seed = 0);

}  // namespace trunkline::network
