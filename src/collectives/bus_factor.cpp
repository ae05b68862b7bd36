#include "collectives/collective.hpp"

namespace trunkline::collectives {

// nccl-tests' definition (its PERFORMANCE.md): the factor that turns algorithm bandwidth (size / time) into the
// bandwidth each rank's port must carry if the traffic is the least possible.
double bus_factor(Collective collective, int ranks) {
  if (ranks < 2) return collective == Collective::send_recv ? 1 : 0;
  const double n = ranks;
  switch (collective) {
    case Collective::all_reduce: return 2 * (n - 1) / n;
    case Collective::all_gather:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return (n - 1) / n;
    case Collective::broadcast:
    case Collective::reduce:
    case Collective::send_recv: return 1;
  }
  return 1;
}

}  // namespace trunkline::collectives
