// Model families: what a name says about an architecture that a table's columns do not.
#pragma once

#include <string>
#include <string_view>

#include "workload/model.hpp"

namespace trunkline::validate {

struct Family {
  std::string_view word;  // found in the lower-case model name
  bool gated = false;
  workload::Norm norm = workload::Norm::layer;
  workload::Positions positions = workload::Positions::learned;
  bool biases = true;
  bool tied = true;
  std::int64_t vocab = 0;  // where the row leaves it empty
};

// The family whose word stands in `model_name`; the GPT family where none does.
const Family& family_of(std::string_view model_name);

// The built-in model with experts that a table's model name means; empty where there is none.
std::string_view builtin_for(std::string_view model_name);

}  // namespace trunkline::validate
