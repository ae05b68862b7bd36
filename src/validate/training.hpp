// Published step times against predictions: errors a row, a table, a framework, a GPU generation.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "validate/fit.hpp"
#include "validate/training_row.hpp"

namespace trunkline::validate {

struct TrainingResult {
  TrainingRow row;
  std::shared_ptr<const predict::PlatformModel> model;  // of row.platform
  bool seen = true;                                     // other tables hold rows of the same framework and GPU generation
};

struct TrainingValidation {
  std::vector<TrainingResult> results;
  std::vector<ErrorSummary> tables, frameworks, generations;
  std::vector<ErrorSummary> beside;  // rows that are not judged, by kind: mixture of experts, cut-down, fine-tuning, other
  ErrorSummary overall;
  double median_of_tables = 0;
  predict::Constants constants;  // fitted to all given tables
};

struct TrainingOptions {
  timeline::Effects effects;
  bool leave_one_out = true;  // judge each table by constants fitted without it; else by those built in
  bool refit = false;         // fit anew on the given tables (after a change of the model, for an ablation), else leave
                              // the judged table out of the evidence that is built in
  int jobs = 1;               // threads
};

// Rows of several tables. A table that the built-in constants do not rest on is judged by them as they are.
TrainingValidation validate_training(const std::vector<io::CsvTable>& tables, const TrainingOptions& options = {});

// The trivial predictor to beat: model FLOPs over (peak × one constant a GPU type, fitted the same way).
TrainingValidation trivial_predictor(const std::vector<io::CsvTable>& tables);

}  // namespace trunkline::validate
