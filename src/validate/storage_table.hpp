// Published ingest and checkpoint results against predictions.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/csv.hpp"
#include "validate/row.hpp"

namespace trunkline::validate {

struct StorageRow : Row {  // a step of all accelerators, or one file or checkpoint written or read
  std::string kind, system;
};

// No row is predicted from its own result: what must be learnt is learnt from the table's other rows.
//
// - Ingest with emulated accelerators: a step takes compute + data wait (predict::data_wait_s), samples/s = accelerators · batch / step.
//   Batch and compute time as the row states them, else as MLPerf Storage v1.0 sets them for that workload and accelerator. Submitters
//   add accelerators until the wait reaches what the rules allow, so the wait is, as a share of the compute time, the median of other
//   submitters' rows with that workload and accelerator, else with that workload, else what the rules allow.
// - Checkpoints: bytes as stated, else parameters of the model's name × bytes a parameter (workload::checkpoint_bytes); time = bytes /
//   (rate of a writing node × predict::writing_nodes). The nodes of one copy of the model write (an unsharded optimizer); one copy takes
//   as few GPUs as hold its state, each as full as the fullest of that file system's rows. The rate is the median of other rows with that
//   file system.
// - Other transfers (IOR): size over the rate of a client, the median of other rows of that kind with that file system.
//
// Everything else is skipped with its reason.
Result<std::vector<StorageRow>> validate_storage(const io::CsvTable& table);

struct StorageSummary {
  std::vector<ErrorSummary> kinds;
  ErrorSummary overall;
};

StorageSummary summary_of(const std::vector<StorageRow>& rows);

}  // namespace trunkline::validate
