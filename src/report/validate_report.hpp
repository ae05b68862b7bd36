// What `trunkline validate` answers: errors of predictions against published or measured results.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/context.hpp"
#include "report/document.hpp"
#include "validate/clip_table.hpp"
#include "validate/nccl_table.hpp"
#include "validate/p2p_table.hpp"
#include "validate/storage_table.hpp"
#include "validate/training.hpp"

namespace trunkline::report {

struct ReadFile {
  std::string file;
  validate::TableKind kind;
  int rows = 0;
  std::vector<std::string> unused;  // columns that no prediction reads
};

// A system that is predicted badly, and what is different there.
struct FarOff {
  std::string system;
  std::vector<std::string> facts;
};

struct CollectiveTable {
  std::string file;
  std::vector<validate::CollectiveRow> rows;
  validate::CollectiveSummary summary;
  bool left_out = false;  // each system was judged by constants fitted without it; else by those built in
  std::vector<FarOff> far_off;
};

struct ClipTable {
  std::string file;
  std::vector<validate::ClipRow> rows;
  validate::ClipSummary summary;
};

struct StorageTable {
  std::string file;
  std::vector<validate::StorageRow> rows;
  validate::StorageSummary summary;
};

struct PointToPointTable {
  std::string file;
  std::vector<validate::PointToPointRow> rows;
  validate::PointToPointSummary summary;
};

// One effect of the step model switched off, and what the error then is.
struct Ablation {
  std::string effect;
  validate::ErrorSummary overall;
  double median_of_tables = 0;
};

struct Validation {
  std::vector<ReadFile> files;
  std::optional<validate::TrainingValidation> training;
  std::optional<validate::TrainingValidation> trivial;  // the predictor to beat
  std::vector<Ablation> ablations;
  std::vector<CollectiveTable> collectives;
  std::vector<ClipTable> clips;
  std::vector<StorageTable> storages;
  std::vector<PointToPointTable> links;
  bool rows = false;  // people want every row too
};

// Every row of every kind, in the order in which the kinds stand above.
std::vector<std::pair<validate::TableKind, const validate::Row*>> rows_of(const Validation& validation);

// Every kind that was given: all its rows as one summary, and the median over its tables of their median error.
struct KindSummary {
  validate::TableKind kind;
  int tables = 0;
  validate::ErrorSummary overall;
  double median_of_tables = 0;
};
std::vector<KindSummary> kinds_of(const Validation& validation);

Document validation_document(const Validation& validation, const Context& context);
std::string validation_json(const Validation& validation, const Context& context);

}  // namespace trunkline::report
