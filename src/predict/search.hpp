// The fastest ways to run a job on a platform, among those that what the job leaves open allows. Used by settle.cpp for the fastest one;
// made for whoever wants more of them.
#pragma once

#include <optional>
#include <vector>

#include "predict/prediction.hpp"

namespace trunkline::predict {

struct Candidate {
  workload::Job job;  // settled: nothing is open
  Bytes memory;       // what one GPU must hold at once
  double step_s = 0;  // as predict() says; 0 where it was not asked because the plan does not fit
};

struct SearchOptions {
  std::size_t keep = 1;  // how many of the fastest
  bool prune = true;     // leave out plans that cannot be among them (off: for checks of that; the answer is the same)
};

struct Ranking {
  std::vector<Candidate> fastest;    // that fit; fastest first, then those that need less memory
  std::optional<Candidate> closest;  // where nothing fits: the plan that needs least
  std::size_t tried = 0;             // plans, each with the recomputations that it may take
  std::size_t fitting = 0;           // of them
  std::size_t predicted = 0;         // asked of the whole model
};

// Ranks the plans of `job` (plans.hpp) by the step time that predict() gives them; recomputation, where open: none where that fits, else
// selective or full for as few layers as need be, whichever is faster. A plan that does not fit the memory is never ranked. The
// answer does not depend on the machine or on time. Errors: no way to split the job matches model, batch and platform.
// Cost: a microsecond a plan for its memory, and some 50 µs for each that its least time (least_time.hpp) leaves in the race.
Result<Ranking> search(const workload::Job& job, const PlatformModel& platform, const Options& options = {},
                       const SearchOptions& search_options = {});

}  // namespace trunkline::predict
