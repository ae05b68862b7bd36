#include "report/predict_rows.hpp"

#include <gtest/gtest.h>

namespace trunkline::report {
namespace {

PredictionEntry entry(const std::string& platform, double step_s, bool fits) {
  predict::Prediction p;
  p.platform = platform;
  p.gpus = 8;
  p.step_s = p.breakdown.compute_s = step_s;
  p.samples_per_s = 100 / step_s;
  p.memory.per_gpu = fits ? gib(10) : gib(100);
  p.memory.capacity = gib(80);
  p.memory.fits = fits;
  return {platform, {}, std::move(p), {}};
}

// The cells of the line called `name`.
std::vector<std::string> line(const Table& table, const std::string& name) {
  for (const auto& row : table.rows) {
    if (row.empty() || row.front().text != name) continue;
    std::vector<std::string> out;
    for (const Cell& cell : row) out.push_back(cell.text);
    return out;
  }
  return {};
}

TEST(Grouped, ThreeSignificantDigitsWithThousandsApart) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(9994), "9990");
  EXPECT_EQ(grouped(9999.6), "10,000");
  EXPECT_EQ(grouped(1234567), "1,230,000");
  EXPECT_EQ(grouped(-25349), "-25,300");
  EXPECT_EQ(grouped(0.05), "0.0500");
}

TEST(Comparison, OneUnitForAllColumns) {
  const PredictionSet set{{entry("a", 0.4, true), entry("b", 12, true)}, {}};
  EXPECT_EQ(line(comparison_table(set), "step"), (std::vector<std::string>{"step", "s", "0.400", "12.0"}));
  const PredictionSet small{{entry("a", 0.02, true), entry("b", 0.4, true)}, {}};
  EXPECT_EQ(line(comparison_table(small), "step"), (std::vector<std::string>{"step", "ms", "20.0", "400"}));
}

TEST(Comparison, FiguresOfWhatDoesNotFitStandInBrackets) {
  const PredictionSet set{{entry("a", 1, false), entry("b", 2, true)}, {}};
  const Table table = comparison_table(set);
  EXPECT_EQ(line(table, "step"), (std::vector<std::string>{"step", "s", "(1.00)", "2.00"}));
  EXPECT_EQ(line(table, "fits"), (std::vector<std::string>{"fits", "", "no", "yes"}));
  EXPECT_EQ(line(table, "memory a GPU needs"), (std::vector<std::string>{"memory a GPU needs", "GiB", "100", "10.0"}));
  // What does not fit is no yardstick: the first that fits is.
  EXPECT_EQ(line(table, "  against the first"), (std::vector<std::string>{"  against the first", "x", "(2.00)", "1.00"}));
}

TEST(Comparison, LeavesOutWhatNobodyStates) {
  const PredictionSet set{{entry("a", 1, true)}, {}};
  EXPECT_TRUE(line(comparison_table(set), "epoch").empty());
  EXPECT_TRUE(line(comparison_table(set), "cost of the job").empty());
}

TEST(Comparison, CurrenciesStandInTheCellsWhereTheyDiffer) {
  auto a = entry("a", 1, true), b = entry("b", 1, true);
  a.prediction->hour = Money{10, "CNY"};
  b.prediction->hour = Money{2, "USD"};
  const PredictionSet set{{a, b}, {}};
  EXPECT_EQ(line(comparison_table(set), "price of an hour"), (std::vector<std::string>{"price of an hour", "", "10.0 CNY", "2.00 USD"}));
}

TEST(Sweep, AnImpossiblePointKeepsItsLine) {
  PredictionEntry good = entry("a", 1, true), bad{"a", {{"parallelism.tp", "16"}}, {}, {ErrorKind::bad_input, "does not divide", {}, {}}};
  good.swept = {{"parallelism.tp", "8"}};
  const PredictionSet set{{good, bad}, {}};
  const Table table = sweep_table(set);
  ASSERT_EQ(table.rows.size(), 2U);
  EXPECT_EQ(table.rows[1].front().text, "16");
  EXPECT_EQ(prediction_data(set).rows[1].back().text, "does not divide");
}

}  // namespace
}  // namespace trunkline::report
