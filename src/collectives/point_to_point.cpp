#include <algorithm>

#include "collectives/models.hpp"

namespace trunkline::collectives {

// All-to-all, `size` bytes sent by each rank, of them 1/n to each peer: what stays inside the node and what leaves it move
// at the same time, the slower one counts; each peer costs a hand-shake.
double all_to_all_time(const Domain& domain, double size) {
  const LinkClass& link = link_class(domain);
  const double n = domain.ranks(), here = domain.ranks_per_node;
  const double inside = here > 1 ? domain.ring.si() * kAllToAllShare : kNever;
  double latency = kBase.simple + kPeerStep * (here - 1);
  double moving = size * (here - 1) / n / inside;
  double fill = kAllToAllFill * std::min(size / n, kRingFillLimit.simple) / inside;
  if (domain.nodes > 1) {
    latency += network_hop(domain, Protocol::simple) + kNetworkPeer * (n - here);
    moving = std::max(moving, here * size * (n - here) / n / (domain.network.si() * kPairShare));
  } else {
    latency += link.hop.simple;
  }
  return latency + moving + fill;
}

// One message between two ranks, or from each rank to its right neighbour: inside a node at a pair's rate; across, each
// rank through one NIC.
double send_recv_time(const Domain& domain, double size) {
  const LinkClass& link = link_class(domain);
  if (domain.nodes == 1) return kBase.simple + link.hop.simple + size / (domain.pair.si() * kPairShare);
  const double port = domain.network.si() / std::max(1, domain.nics);
  return kBase.simple + network_hop(domain, Protocol::simple) + size / (port * kPairShare);
}

}  // namespace trunkline::collectives
