#include "validate/storage_table.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>

namespace trunkline::validate {
namespace {

const io::CsvTable& table() {
  static const io::CsvTable read = [] {
    auto t = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/data/published/storage_ingest.csv");
    if (!t) throw std::runtime_error(t.error().text());
    return *t;
  }();
  return read;
}

const std::vector<StorageRow>& published() {
  static const std::vector<StorageRow> rows = *validate_storage(table());
  return rows;
}

// TRUNKLINE_SHOW=1 prints every row.
void show(const std::vector<StorageRow>& rows) {
  if (!std::getenv("TRUNKLINE_SHOW")) return;
  for (const auto& r : rows) {
    std::string assumed;
    for (const auto& [what, taken] : r.assumed) assumed += fmt::format(" {}: {};", what, taken);
    std::cout << fmt::format("{:18} {:16} {:70} {:9.4f} s predicted {:9.4f} {:+6.1f} % {}{}\n", r.id, r.kind, r.system, r.measured_s,
                             r.predicted_s, 100 * r.error, r.skipped_reason, assumed);
  }
  const StorageSummary summary = summary_of(rows);
  auto groups = summary.kinds;
  groups.push_back(summary.overall);
  for (const auto& g : groups) {
    std::cout << fmt::format("{:18} rows {} predicted {} median {:.1f} % mean {:.1f} % signed {:+.1f} % covered {:.0f} %\n", g.name, g.rows,
                             g.predicted, 100 * g.median_abs, 100 * g.mean_abs, 100 * g.mean_signed, 100 * g.covered);
  }
}

TEST(StorageTable, MediansAreWithinTheGate) {
  show(published());
  const StorageSummary summary = summary_of(published());
  EXPECT_GE(summary.overall.predicted, 46);
  EXPECT_LE(summary.overall.median_abs, 0.20);
  for (const auto& g : summary.kinds) {
    if (g.predicted > 0) {
      EXPECT_LE(g.median_abs, 0.20) << g.name;
    }
  }
  EXPECT_GE(summary.overall.covered, 0.75);
}

const char* const kHead =
    "row_id,table_id,kind,system,workload,accelerator_emulated,num_accelerators,clients,batch_size,compute_time_s,samples_s,size_bytes,"
    "time_s,GB_s,gpus,"
    "storage\n";

std::vector<StorageRow> rows_of(const std::string& lines) { return *validate_storage(*io::CsvTable::parse(kHead + lines, "test.csv")); }

// Row by row: another result of its own changes a row's error, never its prediction.
TEST(StorageTable, NoRowIsPredictedFromItsOwnResult) {
  std::string text = "";
  for (std::size_t c = 0; c < table().columns().size(); ++c) text += (c ? "," : "") + io::csv_cell(table().columns()[c]);
  const std::string head = text + "\n";
  for (std::size_t changed = 0; changed < table().rows().size(); ++changed) {
    std::string lines = head;
    for (std::size_t i = 0; i < table().rows().size(); ++i) {
      for (std::size_t c = 0; c < table().columns().size(); ++c) {
        std::string cell = table().rows()[i].cells[c];
        const std::string& column = table().columns()[c];
        const bool result = column == "samples_s" || column == "time_s";
        if (i == changed && result && !cell.empty()) cell = fmt::format("{}", 1.5 * std::atof(cell.c_str()));
        lines += (c ? "," : "") + io::csv_cell(cell);
      }
      lines += "\n";
    }
    const auto rows = *validate_storage(*io::CsvTable::parse(lines, "test.csv"));
    EXPECT_DOUBLE_EQ(rows[changed].predicted_s, published()[changed].predicted_s) << rows[changed].id;
  }
}

TEST(StorageTable, AStepTakesComputeAndTheWaitThatOthersShow) {
  // B's step takes 4·10/36.3 = 1.102 of its 1 s; C's 1.25. A: 2 s × (1 + median(0.102, 0.25)).
  const auto rows = rows_of(
      "1,t,ingest,A / x,w,h100,8,,10,2,32,,,,,\n2,t,ingest,B / x,w,h100,4,,10,1,36.3,,,,,\n3,t,ingest,C / x,w,h100,1,,10,1,8,,,,,\n"
      "4,t,ingest,A / y,w,a100,1,,10,4,2,,,,,\n");
  EXPECT_DOUBLE_EQ(rows[0].measured_s, 2.5);
  EXPECT_NEAR(rows[0].predicted_s, 2 * (1 + (4 * 10 / 36.3 - 1 + 0.25) / 2), 1e-12);
  EXPECT_NEAR(rows[3].predicted_s, 4 * (1 + (4 * 10 / 36.3 - 1 + 0.25) / 2), 1e-12);  // no other a100: the workload's rows
  const auto alone = rows_of("1,t,ingest,A / x,unet3d,h100,1,,,,20,,,,,\n2,t,ingest,A / x,other,h100,1,,,,20,,,,,\n");
  EXPECT_NEAR(alone[0].predicted_s, 0.323 / 0.9, 1e-12);  // the most that a valid result may show
  EXPECT_EQ(alone[1].skipped_reason,
            "workload, accelerator_emulated: what a step of other on h100 computes is not known, and batch_size and compute_time_s are not "
            "stated");
}

TEST(StorageTable, ACheckpointIsWrittenByTheNodesOfOneCopy) {
  // 10e9 parameters × 14 bytes on 16 GPUs (4 nodes) and on 32: one copy takes 16, so 4 nodes write both times.
  const auto rows = rows_of(
      "1,t,checkpoint write,S,Megatron GPT 10B,,,4,,,,,10,,16,fs\n2,t,checkpoint write,S,Megatron GPT 10B,,,8,,,,,14,,32,fs\n"
      "3,t,checkpoint write,S,7B FSDP model,,,1,,,,,9,,8,other\n4,t,checkpoint write,S,model,,,1,,,,,9,,8,fs\n");
  EXPECT_DOUBLE_EQ(rows[0].predicted_s, 14);  // at the rate of the other
  EXPECT_DOUBLE_EQ(rows[1].predicted_s, 10);
  EXPECT_EQ(rows[2].skipped_reason, "storage: no other row of this table_id states a rate of this file system in this direction");
  EXPECT_EQ(rows[2].assumed.front().second, "12 bytes a parameter");  // fp32 weights and two moments
  EXPECT_EQ(rows[3].skipped_reason, "size_bytes: not stated, nor a model's size (workload: \"… GPT 25B\")");
}

// A model that the table shows on many GPUs only: another model says how full a GPU can be. 10e9 × 14 bytes on 16 GPUs, so 20e9 take
// 32 of 128: 8 of 32 nodes write.
TEST(StorageTable, HowFullAGpuCanBeIsLearntFromOtherModels) {
  const auto rows =
      rows_of("1,t,checkpoint write,S,Megatron GPT 10B,,,4,,,,,10,,16,fs\n2,t,checkpoint write,S,Megatron GPT 20B,,,32,,,,,14,,128,fs\n");
  EXPECT_DOUBLE_EQ(rows[0].predicted_s, 14);
  EXPECT_DOUBLE_EQ(rows[1].predicted_s, 10);
}

TEST(StorageTable, TransfersOfOneDirectionTeachEachOther) {
  const auto rows =
      rows_of("1,t,IOR write,S,easy,,,2,,,,4e9,2,,,fs\n2,t,IOR write,S,easy,,,4,,,,16e9,,2,,fs\n3,t,IOR read,S,easy,,,4,,,,16e9,,2,,fs\n");
  EXPECT_DOUBLE_EQ(rows[0].predicted_s, 4);  // 2 GB/s over 4 nodes: 0.5 a node, two nodes
  EXPECT_DOUBLE_EQ(rows[1].predicted_s, 4);  // 1 a node, four nodes
  EXPECT_FALSE(rows[2].predicted());
}

TEST(StorageTable, AnotherTableIsRefusedWithWhatIsMissing) {
  const auto rows = validate_storage(*io::CsvTable::parse("row_id,table_id\nx,t\n", "test.csv"));
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().message.find("kind"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::validate
