// A fabric file carried out: once, or for many seeds.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "network/fabric_file.hpp"
#include "network/fabric_run.hpp"
#include "network/lossless.hpp"

namespace trunkline::network {

// How one figure lies over the seeds; low and high are the 5 % and 95 % order statistics.
struct Spread {
  double mean = 0, low = 0, median = 0, high = 0, min = 0, max = 0;
};

// Values in any order, at least one.
Spread spread_of(std::vector<double> values);

struct Study {
  FabricFile file;
  std::vector<std::pair<std::string, std::string>> swept;  // key, value
  std::vector<Demand> demands;                             // of the first seed
  std::vector<RunResult> runs;                             // one a seed; the file's own seed first
  std::vector<LosslessRun> paused;                         // the same under a lossless network, where the file asks for one

  const RunResult& first() const { return runs.front(); }
  Spread spread(const std::function<double(const RunResult&)>& figure) const;
};

// Runs the file for `seeds` seeds: the file's own and those that follow it, of routing and traffic alike. An error where a collective
// has no way.
Result<Study> run_study(FabricFile file, int seeds = 1);

}  // namespace trunkline::network
