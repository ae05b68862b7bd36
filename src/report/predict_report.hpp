// What `trunkline predict` answers: one prediction, several side by side, or a row for every point of a sweep.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "predict/prediction.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

struct PredictionEntry {
  std::string platform;
  std::vector<std::pair<std::string, std::string>> swept;  // key, value
  std::optional<predict::Prediction> prediction;
  Error error;  // why there is none
};

// Never empty. With a sweep every entry has the same swept keys.
struct PredictionSet {
  std::vector<PredictionEntry> entries;
  std::string show;  // what a sweep's table shows, one of sweep_metrics(); empty = the main figures, or the throughput of several platforms

  bool swept() const { return !entries.front().swept.empty(); }
};

std::vector<std::string> sweep_metrics();

Document predictions_document(const PredictionSet& set, const Context& context);

std::string predictions_json(const PredictionSet& set, const Context& context);

// Chrome's trace format (https://ui.perfetto.dev): one process a prediction, one lane a pipeline stage, whose events fill the step
// without a gap or an overlap.
std::string timeline_json(const PredictionSet& set, const Context& context);

}  // namespace trunkline::report
