#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <iostream>
#include <set>

#include "validate/nccl_evidence.hpp"
#include "validate/nccl_fit.hpp"

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
    std::cout << fmt::format("{:28} {:4} rows  median |e| {:5.1f} %  mean |e| {:5.1f} %  signed {:+6.1f} %\n", s.system, s.rows,
                             100 * s.median_abs, 100 * s.mean_abs, 100 * s.median_signed);
  }
  std::cout << fmt::format(
      "median over systems {:.1f} %, mean {:.1f} %; below 1 MiB {} rows, {:.1f} % within 1.6; predicted {} of {}, skipped {}\n",
      100 * summary.median_of_medians, 100 * summary.mean_of_medians, summary.small_rows, 100 * summary.small_within, summary.predicted,
      summary.rows, summary.skipped);
  for (const auto& row : rows) {
    if (row.system.find(wish) == std::string::npos) continue;
    std::string assumed;
    for (const auto& [what, taken] : row.assumed) assumed += fmt::format(" {}={}", what, taken);
    std::cout << fmt::format("{:24} {:14} {:26} {:>12} B {:>11.1f} µs predicted {:>11.1f} {:+7.1f} % {:14} {}{}\n", row.system,
                             row.collective, row.forced, row.size.count(), row.measured_s * 1e6, row.predicted_s * 1e6, 100 * row.error,
                             row.chosen, row.skipped_reason, assumed);
  }
}

TEST(NcclTable, SystemsAreWithinTheGates) {
  const CollectiveSummary summary = summary_of(published());
  show(published(), summary);
  EXPECT_GE(summary.systems.size(), 30u);
  EXPECT_LE(summary.median_of_medians, 0.10);
  EXPECT_GE(summary.small_within, 0.80);
}

const std::vector<CollectiveRow>& left_out() {
  static const std::vector<CollectiveRow> rows = leave_one_system_out(published(), 2);
  return rows;
}

TEST(NcclTable, SystemsLeftOutOfTheFitAreWithinTheGates) {
  const CollectiveSummary summary = summary_of(left_out());
  show({}, summary);
  EXPECT_LE(summary.median_of_medians, 0.10);
  EXPECT_GE(summary.small_within, 0.80);
}

// Every system by the residuals of the others.
TEST(NcclTable, IntervalsCoverAboutEightOfTen) {
  const CollectiveSummary summary = summary_of(left_out());
  double by_system = 0;
  for (const auto& s : summary.systems) by_system += s.covered / double(summary.systems.size());
  if (std::getenv("TRUNKLINE_SHOW"))
    std::cout << fmt::format("covered: rows {:.3f}, mean over systems {:.3f}\n", summary.covered, by_system);
  EXPECT_NEAR(summary.covered, 0.8, 0.07);
  EXPECT_NEAR(by_system, 0.8, 0.07);
}

TEST(NcclTable, BuiltInSpreadsAreThoseOfSystemsLeftOut) {
  ASSERT_TRUE(holds_all_fitted_systems(published()));
  const auto spreads = system_spreads(left_out());
  for (int c = 0; c < kSpreadClasses; ++c) {
    if (std::getenv("TRUNKLINE_SHOW")) std::cout << fmt::format("class {}: {:.3f} … {:.3f}\n", c, spreads[c].low, spreads[c].high);
    EXPECT_NEAR(builtin_spread(c).low, spreads[c].low, 0.02) << c;
    EXPECT_NEAR(builtin_spread(c).high, spreads[c].high, 0.02) << c;
  }
}

// With a system missing nobody can be left out of the fit as it was made.
TEST(NcclTable, APartOfTheTableIsJudgedByWhatIsBuiltIn) {
  std::vector<CollectiveRow> part;
  for (const auto& row : published()) {
    if (row.system != "stas_h200_x8") part.push_back(row);
  }
  EXPECT_FALSE(holds_all_fitted_systems(part));
}

TEST(NcclTable, FittedSystemsAreThoseOfTheTable) {
  std::set<std::string> systems;
  for (const auto& row : published()) {
    if (row.question && row.eligible) systems.insert(row.system);
  }
  if (std::getenv("TRUNKLINE_SHOW")) {
    for (const auto& s : systems) std::cout << "\"" << s << "\", ";
  }
  EXPECT_EQ(fitted_systems(), systems);
}

TEST(NcclEvidence, OfTheSystemThatIsFarOff) {
  const auto facts = evidence_of(left_out(), "dgx1_v100_x16_roce100x2");
  std::string all;
  for (const auto& fact : facts) all += fact + "\n";
  if (std::getenv("TRUNKLINE_SHOW")) std::cout << all;
  EXPECT_NE(all.find("measured twice differs by a factor of up to 16.6"), std::string::npos) << all;
  EXPECT_NE(all.find("lossy ECN"), std::string::npos) << all;
  EXPECT_NE(all.find("with ring instead"), std::string::npos) << all;
  EXPECT_TRUE(evidence_of(left_out(), "nowhere").empty());
}

TEST(NcclTable, BuiltInConstantsAreTheFitRounded) {
  const CollectiveFit fit = fit_collectives(published());
  if (std::getenv("TRUNKLINE_SHOW")) {
    for (const auto& v : fit.values) std::cout << fmt::format("{:28} {:.4g} -> {:.4g}\n", v.name, v.prior, v.value);
    std::cout << fmt::format("objective {:.5f}, built in {:.5f}\n", fit.objective,
                             collective_objective(published(), collectives::builtin_constants()));
  }
  EXPECT_LE(collective_objective(published(), collectives::builtin_constants()), fit.objective + 0.01);
}

TEST(NcclTable, LargeMissesAreTheKnownOnes) {
  // Each stands in docs/collectives.md with what is different there.
  for (const auto& system : summary_of(published()).systems) {
    if (system.median_abs > 0.30) EXPECT_EQ(system.system, "dgx1_v100_x16_roce100x2");
  }
}

TEST(NcclTable, EveryRowIsPredictedOrSaysWhyNot) {
  for (const auto& row : published()) {
    if (row.predicted()) {
      EXPECT_GT(row.predicted_s, 0) << row.id;
      EXPECT_TRUE(std::isfinite(row.predicted_s)) << row.id;
      EXPECT_LT(row.low_s, row.predicted_s) << row.id;
      EXPECT_GT(row.high_s, row.predicted_s) << row.id;
    } else {
      EXPECT_FALSE(row.skipped_reason.empty()) << row.id;
    }
  }
}

const char* kHeader =
    "row_id,table_id,system_id,gpu_type,gpus,nodes,gpus_per_node,intra_node,network,collective,size_bytes,time_us,busbw_GBs,notes,gpu_norm,"
    "nic_count,nic_gbps,fabric_norm,"
    "intra_norm,nccl_norm,healthy,forced,exclude_reason\n";

CollectiveRow row_of(const std::string& line) {
  const auto table = io::CsvTable::parse(kHeader + line + "\n", "table.csv");
  auto rows = validate_collectives(table.value());
  return rows.value().at(0);
}

std::string assumed(const CollectiveRow& row, const std::string& what) {
  for (const auto& [key, taken] : row.assumed) {
    if (key == what) return taken;
  }
  return {};
}

TEST(NcclRow, WhatIsStatedIsTaken) {
  const auto row = row_of("t#1,t,s,H100,16,2,8,,,all_reduce,1073741824,4478.8,449.51,,h100-sxm,16,200,roce,nvswitch,2.23.4,1,,");
  ASSERT_TRUE(row.predicted()) << row.skipped_reason;
  const CollectiveCase& q = *row.question;
  EXPECT_EQ(q.domain.nodes, 2);
  EXPECT_EQ(q.domain.ranks_per_node, 8);
  EXPECT_EQ(q.domain.nics, 16);
  EXPECT_EQ(q.domain.fabric, catalog::NicKind::roce);
  EXPECT_NEAR(as_gbyte_per_s(q.domain.network), 16 * 25 * 0.95, 16);
  EXPECT_EQ(q.options.nccl_version, "2.23.4");
  EXPECT_TRUE(row.assumed.empty());
  EXPECT_DOUBLE_EQ(row.measured_s, 4478.8e-6);
}

TEST(NcclRow, WhatIsNotStatedIsListed) {
  const auto row = row_of("t#1,t,s,A100 (memory not stated),16,2,8,,,all_gather,1073741824,,180,,,,,,nvlink,,1,,");
  ASSERT_TRUE(row.predicted()) << row.skipped_reason;
  EXPECT_EQ(assumed(row, "gpu"), "a100-sxm-80");
  EXPECT_EQ(assumed(row, "intra_node"), "nvswitch (text says NVLink)");
  EXPECT_EQ(assumed(row, "fabric"), "infiniband");
  EXPECT_EQ(assumed(row, "nics"), "8 x 200 Gb/s infiniband");
  EXPECT_EQ(assumed(row, "time_us"), "from the bus bandwidth");
  EXPECT_NEAR(row.measured_s, 1073741824.0 * 15 / 16 / 180e9, 1e-9);
}

TEST(NcclRow, AFigureForTheWholeNodeIsSharedOut) {
  const auto row = row_of("t#1,t,s,H100,32,4,8,,,all_reduce,1073741824,9000,,,h100-sxm,,3200,efa,nvswitch,,1,,");
  ASSERT_TRUE(row.predicted());
  EXPECT_EQ(row.question->domain.nics, 8);
  EXPECT_EQ(assumed(row, "nics"), "8 x 400 Gb/s (the node's figure shared out)");
}

TEST(NcclRow, ForcedSettingsAreObeyed) {
  const auto row =
      row_of("t#1,t,s,B200,16,2,8,,,all_reduce,1073741824,9000,,,b200,8,400,infiniband,nvswitch,,1,NVLS=0;ALGO=Tree;PROTO=Simple,");
  EXPECT_FALSE(row.question->options.nvls);
  EXPECT_EQ(row.question->options.algorithm, collectives::Algorithm::tree);
  EXPECT_EQ(row.chosen, "tree simple");
  EXPECT_EQ(row_of("t#1,t,s,B200,8,1,8,,,all_reduce,1048576,9,,,b200,,,,nvswitch,,1,MAGIC=1,").skipped_reason,
            "forced: \"MAGIC=1\" is not modelled; expected NVLS=0, ALGO=…, PROTO=… or COLLNET=…");
}

// One process launches eight kernels one after the other: 34.4 µs whatever the message.
TEST(NcclRow, OneProcessLaunchesForAllGpusOfANode) {
  EXPECT_NEAR(row_of("t#1,t,s,A100,8,1,8,,,all_gather,64,35,,,a100-sxm-80,,,,nvswitch,,1,,").predicted_s, 8 * 4.3e-6, 1e-9);
  EXPECT_LT(row_of("t#1,t,s,A100,8,1,8,,,all_gather,64,35,,all_reduce_bench.py (torch),a100-sxm-80,,,,nvswitch,,1,,").predicted_s, 30e-6);
}

TEST(NcclRow, WhatCannotBePredictedSaysWhy) {
  EXPECT_EQ(row_of("t#1,t,s,Gaudi 3,8,1,8,,,all_reduce,64,35,,,,,,,,,1,,").skipped_reason,
            "gpu_type: \"Gaudi 3\" is not in the catalogue, and gpu_norm is empty");
  EXPECT_EQ(row_of("t#1,t,s,A100,many,1,8,,,all_reduce,64,35,,,a100-sxm-80,,,,,,1,,").skipped_reason,
            "gpus: \"many\" is not a whole number from 2 to 1000000");
  EXPECT_TRUE(
      row_of("t#1,t,s,A100,8,1,8,,,gather,64,35,,,a100-sxm-80,,,,,,1,,").skipped_reason.starts_with("collective: \"gather\" is not"));
  EXPECT_EQ(row_of("t#1,t,s,A100,8,0,8,,,all_reduce,64,35,,,a100-sxm-80,,,,,,1,,").skipped_reason,
            "nodes: \"0\" is not a whole number from 1 to 1000000");
  EXPECT_EQ(row_of("t#1,t,s,A100,8,1,0,,,all_reduce,64,35,,,a100-sxm-80,,,,,,1,,").skipped_reason,
            "gpus_per_node: \"0\" is not a whole number from 1 to 72");
  EXPECT_TRUE(row_of("t#1,t,s,A100,8,1,8,,,all_reduce,0,35,,,a100-sxm-80,,,,,,1,,").skipped_reason.starts_with("size_bytes: \"0\""));
  EXPECT_EQ(row_of("t#1,t,s,A100,8,1,8,,,all_reduce,64,,,,a100-sxm-80,,,,,,1,,").skipped_reason,
            "time_us: not stated, nor a bus bandwidth (busbw_GBs)");
}

TEST(NcclRow, ATableWithoutTheColumnsIsRefused) {
  const auto table = io::CsvTable::parse("a,b\n1,2\n", "table.csv");
  const auto rows = validate_collectives(table.value());
  ASSERT_FALSE(rows);
  EXPECT_NE(rows.error().message.find("collective"), std::string::npos);
}

// The fit must find constants that made up a table: rows predicted with other constants are fitted back.
TEST(NcclFit, FindsTheConstantsOfAMadeUpTable) {
  std::vector<CollectiveRow> rows = published();
  collectives::Constants truth = collective_priors();
  truth.base.simple *= 1.6;
  truth.ampere.hop.simple *= 1.5;
  truth.hopper.nvls_share *= 0.8;
  for (auto& row : rows) {
    if (!row.question) continue;
    predict(row, truth);
    row.measured_s = row.predicted_s;
  }
  const CollectiveFit fit = fit_collectives(rows);
  EXPECT_NEAR(fit.constants.ampere.hop.simple / truth.ampere.hop.simple, 1, 0.1);
  EXPECT_NEAR(fit.constants.hopper.nvls_share / truth.hopper.nvls_share, 1, 0.05);
}

}  // namespace
}  // namespace trunkline::validate
