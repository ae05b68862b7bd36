// Which of the ways through a fabric a flow takes.
#pragma once

#include <memory>
#include <vector>

#include "network/clos.hpp"

namespace trunkline::network {

// What switches hash of a RoCE packet: the two ends (addresses) and the queue pair (its UDP source port).
struct QueuePair {
  int source = 0, destination = 0;
  int index = 0;
};

struct RoutingOptions {
  topology::Routing policy = topology::Routing::ecmp;
  std::uint64_t seed = 0;   // of the switches' hash functions
  int flowlets = 1;         // flowlet: how often a flow's path is drawn anew over its life; bulk RDMA has no gaps, so 1
  double efficiency = 1;    // spray, adaptive: share of the fabric's capacity that splitting reaches
  bool same_hash = false;   // every tier hashes alike (polarisation): the second choice then follows from the first
  bool rail_local = false;  // PXN: data moves inside the node to the NIC of the destination's rail first

  // Whether a switch knows of links out of service that are not its own. While it does not (routing has not converged, adaptive routing
  // without notification), ecmp sends queue pairs into dead ends, which are then not served; spray and adaptive lose that part
  // of the packets and send them again over all ways.
  bool remote_failures_known = true;

  // adaptive: bytes per second that other traffic puts on each link (those of the Clos, groups included). Shares are then in
  // proportion to what it leaves: a switch sends where its queues are short. Null: nothing else is there.
  std::shared_ptr<const std::vector<double>> busy;

  // Every way by itself even where groups could stand for all (Clos::grouped): for flows that meet others which are not split.
  bool wires = false;
};

// How often a flow's path may be drawn anew (RoutingOptions::flowlets): a switch takes a new path after a pause of at least `threshold`,
// long enough for the packets on the old path to have arrived. `bursts` of data with `idle` between them: each its own flowlet if idle ≥
// threshold, else one. RDMA that sends back to back has no pauses: one. Source: CONGA (SIGCOMM'14), thresholds of 100 to 500 µs.
struct Bursts {
  int bursts = 1;
  Seconds idle;
  Seconds threshold = microseconds(500);
};
int flowlets_of(const Bursts& bursts);

// Paths of flows under one policy:
// - ecmp: each switch hashes the queue pair over its next hops in service that reach the destination. One path for good.
// - flowlet: `flowlets` such paths, drawn one after the other, each carrying the same share of the flow.
// - pinned: the next hop follows from the destination (d mod k), as static forwarding tables do.
// - spray: every path carries the same share: a slow link slows the whole flow.
// - adaptive: shares in proportion to the capacity of the paths.
// - ideal: adaptive without loss of efficiency.
// Ignored: adaptive routing's reaction to the load of its own flows (spread evenly, they leave nothing to react to), reordering, paths that
// are not shortest.
class Router {
 public:
  Router(const Clos& clos, const RoutingOptions& options) : clos_(clos), options_(options) {}

  // The hops of a queue pair, in `hops` (cleared first). Empty from a host to itself. False where no path is in service.
  bool route(const QueuePair& pair, std::vector<Hop>& hops) const;

  // The NIC that really sends (PXN).
  int sender(const QueuePair& pair) const;

 private:
  bool one_path(const QueuePair& pair, std::uint64_t draw, double share, std::vector<Hop>& hops) const;
  bool all_paths(int from_leaf, int to_leaf, std::vector<Hop>& hops) const;
  std::uint64_t hash(const QueuePair& pair, std::uint64_t draw, std::uint64_t place) const;

  const Clos& clos_;
  RoutingOptions options_;
};

}  // namespace trunkline::network
