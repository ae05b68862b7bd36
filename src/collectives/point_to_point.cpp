#include <algorithm>

#include "collectives/models.hpp"

namespace trunkline::collectives {

// All-to-all, `size` bytes sent by each rank, of them 1/n to each peer: what stays inside the node and what leaves it move
// at the same time, the slower one counts; each peer costs a hand-shake.
double all_to_all_time(const Constants& k, const Domain& domain, double size) {
  const LinkClass& link = k.of(domain);
  const double n = domain.ranks(), here = domain.ranks_per_node;
  const double inside = here > 1 ? domain.ring.si() * k.all_to_all_share : kNever;
  double latency = k.base.simple + k.peer_step * (here - 1);
  double moving = size * (here - 1) / n / inside;
  double fill = k.all_to_all_fill * std::min(size / n, k.ring_fill_limit.simple) / inside;
  if (domain.nodes > 1) {
    latency += network_hop(k, domain, Protocol::simple) + k.network_peer * (n - here);
    moving = std::max(moving, here * size * (n - here) / n / (domain.network.si() * k.pair_share));
  } else {
    latency += link.hop.simple;
  }
  return latency + moving + fill;
}

// One message between two ranks, or from each rank to its right neighbour: inside a node at a pair's rate; across, each
// rank through one NIC, at its own rate or the rank's share of what the node gets out. NICs beyond the ranks are no loss.
double send_recv_time(const Constants& k, const Domain& domain, double size) {
  const LinkClass& link = k.of(domain);
  if (domain.nodes == 1) return k.base.simple + link.hop.simple + size / (domain.pair.si() * k.pair_share);
  const double share = domain.network.si() / std::max(1, std::min(domain.nics, domain.ranks_per_node));
  const double port = std::max(domain.network.si() / std::max(1, domain.nics), std::min(domain.nic.si(), share));
  return k.base.simple + network_hop(k, domain, Protocol::simple) + size / (port * k.pair_share);
}

}  // namespace trunkline::collectives
