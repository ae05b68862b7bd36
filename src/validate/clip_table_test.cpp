#include "validate/clip_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include "base/quantity_text.hpp"
#include "stats/summary.hpp"

namespace trunkline::validate {
namespace {

const std::vector<ClipRow>& published() {
  static const std::vector<ClipRow> rows = [] {
    const auto table = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/data/published/clip.csv");
    if (!table) throw std::runtime_error(table.error().text());
    auto all = validate_clip(*table);
    if (!all) throw std::runtime_error(all.error().text());
    return *all;
  }();
  return rows;
}

// TRUNKLINE_SHOW=1 prints every row.
void show(const std::vector<ClipRow>& rows) {
  if (!std::getenv("TRUNKLINE_SHOW")) return;
  for (const auto& r : rows) {
    if (!r.predicted()) {
      std::cout << fmt::format("{:8} {:20} {}\n", r.id, r.table, r.skipped_reason);
      continue;
    }
    std::cout << fmt::format("{:8} {:20} {:18} {:4} GPUs {:4} each {:5} measured {:7.3f} s predicted {:7.3f} {:+6.1f} %\n", r.id, r.table,
                             r.model, r.gpus, r.job->batch.micro, workload::name_of(r.job->recompute), r.measured_s, r.predicted_s,
                             100 * r.error);
  }
  const ClipSummary summary = summary_of(rows);
  auto groups = summary.tables;
  groups.push_back(summary.overall);
  for (const auto& g : groups) {
    std::cout << fmt::format("{:22} rows {} predicted {} median {:.1f} % mean {:.1f} % signed {:+.1f} % covered {:.0f} %\n", g.name, g.rows,
                             g.predicted, 100 * g.median_abs, 100 * g.mean_abs, 100 * g.mean_signed, 100 * g.covered);
  }
}

TEST(ClipTable, MedianIsWithinTheGate) {
  show(published());
  const ClipSummary summary = summary_of(published());
  EXPECT_GE(summary.overall.predicted, 29);
  EXPECT_LE(summary.overall.median_abs, 0.20);
}

TEST(ClipTable, TablesLeftOutOfTheFitAreWithinTheGate) {
  const auto rows = leave_one_table_out(published());
  show(rows);
  const ClipSummary summary = summary_of(rows);
  EXPECT_LE(summary.overall.median_abs, 0.20);
  EXPECT_NEAR(summary.overall.covered, 0.8, 0.08);
  for (const auto& g : summary.tables) {
    if (g.predicted > 0) {
      EXPECT_LE(g.median_abs, 0.30) << g.name;
    }
  }
}

TEST(ClipTable, BuiltInConstantIsTheFitRounded) {
  double sum = 0;
  for (const char* table : {"jubench_mmoclip", "laion_scaling_laws", "openclip_laion400m"}) {
    const double fitted = fit_old_software(published(), table);
    if (std::getenv("TRUNKLINE_SHOW")) std::cout << fmt::format("{} says {:.3f}\n", table, fitted);
    sum += std::log(fitted);
    // Two of three left: what the third says is the cube of all over the square of the others.
    EXPECT_NEAR(std::pow(old_software_factor(), 3) / std::pow(old_software_factor(table), 2), fitted, 0.05) << table;
  }
  EXPECT_NEAR(old_software_factor(), std::exp(sum / 3), 0.03);
  EXPECT_EQ(fit_old_software(published(), "laion_clap_jupiter"), 0);
}

// What the model itself says of eager PyTorch, without any fitted constant: whole steps measured on one H200.
TEST(ClipTable, StepsMeasuredOnAnH200AreMetWithoutAFittedConstant) {
  const auto table = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/data/calibration/h200_clip_step.csv");
  ASSERT_TRUE(table);
  const auto number = [&](const io::CsvRow& row, const char* column) { return parse_number(table->cell(row, column)).value_or(0); };
  topology::Platform one;
  one.node = *topology::node_type("hgx-h200");
  one.node.gpus = 1;
  std::vector<double> errors;
  for (const auto& row : table->rows()) {
    workload::Job job;
    job.model = *workload::builtin_model(table->cell(row, "model"));
    job.framework = workload::Framework::pytorch_ddp;
    job.precision = {*workload::precision_from(table->cell(row, "precision")), catalog::Precision::fp32, catalog::Precision::fp32};
    job.recompute = *workload::recompute_from(table->cell(row, "recompute"));
    job.flash_attention = table->cell(row, "fused_attention") == "1";
    job.batch.micro = job.batch.global = std::int64_t(number(row, "batch"));
    predict::Options options;
    options.compute_factor = 1;
    const auto p = predict::predict(job, one, options);
    ASSERT_TRUE(p) << p.error().text();
    const double error = p->breakdown.compute_s / number(row, "gpu_s") - 1;
    EXPECT_LE(std::abs(error), 0.15) << table->cell(row, "model") << " batch " << job.batch.micro << ": " << p->breakdown.compute_s << " s";
    errors.push_back(std::abs(error));
  }
  ASSERT_EQ(errors.size(), 9u);
  EXPECT_LE(stats::median(errors), 0.10);
}

// One row with a ViT-B/32 on 8 GPUs, some cells replaced.
ClipRow row_with(const std::vector<std::pair<std::string, std::string>>& cells) {
  std::vector<std::pair<std::string, std::string>> row = {{"row_id", "x"},
                                                          {"table_id", "t"},
                                                          {"image_size", "224"},
                                                          {"image_width", "768"},
                                                          {"image_layers", "12"},
                                                          {"patch", "32"},
                                                          {"text_width", "512"},
                                                          {"text_layers", "12"},
                                                          {"text_heads", "8"},
                                                          {"context_length", "77"},
                                                          {"vocab", "49408"},
                                                          {"gpus", "8"},
                                                          {"gpu_type", "A100"},
                                                          {"gpus_per_node", ""},
                                                          {"network", ""},
                                                          {"batch_per_gpu", "256"},
                                                          {"global_batch", "2048"},
                                                          {"precision", ""},
                                                          {"grad_checkpointing", ""},
                                                          {"samples_s", "1000"}};
  std::string head, line;
  for (auto& [column, cell] : row) {
    for (const auto& [name, value] : cells) {
      if (name == column) cell = value;
    }
    head += (head.empty() ? "" : ",") + column;
    line += (line.empty() ? "" : ",") + io::csv_cell(cell);
  }
  const auto table = io::CsvTable::parse(head + "\n" + line + "\n", "test.csv");
  return clip_row(*table, table->rows().front());
}

TEST(ClipTable, TheRuleOfARow) {
  const ClipRow plain = row_with({});
  ASSERT_TRUE(plain.job);
  EXPECT_DOUBLE_EQ(plain.measured_s, 2.048);
  EXPECT_EQ(plain.platform->node.gpu.id, "a100-sxm-40");
  EXPECT_EQ(plain.platform->nodes, 2);  // four a node
  EXPECT_EQ(plain.job->recompute, workload::Recompute::none);
  EXPECT_EQ(plain.job->precision.compute, catalog::Precision::bf16);
  EXPECT_TRUE(plain.old_software);
  EXPECT_NEAR(plain.job->model.parameters(), 151.3e6, 0.3e6);  // as published for ViT-B/32

  EXPECT_EQ(row_with({{"gpu_type", "A100-SXM4-80GB"}, {"gpus_per_node", "8"}}).platform->node.gpu.id, "a100-sxm-80");
  EXPECT_EQ(row_with({{"batch_per_gpu", "4096"}, {"global_batch", "32768"}}).job->recompute,
            workload::Recompute::full);  // does not fit without
  EXPECT_EQ(row_with({{"grad_checkpointing", "yes"}}).job->recompute, workload::Recompute::full);
  EXPECT_EQ(row_with({{"precision", "fp32/tf32"}}).job->precision.compute, catalog::Precision::tf32);
  EXPECT_FALSE(row_with({{"gpu_type", "H100"}}).old_software);
  EXPECT_FALSE(row_with({{"gpu_type", "H100"}}).job->flash_attention.has_value());  // the framework's habit: fused
}

TEST(ClipTable, RowsThatSayTooLittleAreSkippedWithTheirReason) {
  EXPECT_EQ(row_with({{"samples_s", ""}}).skipped_reason, "samples_s: not stated, nor samples_s_gpu");
  EXPECT_EQ(row_with({{"image_width", ""}}).skipped_reason, "image_width: not stated; only image-text transformers are predicted");
  EXPECT_FALSE(row_with({{"image_width", ""}}).eligible);
  EXPECT_EQ(row_with({{"gpu_type", "TPU v4"}}).skipped_reason, "gpu_type: \"TPU v4\" has no ready-made node");
  EXPECT_TRUE(row_with({{"gpu_type", "TPU v4"}}).eligible);
  EXPECT_EQ(row_with({{"gpus", "6"}, {"global_batch", "1536"}}).skipped_reason, "gpus: 6 do not fill whole nodes of 4 (gpus_per_node)");
  EXPECT_EQ(row_with({{"gpus", "16"}}).skipped_reason, "global_batch: \"2048\" is not batch_per_gpu 256 × gpus 16");
  EXPECT_EQ(row_with({{"precision", "int8"}}).skipped_reason, "precision: \"int8\" is not known; expected amp, bf16, fp16, tf32 or fp32");
  EXPECT_EQ(row_with({{"grad_checkpointing", "perhaps"}}).skipped_reason,
            "grad_checkpointing: \"perhaps\" is not known; expected yes or no");
  for (const auto& row : published()) EXPECT_EQ(row.predicted(), row.predicted_s > 0) << row.id;
}

TEST(ClipTable, AnotherTableIsRefusedWithWhatIsMissing) {
  const auto table = io::CsvTable::parse("row_id,table_id\nx,t\n", "test.csv");
  const auto rows = validate_clip(*table);
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().message.find("image_width"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::validate
