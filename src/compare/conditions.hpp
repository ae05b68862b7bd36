// Under which circumstances results came about, where they differ, and whether that decides the outcome.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "measure/result.hpp"

namespace trunkline::compare {

// One circumstance that is not the same in all results.
struct Difference {
  std::string field;                // "fsync", "cpu", "warmup"
  std::vector<std::string> values;  // one a result, in their order; empty = not recorded there
  bool decisive = false;            // what was measured is another thing: the outcome says nothing about who is better
  std::vector<std::string> where;   // probes and metrics concerned ("storage.write bandwidth"); empty = the results as a whole
  std::string reason;               // why it decides, or what to make of it; may be empty
};

// Between one metric of the reference and of another result: `values` has two entries, `where` is left empty. What only one side records
// cannot be checked; it is listed and does not decide.
std::vector<Difference> differences_between(const measure::Metric& reference, const measure::Metric& other);

// Between the contexts of all results.
std::vector<Difference> differences_between(const std::vector<measure::Measurement>& results);

}  // namespace trunkline::compare
