// Problems that the benchmarks of the network solve, and how they are timed.
#pragma once

#include <sys/resource.h>
#include <time.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "network/maxmin.hpp"

namespace trunkline::bench {

// Random pairs of hosts over a leaf-spine fabric of 32 hosts a leaf and 32 spines, one of them drawn for each pair. Planes are copies
// of it that share nothing.
struct SolverCase {
  std::size_t hosts = 0, flows = 0, planes = 1;
  std::vector<double> capacities;
  std::vector<std::array<network::LinkId, 4>> paths;

  SolverCase(std::size_t hosts_in, std::size_t flows_in, std::size_t planes_in = 1)
      : hosts(hosts_in), flows(flows_in), planes(planes_in), capacities(4 * hosts * planes, 12.5e9), paths(flows) {
    Rng rng(3);
    for (auto& path : paths) {
      const std::size_t source = rng.below(hosts);
      std::size_t destination = rng.below(hosts - 1);
      if (destination >= source) ++destination;
      const std::size_t spine = rng.below(32), base = 4 * hosts * rng.below(planes);
      path = {network::LinkId(base + source), network::LinkId(base + 2 * hosts + source / 32 * 32 + spine),
              network::LinkId(base + 3 * hosts + destination / 32 * 32 + spine), network::LinkId(base + hosts + destination)};
    }
  }
};

// Processor time of this process so far: what a busy machine does not change.
inline double cpu_now() {
  timespec t{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
  return double(t.tv_sec) + double(t.tv_nsec) * 1e-9;
}

class Watch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }
  double cpu() const { return cpu_now() - cpu_start_; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
  double cpu_start_ = cpu_now();
};

inline double peak_mib() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return double(usage.ru_maxrss) / 1024;
}

struct Times {
  double mean = 0, p50 = 0, p99 = 0, max = 0;
};

inline Times summary(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  Times out;
  for (const double v : values) out.mean += v / double(values.size());
  out.p50 = values[values.size() / 2];
  out.p99 = values[values.size() * 99 / 100];
  out.max = values.back();
  return out;
}

}  // namespace trunkline::bench
