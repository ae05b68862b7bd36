#include <algorithm>
#include <cmath>

#include "collectives/collective.hpp"

namespace trunkline::collectives {

namespace {

struct ProtocolConstants {
  Protocol protocol;
  double base_us, link_hop_us, pcie_hop_us, network_hop_us, share;
};

// NCCL 2.30 src/graph/tuning.cc: ring latencies and efficiencies.
constexpr ProtocolConstants kRing[] = {
    {Protocol::ll, 6.6, 0.6, 1.0, 2.7, 0.5},
    {Protocol::ll128, 14.0, 1.9, 2.5, 4.0, 0.92},
    {Protocol::simple, 8.4, 3.4, 5.7, 14.0, 1.0},
};

double steps_of(Collective collective, int ranks) {
  switch (collective) {
    case Collective::all_reduce: return 2.0 * (ranks - 1);
    case Collective::send_recv: return 1;
    case Collective::broadcast:
    case Collective::reduce:
    default: return ranks - 1;
  }
}

}  // namespace

Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options) {
  Cost best;
  const int n = domain.ranks();
  if (n < 2 || size.count() <= 0) return best;
  const double traffic = double(size.count()) * bus_factor(collective, n);
  double bandwidth = domain.ranks_per_node > 1 || domain.nodes == 1 ? domain.ring.si() : 1e30;
  if (domain.nodes > 1) bandwidth = std::min(bandwidth, domain.network.si());
  const double steps = steps_of(collective, n);
  const double crossings = steps * domain.nodes / n;
  double least = 1e300;
  for (const ProtocolConstants& p : kRing) {
    if (options.protocol && *options.protocol != p.protocol) continue;
    const double inside = domain.links ? p.link_hop_us : p.pcie_hop_us;
    const double latency = p.base_us + (domain.nodes > 1 ? (steps - crossings) * inside + crossings * (p.network_hop_us + as_microseconds(domain.network_latency)) : steps * inside);
    const double time = latency * 1e-6 + traffic / (bandwidth * p.share);
    if (time < least) {
      least = time;
      best = {seconds(time), Algorithm::ring, p.protocol, 8};
    }
  }
  return best;
}

}  // namespace trunkline::collectives
