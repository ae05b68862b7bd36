#include <algorithm>

#include "collectives/models.hpp"

namespace trunkline::collectives {

namespace {

struct Passage {
  double steps;      // sends in a row until the last rank is done
  double crossings;  // of them over the network
  double traffic;    // bytes over each rank's outgoing link, per byte of size
};

Passage passage_of(const Domain& domain, Collective collective) {
  const int n = domain.ranks();
  const double once = n - 1, crossed = domain.nodes - 1;
  switch (collective) {
    case Collective::all_reduce: return {2 * once, 2 * crossed, 2 * once / n};
    case Collective::all_gather:
    case Collective::reduce_scatter: return {once, crossed, once / n};
    default: return {once, crossed, 1};  // broadcast, reduce: the whole buffer passes every link
  }
}

}  // namespace

double ring_network_bandwidth(const Constants& k, const Domain& domain) {
  if (domain.nodes == 1) return kNever;
  const double all = domain.network.si();
  if (domain.fabric != catalog::NicKind::infiniband && domain.fabric != catalog::NicKind::roce) return all;
  const double ports = std::max(1, domain.nics), port = all / ports;
  if (port <= k.ring_port_knee) return all;
  const double above = domain.fabric == catalog::NicKind::infiniband ? k.ring_above_infiniband : k.ring_above_roce;
  return ports * (k.ring_port_knee + above * (port - k.ring_port_knee));
}

// Ring: base + steps inside · hop + steps across · network hop + traffic / bandwidth + the first chunk's way through a
// channel. Each loop of the ring loses a part of a step at its turn (send only, receive only). LL is bound by checking the
// flags of every 8 bytes on each rank: bytes of the buffer over a fixed rate, whatever the collective.
// Ignored: the last loop's smaller chunks; what the caller's own kernels do meanwhile. Cost: some 20 operations.
double ring_time(const Constants& k, const Domain& domain, Collective collective, double size, Protocol protocol) {
  if (collective == Collective::all_to_all || collective == Collective::send_recv) return kNever;
  const LinkClass& link = k.of(domain);
  const Passage way = passage_of(domain, collective);
  const double latency =
      k.base[protocol] + (way.steps - way.crossings) * link.hop[protocol] + way.crossings * network_hop(k, domain, protocol);
  const double inside = inside_bandwidth(domain), network = ring_network_bandwidth(k, domain);
  if (protocol == Protocol::ll) {
    const double rate = link.ll_rate * (domain.nodes > 1 ? k.network_ll_share : 1);
    return latency + std::max(size / rate, size * way.traffic / (k.payload.ll * std::min(inside, network)));
  }
  const double bandwidth = k.payload[protocol] * std::min(inside / (1 + link.turn / way.steps), network);
  const double first_chunk = k.ring_fill[protocol] * std::min(size / domain.ranks(), k.ring_fill_limit[protocol]);
  return latency + (size * way.traffic + first_chunk) / bandwidth;
}

}  // namespace trunkline::collectives
