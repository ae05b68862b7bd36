// Published nccl-tests results against predictions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "collectives/constants.hpp"
#include "io/csv.hpp"
#include "topology/platform.hpp"
#include "validate/row.hpp"

namespace trunkline::validate {

// What a row states, or what the rule below infers, as a question to the model.
struct CollectiveCase {
  collectives::Domain domain;
  collectives::Collective collective = collectives::Collective::all_reduce;
  Bytes size;
  collectives::Options options;
  double floor_s = 0;  // what the measuring program itself needs for one call
};

// `eligible`: healthy, and the table names no reason against it.
struct CollectiveRow : Row {
  std::string system, collective, gpu;
  Bytes size;
  int gpus = 0, nodes = 0;
  bool healthy = false;
  bool erratic = false;  // its system was disturbed while it was measured: judged, but not used in a fit
  std::string exclude_reason, forced;
  std::string network, notes;  // as the row states them
  std::optional<CollectiveCase> question;
};

// Turns one row into a question. The rule (also in docs/collectives.md):
// - GPU: `gpu_norm`, else the family that `gpu_type` begins with, as its SXM form (memory does not matter here).
// - Links: `intra_norm`; "nvlink" on GPUs that only come with NVSwitch in eights means NVSwitch; empty = what the GPU's form has.
// - Nodes: `nodes`, else GPUs / `gpus_per_node`; the group has GPUs / nodes ranks on each.
// - NICs: `nic_count` × `nic_gbps` of `fabric_norm`; a figure for the whole node is shared out, one NIC a GPU; unstated between
//   nodes = the cards usual with that GPU (V100 100, A100 200, later 400 Gb/s, one a GPU, InfiniBand; sockets: one of 100 Gb/s).
// - Time: `time_us`, else from `busbw_GBs`.
// - One process drives all GPUs of a single node (`-g N`) and launches one kernel after the other: a call takes at least
//   4.3 µs for each GPU, and 0.41 µs for each send or receive of an all-to-all. Several nodes: one process a GPU.
// - `forced` ALGO, PROTO and NVLS are obeyed; COLLNET=1 changes nothing (no SHARP assumed).
// What was inferred stands in `assumed`.
CollectiveRow collective_row(const io::CsvTable& table, const io::CsvRow& row);

// The rule's platform for a row, for tests: the text of a platform file.
Result<topology::Platform> platform_of_row(const io::CsvTable& table, const io::CsvRow& row);

// Fills predicted_s, its interval, error and chosen. Cost: a fraction of a microsecond.
void predict(CollectiveRow& row, const collectives::Constants& constants = collectives::builtin_constants());

// Every row by the constants and intervals that are built in.
Result<std::vector<CollectiveRow>> validate_collectives(const io::CsvTable& table);

// measured / predicted lies between these for 80 % of the rows of a system that the fit has not seen.
struct Spread {
  double low = 1, high = 1;
};

// Residuals fall into four classes: 1 MiB and more, or less; within a node, or between nodes.
inline constexpr int kSpreadClasses = 4;
int spread_class(const CollectiveCase& question);
Spread builtin_spread(int spread_class);

struct SystemSummary {
  std::string system;
  int rows = 0;
  double median_abs = 0, mean_abs = 0, median_signed = 0, covered = 0;
};

struct CollectiveSummary {
  std::vector<SystemSummary> systems;  // counted rows of all-reduce, all-gather, reduce-scatter, all-to-all, from 1 MiB on
  double median_of_medians = 0, mean_of_medians = 0;
  int rows = 0, predicted = 0, skipped = 0, counted = 0;
  int small_rows = 0;       // counted, below 1 MiB, every collective
  double small_within = 0;  // share of them within a factor of 1.6
  double covered = 0;       // share of all counted rows whose measured time lies within the 80 % interval
};

CollectiveSummary summary_of(const std::vector<CollectiveRow>& rows);

}  // namespace trunkline::validate
