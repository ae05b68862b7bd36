// The time of each algorithm, one function each: seconds for `size` bytes, infinite where the algorithm cannot do it.
// Raw doubles in SI units; time_of (choice.cpp) takes the least of them.
#pragma once

#include <limits>

#include "collectives/collective.hpp"
#include "collectives/constants.hpp"

namespace trunkline::collectives {

inline constexpr double kNever = std::numeric_limits<double>::infinity();

// One hop over the network. Simple waits for the receiver's buffer and then for the data, as NCCL's model counts it.
inline double network_hop(const Constants& k, const Domain& domain, Protocol protocol) {
  return k.network_hop[protocol] + domain.network_latency.si() * (protocol == Protocol::simple ? 2 : 1);
}

// The ring inside a node binds only groups with several ranks there.
inline double inside_bandwidth(const Domain& domain) { return domain.ranks_per_node > 1 ? domain.ring.si() : kNever; }

// What rings push through the group's NICs: a wide port is not filled by the few connections of a ring.
double ring_network_bandwidth(const Constants& k, const Domain& domain);

double ring_time(const Constants& k, const Domain& domain, Collective collective, double size, Protocol protocol);
double tree_time(const Constants& k, const Domain& domain, Collective collective, double size, Protocol protocol);
double nvls_time(const Constants& k, const Domain& domain, Collective collective, double size);       // one node
double nvls_tree_time(const Constants& k, const Domain& domain, Collective collective, double size);  // several nodes
double pat_time(const Constants& k, const Domain& domain, Collective collective, double size);
double collnet_time(const Constants& k, const Domain& domain, Collective collective, double size);
double all_to_all_time(const Constants& k, const Domain& domain, double size);
double send_recv_time(const Constants& k, const Domain& domain, double size);

}  // namespace trunkline::collectives
