// One traffic on one fabric: rates when all of it runs at once, and how long it takes to the end.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network/fabric.hpp"
#include "network/flow_sim.hpp"
#include "network/routing.hpp"
#include "network/traffic.hpp"

namespace trunkline::network {

// How flows that meet on a link share it.
enum class Sharing {
  equal,            // as RDMA queue pairs do, and as congestion control aims at
  inverse_latency,  // a flow counts 1/latency of its path and shares only once that has passed: long-lived TCP flows, SimGrid's CM02
};

struct RunOptions {
  RoutingOptions routing;
  int queue_pairs = 1;  // of each demand, which is cut into that many equal flows, each hashed by itself
  Bandwidth flow_cap = Bandwidth::from_si(kUnlimited);
  Sharing sharing = Sharing::equal;
  double tolerance = 0;  // as in FlowSim::Options
  int hottest = 8;       // links to name
};

struct LinkUse {
  LinkId link = 0;
  std::string name;
  double utilisation = 0;
};

struct RunResult {
  std::size_t flows = 0;             // demands
  std::size_t unserved = 0;          // of them without a path in service, or over a link of no capacity: in no figure below
  std::vector<std::size_t> cut_off;  // those demands
  struct {
    Bandwidth mean, min, p1;
  } rate;  // of a demand, all running at once
  struct {
    Seconds mean, p50, p99, max;
  } completion;                                      // from a demand's start to its last byte's arrival
  Seconds finish;                                    // when the last demand is complete, from time 0
  Seconds ideal;                                     // the same if nothing but the hosts' own links held any demand up, latency left out
  double max_utilisation = 0, mean_utilisation = 0;  // of wires that any demand crosses, all running at once
  double core_utilisation = 0;                       // of all wires between switches in service, used or not, all running at once
  std::vector<LinkUse> hottest;
  double mean_hops = 0;  // switches on the way
  int max_hops = 0;
  Seconds solve, simulate;  // wall time spent here
  std::string steps;        // of a ring that is simulated step by step (traffic_ring.hpp): how; else empty
};

// Rates: max-min fair (maxmin.hpp) over the paths that the router gives. Completion: FlowSim over the same paths.
// p1, p50, p99 are order statistics (the smallest value that at least that share of the demands does not exceed).
// Cost: routing, one solve from nothing, one simulation.
RunResult run_traffic(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& options = {});
RunResult run_traffic(const Clos& clos, std::span<const Demand> demands, const RunOptions& options = {});

}  // namespace trunkline::network
