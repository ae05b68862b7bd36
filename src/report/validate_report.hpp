// What `trunkline validate` answers: errors of predictions against published or measured results.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/context.hpp"
#include "report/document.hpp"
#include "validate/clip_table.hpp"
#include "validate/nccl_table.hpp"
#include "validate/training.hpp"

namespace trunkline::report {

struct CollectiveTable {
  std::string file;
  std::vector<validate::CollectiveRow> rows;
  validate::CollectiveSummary summary;
};

struct ClipTable {
  std::string file;
  std::vector<validate::ClipRow> rows;
  validate::ClipSummary summary;
};

// Rows of a kind of table that nothing predicts yet; they are counted, not passed over.
struct OtherTable {
  std::string file;
  std::vector<std::pair<std::string, std::string>> rows;  // id, table
};

constexpr const char* kOtherReason = "no model predicts this kind of table yet";

// One effect of the step model switched off, and what the error then is.
struct Ablation {
  std::string effect;
  validate::ErrorSummary overall;
  double median_of_tables = 0;
};

struct Validation {
  std::optional<validate::TrainingValidation> training;
  std::optional<validate::TrainingValidation> trivial;  // the predictor to beat
  std::vector<Ablation> ablations;
  std::vector<CollectiveTable> collectives;
  std::vector<ClipTable> clips;
  std::vector<OtherTable> others;
  bool rows = false;  // people want every row too
};

Document validation_document(const Validation& validation, const Context& context);
std::string validation_json(const Validation& validation, const Context& context);

}  // namespace trunkline::report
