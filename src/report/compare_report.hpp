// What `trunkline compare` answers: results side by side, against a promise, and the platforms they come from.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare/causes.hpp"
#include "compare/comparison.hpp"
#include "compare/promise.hpp"
#include "compare/ranking.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

struct Comparing {
  std::vector<measure::Measurement> results;
  std::optional<compare::Comparison> comparison;  // of two results or more
  std::vector<compare::PromiseCheck> promises;    // one a result
  std::vector<compare::Rank> ranking;
  std::vector<compare::Gap> gaps;  // of every platform against the first
  bool every_row = false;          // also those with the verdict "same", where there are many
};

Document compare_document(const Comparing& comparing, const Context& context);

std::string compare_json(const Comparing& comparing, const Context& context);

}  // namespace trunkline::report
