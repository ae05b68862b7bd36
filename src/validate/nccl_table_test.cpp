#include "validate/nccl_fit.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>

#include <fmt/format.h>

namespace trunkline::validate {
namespace {

const std::vector<CollectiveRow>& published() {
  static const std::vector<CollectiveRow> rows = [] {
    const auto table = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/data/published/nccl_results.csv");
    if (!table) throw std::runtime_error(table.error().text());
    auto all = validate_collectives(*table);
    if (!all) throw std::runtime_error(all.error().text());
    return *all;
  }();
  return rows;
}

// TRUNKLINE_SHOW=1 prints the table of systems, =NAME also the rows of the systems whose name holds it.
void show(const std::vector<CollectiveRow>& rows, const CollectiveSummary& summary) {
  const char* wish = std::getenv("TRUNKLINE_SHOW");
  if (!wish) return;
  for (const auto& s : summary.systems) {
    std::cout << fmt::format("{:28} {:4} rows  median |e| {:5.1f} %  mean |e| {:5.1f} %  signed {:+6.1f} %\n", s.system, s.rows, 100 * s.median_abs, 100 * s.mean_abs, 100 * s.median_signed);
  }
  std::cout << fmt::format("median over systems {:.1f} %, mean {:.1f} %; below 1 MiB {} rows, {:.1f} % within 1.6; predicted {} of {}, skipped {}\n", 100 * summary.median_of_medians,
                           100 * summary.mean_of_medians, summary.small_rows, 100 * summary.small_within, summary.predicted, summary.rows, summary.skipped);
  for (const auto& row : rows) {
    if (row.system.find(wish) == std::string::npos) continue;
    std::string assumed;
    for (const auto& [what, taken] : row.assumed) assumed += fmt::format(" {}={}", what, taken);
    std::cout << fmt::format("{:24} {:14} {:26} {:>12} B {:>11.1f} µs predicted {:>11.1f} {:+7.1f} % {:14} {}{}\n", row.system, row.collective, row.forced, row.size.count(), row.measured_s * 1e6,
                             row.predicted_s * 1e6, 100 * row.error, row.chosen, row.skipped_reason, assumed);
  }
}

TEST(NcclTable, SystemsAreWithinTheGates) {
  const CollectiveSummary summary = summary_of(published());
  show(published(), summary);
  EXPECT_GE(summary.systems.size(), 30u);
  EXPECT_LE(summary.median_of_medians, 0.10);
  EXPECT_GE(summary.small_within, 0.80);
}

TEST(NcclTable, SystemsLeftOutOfTheFitAreWithinTheGates) {
  const CollectiveSummary summary = leave_one_system_out(published());
  show({}, summary);
  EXPECT_LE(summary.median_of_medians, 0.10);
}

TEST(NcclTable, BuiltInConstantsAreTheFitRounded) {
  const CollectiveFit fit = fit_collectives(published());
  if (std::getenv("TRUNKLINE_SHOW")) {
    for (const auto& v : fit.values) std::cout << fmt::format("{:28} {:.4g} -> {:.4g}\n", v.name, v.prior, v.value);
    std::cout << fmt::format("objective {:.5f}, built in {:.5f}\n", fit.objective, collective_objective(published(), collectives::builtin_constants()));
  }
  EXPECT_LE(collective_objective(published(), collectives::builtin_constants()), fit.objective + 0.01);
}

}  // namespace
}  // namespace trunkline::validate
