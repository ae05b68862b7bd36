// Published CLIP training throughput against predictions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/csv.hpp"
#include "predict/prediction.hpp"
#include "validate/row.hpp"

namespace trunkline::validate {

struct ClipRow : Row {  // measured_s: one step, the global batch over samples/s
  std::string model;
  int gpus = 0;
  std::optional<workload::Job> job;
  std::optional<topology::Platform> platform;
  bool old_software = false;  // PyTorch 1.x, on a GPU before Hopper
};

// Turns one row into a job on a platform. The rule:
// - Model: both towers from the row's shape columns; head counts and inner widths of the built-in CLIP model of that shape,
//   else heads of 64 and 4 × width. The projection is as wide as the text tower.
// - GPU: the family and memory size that `gpu_type` names; an A100 without either is one of four 40 GB SXM cards in a node
//   with four 200 Gb/s InfiniBand cards, as in JUWELS Booster, on which these models were trained. Others: eight a node.
// - Software: PyTorch DDP running eagerly in mixed precision, fp32 weights, attention not fused before Hopper (PyTorch 1.x,
//   2021–2022), gradients and features as open_clip gathers them (local loss).
// - Precision: as stated; unstated = bf16 on Ampere and later, fp16 before. "fp32/tf32" = tf32.
// - Activation checkpoints: as stated; unstated = only where the step does not fit the memory without. All layers or none.
// - Kernel time of PyTorch 1.x: the modelled one × old_software_factor(), fitted to this table.
// - Reading and decoding of images are not counted: the rows do not state the loader.
// Rows of other models than image-text transformers, of unknown GPUs or without throughput are skipped.
ClipRow clip_row(const io::CsvTable& table, const io::CsvRow& row);

// How much longer kernels took under PyTorch 1.x (2021–2022, A100) than the model of eager PyTorch says, which is checked
// against PyTorch 2.11 on an H200 (data/calibration/h200_clip_step.csv). Known parts: bias additions and the casts around
// softmax as kernels of their own, two-pass layer norms, copies of the permuted residual stream. What the runs spent on
// decoding images and on evaluation is in it too. No job file meets this constant: it stands for old software only.
//
// It is the geometric mean of what each published table says: the median factor at which its rows are met exactly. `without`
// names a table to leave out.
double old_software_factor(const std::string& without = {});

// What the table `name` among `rows` says, found again; 0 where none of its rows counts. Cost: forty predictions a row.
double fit_old_software(const std::vector<ClipRow>& rows, const std::string& name);

// Fills predicted_s, its interval and error.
void predict(ClipRow& row, double old_software = old_software_factor());

// Every row with the constant that the program uses.
Result<std::vector<ClipRow>> validate_clip(const io::CsvTable& table);

// Every row with the constant of the other tables.
std::vector<ClipRow> leave_one_table_out(std::vector<ClipRow> rows);

struct ClipSummary {
  std::vector<ErrorSummary> tables;
  ErrorSummary overall;
};

ClipSummary summary_of(const std::vector<ClipRow>& rows);

}  // namespace trunkline::validate
