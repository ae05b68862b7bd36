// Whatever stands in a cell: the row is predicted without it, or skipped with a reason that names the column. Never a crash, never a
// default.
#include "validate/columns.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "base/quantity_text.hpp"
#include "validate/clip_table.hpp"
#include "validate/nccl_table.hpp"
#include "validate/p2p_table.hpp"
#include "validate/storage_table.hpp"
#include "validate/training.hpp"

namespace trunkline::validate {
namespace {

const char* const kBad[] = {"",     "nan", "inf", "-inf", "-1",   "0",    "1e-300", "1e300",    "1e400",     "2.5",  "many",   "zero9",
                            "0x10", "3",   "7",   "64",   "1000", "1024", "100000", "99999999", "999999999", "1e18", "odd=\"", "\xC3\xBC"};

// What became of the row that was changed.
struct Outcome {
  std::string skipped;  // its reason; empty where it was predicted
  double predicted_s = 0, measured_s = 0, low_s = 0, high_s = 0;
};

using Judge = std::function<Outcome(const io::CsvTable& table, std::size_t row)>;

// One table, given as its file, that can be written anew with one cell changed.
class Editable {
 public:
  explicit Editable(const std::string& name) {
    auto read = io::CsvTable::read(std::string(TRUNKLINE_SOURCE_DIR "/data/published/") + name);
    if (!read) throw std::runtime_error(read.error().text());
    table_ = std::move(*read);
  }

  const io::CsvTable& table() const { return table_; }

  // The rows `keep` and the header, `row` (an index into keep) with another cell under `column`.
  io::CsvTable with(const std::vector<std::size_t>& keep, std::size_t row, std::size_t column, const std::string& cell) const {
    std::string text = line(table_.columns());
    for (std::size_t i = 0; i < keep.size(); ++i) {
      auto cells = table_.rows()[keep[i]].cells;
      if (i == row) cells[column] = cell;
      text += line(cells);
    }
    auto parsed = io::CsvTable::parse(text, table_.file());
    if (!parsed) throw std::runtime_error(parsed.error().text());
    return std::move(*parsed);
  }

 private:
  static std::string line(const std::vector<std::string>& cells) {
    std::string out;
    for (std::size_t i = 0; i < cells.size(); ++i) out += (i ? "," : "") + io::csv_cell(cells[i]);
    return out + "\n";
  }

  io::CsvTable table_;
};

Outcome outcome_of(const Row& r) { return {r.skipped_reason, r.predicted_s, r.measured_s, r.low_s, r.high_s}; }

Outcome training_outcome(const io::CsvTable& table, std::size_t row) { return outcome_of(validate_training({table}).results.at(row).row); }
Outcome collective_outcome(const io::CsvTable& table, std::size_t row) { return outcome_of(validate_collectives(table)->at(row)); }
Outcome clip_outcome(const io::CsvTable& table, std::size_t row) { return outcome_of(validate_clip(table)->at(row)); }
Outcome storage_outcome(const io::CsvTable& table, std::size_t row) { return outcome_of(validate_storage(table)->at(row)); }

Outcome point_to_point_outcome(const io::CsvTable& table, std::size_t row) { return outcome_of(validate_point_to_point(table)->at(row)); }

Use use_of(TableKind kind, const std::string& column) {
  for (const Column& known : columns_of(kind)) {
    if (known.name == column) return known.use;
  }
  return Use::unused;
}

// A column's rule may accept a bad value that is a good one there: "2.5" seconds, "0" of a flag, an empty optional cell.
bool fits(TableKind kind, const std::string& column, const std::string& cell) {
  if ((column == "seq_parallel" && cell == "0") || (column == "nccl_norm" && cell == "2.5") || (column == "dp" && cell == "64"))
    return true;
  if ((column == "src" || column == "dst") && (cell == "0" || cell == "3" || cell == "7")) return true;
  for (const Column& known : columns_of(kind)) {
    if (known.name != column) continue;
    if (cell.empty()) return true;
    if (known.use == Use::word) return ("|" + std::string(known.words) + "|").find("|" + cell + "|") != std::string::npos;
    if (known.use != Use::number && known.use != Use::whole) return false;
    const auto value = parse_number(cell);
    return value && *value >= known.least && *value <= known.most && (known.use == Use::number || *value == std::floor(*value));
  }
  return false;
}

void expect_sound(const Outcome& outcome, const std::string& where) {
  if (!outcome.skipped.empty()) {
    EXPECT_EQ(outcome.predicted_s, 0) << where;
    return;
  }
  for (const double x : {outcome.predicted_s, outcome.measured_s, outcome.low_s, outcome.high_s}) {
    EXPECT_TRUE(std::isfinite(x) && x > 0) << where << " → " << x;
  }
  EXPECT_LE(outcome.low_s, outcome.predicted_s) << where;
  EXPECT_GE(outcome.high_s, outcome.predicted_s) << where;
}

// Every column of one row, every bad value.
void spoil(TableKind kind, const Editable& file, const std::vector<std::size_t>& keep, std::size_t row, const Judge& judge) {
  for (std::size_t c = 0; c < file.table().columns().size(); ++c) {
    const std::string& column = file.table().columns()[c];
    const Use use = use_of(kind, column);
    for (const char* bad : kBad) {
      const std::string where = fmt::format("{} {} = \"{}\"", row_name(file.table(), file.table().rows()[keep[row]]), column, bad);
      const Outcome outcome = judge(file.with(keep, row, c, bad), row);
      expect_sound(outcome, where);
      const bool checked = use != Use::unused && use != Use::label && use != Use::searched;
      if (outcome.skipped.empty()) {
        EXPECT_TRUE(!checked || fits(kind, column, bad)) << where << ": predicted as if the cell were good";
      } else {
        EXPECT_NE(use, Use::unused) << where << ": skipped for a column that is said to be unused: " << outcome.skipped;
        EXPECT_TRUE(*bad == '\0' || outcome.skipped.find(column) != std::string::npos)
            << where << ": the reason does not name it: " << outcome.skipped;
      }
    }
  }
}

// The first row of the table (after `from`) that is predicted.
std::size_t first_predicted(const Editable& file, const Judge& judge, std::size_t from = 0) {
  for (std::size_t i = from; i < file.table().rows().size(); ++i) {
    if (judge(file.with({i}, 0, 0, "x"), 0).skipped.empty()) return i;
  }
  return std::string::npos;
}

TEST(SpoiledCells, OfTrainingTables) {
  for (const char* name :
       {"llm_foundry_mpt.csv", "nvidia_dgxc.csv", "mlperf_training_llm.csv", "papers.csv", "nemo_megatron_bridge.csv", "fms_fsdp.csv"}) {
    const Editable file(name);
    const std::size_t row = first_predicted(file, training_outcome);
    ASSERT_NE(row, std::string::npos) << name;
    spoil(TableKind::training, file, {row}, 0, training_outcome);
  }
}

TEST(SpoiledCells, OfCollectiveTables) {
  const Editable file("nccl_results.csv");
  for (const std::size_t from : {std::size_t(0), std::size_t(400), std::size_t(900)}) {
    const std::size_t row = first_predicted(file, collective_outcome, from);
    ASSERT_NE(row, std::string::npos);
    spoil(TableKind::collectives, file, {row}, 0, collective_outcome);
  }
}

TEST(SpoiledCells, OfClipTables) {
  const Editable file("clip.csv");
  const std::size_t row = first_predicted(file, clip_outcome);
  ASSERT_NE(row, std::string::npos);
  spoil(TableKind::clip, file, {row}, 0, clip_outcome);
}

TEST(SpoiledCells, OfPointToPointTables) {
  const Editable file("p2p_bandwidth.csv");
  std::string last;
  for (std::size_t i = 0; i < file.table().rows().size(); ++i) {
    const std::string& kind = file.table().cell(file.table().rows()[i], "kind");
    if (kind != last && point_to_point_outcome(file.with({i}, 0, 0, "x"), 0).skipped.empty())
      spoil(TableKind::point_to_point, file, {i}, 0, point_to_point_outcome);
    last = kind;
  }
}

TEST(SpoiledCells, OfStorageTables) {
  const Editable file("storage_ingest.csv");
  std::vector<std::size_t> all(file.table().rows().size());
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
  std::string last;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const std::string& kind = file.table().cell(file.table().rows()[i], "kind");
    if (kind != last && storage_outcome(file.table(), i).skipped.empty()) spoil(TableKind::storage, file, all, i, storage_outcome);
    last = kind;
  }
}

TEST(Columns, EveryPublishedTableIsOfOneKind) {
  for (const char* name : {"llm_foundry_mpt.csv", "vtrain_single.csv"}) EXPECT_EQ(kind_of(Editable(name).table()), TableKind::training);
  EXPECT_EQ(kind_of(Editable("nccl_results.csv").table()), TableKind::collectives);
  EXPECT_EQ(kind_of(Editable("clip.csv").table()), TableKind::clip);
  EXPECT_EQ(kind_of(Editable("storage_ingest.csv").table()), TableKind::storage);
  EXPECT_EQ(kind_of(Editable("p2p_bandwidth.csv").table()), TableKind::point_to_point);
  EXPECT_FALSE(kind_of(*io::CsvTable::parse("a,b\n1,2\n", "t.csv")));
}

// A declared column that no table has would be a check that never runs.
TEST(Columns, EveryDeclaredColumnStandsInThePublishedTable) {
  const std::pair<TableKind, const char*> tables[] = {{TableKind::training, "papers.csv"},
                                                      {TableKind::collectives, "nccl_results.csv"},
                                                      {TableKind::clip, "clip.csv"},
                                                      {TableKind::storage, "storage_ingest.csv"},
                                                      {TableKind::point_to_point, "p2p_bandwidth.csv"}};
  for (const auto& [kind, name] : tables) {
    const Editable file(name);
    for (const Column& column : columns_of(kind)) EXPECT_TRUE(file.table().has(column.name)) << name << " " << column.name;
  }
}

TEST(Columns, AProblemNamesColumnFoundAndExpected) {
  const auto table = *io::CsvTable::parse("layers,sharding_norm\n999999999,\n12,zero9\n12,zero1\n", "t.csv");
  const auto problem = [&](int row) { return unreadable_cell(TableKind::training, table, table.rows()[std::size_t(row)]); };
  EXPECT_EQ(problem(0), "layers: \"999999999\" is not a whole number from 1 to 2000");
  EXPECT_EQ(problem(1), "sharding_norm: \"zero9\" is not known; expected none, zero1, zero2, zero3 or hsdp");
  EXPECT_EQ(problem(2), "");
}

TEST(Columns, WordsStandAlone) {
  EXPECT_TRUE(has_word("amp_bf16", "bf16"));
  EXPECT_TRUE(has_word("fp32/tf32 for most", "tf32"));
  EXPECT_FALSE(has_word("bf160", "bf16"));
}

}  // namespace
}  // namespace trunkline::validate
