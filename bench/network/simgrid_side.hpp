// SimGrid's half of the benchmark: the same problems through its public interface. Every call runs in a process of its own, as
// SimGrid allows one simulation a process.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "cases.hpp"

namespace trunkline::bench {

// Rates of all flows at once. Each flow has a pair of hosts of its own in a star zone, whose routes name the links of the path.
struct SolvedBySimGrid {
  double seconds = 0;  // from the first flow started to the first shared instant simulated
  std::vector<double> rates;
};
SolvedBySimGrid solve_with_simgrid(const SolverCase& problem);

struct TreeFlow {
  int source = 0, destination = 0;
  double bytes = 0, start = 0;
};

// Flows on SimGrid's own fat tree of 16-port switches (three tiers, 1,024 hosts, 100 Gb/s and 1 µs a link), its own routes.
struct TreeRun {
  double seconds = 0;
  std::vector<double> completion;        // of each flow, from its start
  std::vector<double> capacities;        // of the links its routes use
  std::vector<std::uint32_t> path_ends;  // of each flow, in path_links
  std::vector<std::uint32_t> path_links;
  std::vector<double> latency;  // of each flow's route
};
TreeRun run_tree_with_simgrid(const std::vector<TreeFlow>& flows);

}  // namespace trunkline::bench
