// Platforms in the order of the time of a step: the table that people publish.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/causes.hpp"

namespace trunkline::compare {

// A figure, and whether it was measured or follows from the models.
struct Figure {
  double value = 0;
  bool measured = false;
  std::string what;  // "collective.all_reduce busbw@1GiB"
};

struct Rank {
  std::string platform;
  int rank = 1;  // 1 = the least time of a step
  int gpus = 0, nodes = 0;
  std::optional<Figure> bandwidth;           // all-reduce over all GPUs, bus bandwidth of the largest size
  std::optional<Figure> latency;             // the smallest message between two nodes, or all-reduce of the smallest size
  double step_s = 0, low_s = 0, high_s = 0;  // predicted, with what was measured
  double steps_per_hour = 0;
  double speedup = 1, efficiency = 1;
  int baseline_gpus = 1;
  bool fits = true;
  std::optional<Money> per_1000_steps;
  std::vector<std::pair<std::string, std::string>> assumed;
};

// Errors: a platform that cannot run the job.
Result<std::vector<Rank>> ranking_of(const workload::Job& job, const std::vector<Offer>& offers);

}  // namespace trunkline::compare
