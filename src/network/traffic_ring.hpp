// A ring all-reduce step by step: every rank passes a chunk on as soon as it has arrived and the one before is sent.
#pragma once

#include <cstddef>
#include <string>

#include "network/fabric.hpp"
#include "network/fabric_run.hpp"

namespace trunkline::network {

enum class RingSteps {
  folded,  // by the sum of the steps where nobody's rate depends on who else sends just now; else every step
  every,   // every flow of every step is simulated
};

struct RingRun {
  bool folded = false;
  bool served = true;     // false: a hop has no way in service, and nothing else below holds
  std::size_t flows = 0;  // hosts × 2(hosts − 1) × queue pairs
  struct {
    Seconds mean, p50, p99, max;
  } completion;       // of one step's send: from its start to its arrival
  Seconds finish;     // the last rank has all
  Seconds ideal;      // 2(n − 1)/n · size over the slowest host link, latency left out
  Seconds spent;      // wall time
  std::string words;  // how it was solved
};

// All-reduce of `size` among the first `hosts` hosts, each passing to the next. Rank i sends step s (of 2(n − 1), size/n each, rounded up)
// when its step s − 1 is sent and step s − 1 of rank i − 1 has arrived. Shares: max-min, as run_traffic; always exact (options.tolerance
// is not used: what it rounds away would add up over the steps).
// Folded: if each flow, all running at once, has the rate that it would have alone, then no flow ever slows another, and with sends of
// equal duration T the last rank has all after the largest Σ (T + latency) over 2(n − 1) consecutive hops. Cost: O(n).
// Ignored: reduction arithmetic, the cost of starting a send. Validated by: both ways of solving agree (traffic_ring_test.cpp).
RingRun run_ring(const Fabric& fabric, int hosts, Bytes size, const RunOptions& options, RingSteps steps);

}  // namespace trunkline::network
