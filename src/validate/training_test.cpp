#include "validate/training.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <iostream>

#include "validate/families.hpp"
#include "validate/summary.hpp"

namespace trunkline::validate {
namespace {

// Every committed table that has the columns of a training table.
std::vector<io::CsvTable> published() {
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(std::string(TRUNKLINE_SOURCE_DIR) + "/data/published")) {
    if (entry.path().extension() == ".csv") paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  std::vector<io::CsvTable> tables;
  for (const auto& path : paths) {
    auto table = io::CsvTable::read(path.string());
    EXPECT_TRUE(table) << table.error().text();
    if (table && table->has("iter_time_s")) tables.push_back(std::move(*table));
  }
  return tables;
}

const TrainingValidation& left_out() {
  static const TrainingValidation validation = validate_training(published(), {.effects = {}, .leave_one_out = true, .refit = true});
  return validation;
}

// The promise of docs/validation.md, each table judged by constants fitted without it.
TEST(PublishedTraining, ErrorsStayWithinThePromise) {
  const TrainingValidation& v = left_out();
  EXPECT_LE(v.median_of_tables, 0.08);
  EXPECT_LE(v.overall.mean_abs, 0.12);
  EXPECT_LE(v.overall.p90_abs, 0.25);
  EXPECT_LE(std::abs(v.overall.mean_signed), 0.05);
}

TEST(PublishedTraining, NoTableAndNoGenerationIsFarOff) {
  for (const auto& t : left_out().tables) {
    if (t.judged >= 5) EXPECT_LE(t.median_abs, 0.20) << t.name;
  }
  for (const auto& g : left_out().generations) {
    if (g.judged >= 5) EXPECT_LE(g.median_abs, 0.12) << g.name;
  }
}

TEST(PublishedTraining, NineOfTenEligibleRowsArePredicted) {
  int eligible = 0;
  for (const auto& t : left_out().tables) {
    eligible += t.eligible;
    if (t.eligible > 0) EXPECT_GE(double(t.predicted), 0.9 * t.eligible) << t.name;
  }
  EXPECT_EQ(eligible, 1223);  // what the tables' README counts
}

TEST(PublishedTraining, IntervalsCoverAboutEightOfTen) {
  EXPECT_GE(left_out().overall.covered, 0.75);
  EXPECT_LE(left_out().overall.covered, 0.85);
}

TEST(PublishedTraining, ASkippedRowSaysWhy) {
  if (std::getenv("TRUNKLINE_SHOW")) {
    std::map<std::string, int> reasons;
    for (const auto& r : left_out().results) ++reasons[(r.row.eligible ? "eligible: " : "") + r.row.skipped_reason];
    for (const auto& [reason, count] : reasons) std::cout << count << " " << reason << "\n";
  }
  for (const auto& r : left_out().results) {
    if (r.row.predicted())
      EXPECT_GT(r.row.predicted_s, 0) << r.row.id;
    else
      EXPECT_EQ(r.row.predicted_s, 0) << r.row.id;
  }
}

TEST(PublishedTraining, BeatsTheTrivialPredictor) {
  const TrainingValidation trivial = trivial_predictor(published());
  EXPECT_LT(left_out().median_of_tables, 0.5 * trivial.median_of_tables);
  EXPECT_LT(left_out().overall.mean_abs, 0.5 * trivial.overall.mean_abs);
}

// What is built in must be what a fit of the committed tables gives: nobody edits a constant by hand. After a change of the
// model: `trunkline validate data/published/*.csv --fit data/calibration/step_constants.yaml`.
TEST(PublishedTraining, BuiltInConstantsAreTheFit) {
  const auto& fitted = left_out().constants.factors;
  const auto& built_in = predict::Constants::builtin().factors;
  ASSERT_EQ(fitted.size(), built_in.size());
  for (std::size_t i = 0; i < fitted.size(); ++i) {
    EXPECT_EQ(fitted[i].framework, built_in[i].framework);
    EXPECT_EQ(fitted[i].generation, built_in[i].generation);
    EXPECT_NEAR(fitted[i].value, built_in[i].value, 0.002) << workload::name_of(fitted[i].framework);
  }
}

TEST(TrainingRow, ATableOfMoreThanTwoHundredRowsCountsWithEveryKth) {
  int judged = 0;
  for (const auto& r : left_out().results) judged += r.row.table == "vtrain_single" && r.row.judged;
  EXPECT_EQ(judged, 101);  // 703 eligible rows, every seventh
}

constexpr const char* kHeader =
    "row_id,table_id,model,hidden,layers,heads,kv_heads,ffn,vocab,seq_len,global_batch_seqs,micro_batch,gpus,gpus_per_node,tp,pp,cp,dp,"
    "iter_time_s,gpu_norm,nic_count,nic_gbps,framework_norm,sharding_norm,recompute_norm,precision_norm,moe,dense_eligible,notes\n";

TrainingRow row_of(const std::string& cells) {
  const auto table = io::CsvTable::parse(std::string(kHeader) + cells + "\n", "t.csv");
  EXPECT_TRUE(table) << table.error().text();
  return training_row(*table, table->rows().front());
}

TEST(TrainingRow, BecomesAJobOnAPlatform) {
  const TrainingRow row = row_of(
      "t#1,t,Llama 2 7B,4096,32,32,32,11008,32000,4096,256,2,16,8,1,1,1,16,12.5,a100-sxm-80,4,100,pytorch-fsdp,zero3,none,bf16,0,1,");
  ASSERT_TRUE(row.predicted()) << row.skipped_reason;
  EXPECT_EQ(row.platform->nodes, 2);
  EXPECT_EQ(row.platform->node.nics.count, 4);
  EXPECT_NEAR(as_gbit_per_s(row.platform->node.nics.rate), 100, 1e-9);
  EXPECT_EQ(row.job->parallelism.dp, 16);
  EXPECT_TRUE(row.job->model.towers.front().gated);
  EXPECT_NEAR(row.job->model.parameters(), 6738415616.0, 1);
  EXPECT_FALSE(row.job->open.recompute);
}

TEST(TrainingRow, SaysWhatItAssumed) {
  const TrainingRow row = row_of("t#1,t,GPT 5B,4096,24,32,,,,2048,256,,16,8,1,1,1,16,2.5,h100-sxm,,,nemo,,,,0,1,");
  ASSERT_TRUE(row.predicted()) << row.skipped_reason;
  std::vector<std::string> keys;
  for (const auto& [key, value] : row.assumed) keys.push_back(key);
  for (const char* key : {"ffn", "vocab", "precision", "micro_batch", "sharding", "network"}) {
    EXPECT_NE(std::find(keys.begin(), keys.end(), key), keys.end()) << key;
  }
  EXPECT_TRUE(row.job->open.recompute);
  EXPECT_EQ(row.job->precision.compute, catalog::Precision::bf16);
}

TEST(TrainingRow, SkipsWithAReason) {
  EXPECT_NE(
      row_of("t#1,t,GPT,4096,24,32,,,,2048,256,,16,8,1,1,1,16,,h100-sxm,,,nemo,,,,0,1,").skipped_reason.find("iter_time_s: not stated"),
      std::string::npos);
  EXPECT_NE(row_of("t#1,t,GPT,4096,24,32,,,,2048,256,,16,8,1,1,1,16,2.5,,,,nemo,,,,0,1,").skipped_reason.find("gpu_norm: empty"),
            std::string::npos);
  EXPECT_NE(row_of("t#1,t,GPT,4096,24,32,,,,2048,256,,18,8,4,1,1,16,2.5,h100-sxm,,,nemo,,,,0,1,").skipped_reason.find("does not divide"),
            std::string::npos);
  EXPECT_NE(row_of("t#1,t,GPT,4096,24,32,,,,2048,256,,16,8,1,1,1,16,2.5,h100-sxm,,,keras,,,,0,1,").skipped_reason.find("not modelled"),
            std::string::npos);
}

TEST(TrainingRow, ATableThatDoesNotJudgeItsRowsIsJudged) {
  const auto eligible = [](const std::string& columns, const std::string& cells) {
    const auto table = *io::CsvTable::parse("iter_time_s,layers,gpus" + columns + "\n2.5,24,16" + cells + "\n", "t.csv");
    return training_row(table, table.rows().front()).eligible;
  };
  EXPECT_TRUE(eligible("", ""));
  EXPECT_TRUE(eligible(",moe", ",0"));
  EXPECT_FALSE(eligible(",moe", ",1"));
  EXPECT_FALSE(eligible(",dense_eligible", ",0"));
  EXPECT_FALSE(eligible(",dense_eligible", ","));
}

// 7e9 parameters × 6 × 1,048,576 tokens on 16 × 312 TFLOP/s take 9.7 s at least (with the output layer).
TEST(TrainingRow, AnImpossibleTimeIsSaid) {
  const auto reason = [](const std::string& time) {
    return row_of("t#1,t,Llama 2 7B,4096,32,32,32,11008,32000,4096,256,2,16,8,1,1,1,16," + time +
                  ",a100-sxm-80,4,100,pytorch-fsdp,zero3,none,bf16,0,1,")
        .skipped_reason;
  };
  EXPECT_EQ(reason("12.5"), "");
  EXPECT_TRUE(reason("0.25").starts_with("iter_time_s: \"0.25\" would be 38")) << reason("0.25");
  EXPECT_TRUE(reason("1e6").starts_with("iter_time_s: \"1e6\" would be 0.00")) << reason("1e6");
}

TEST(Families, TheLongerNameWins) {
  EXPECT_EQ(family_of("Llama 3.1 8B").vocab, 128256);
  EXPECT_EQ(family_of("Llama2 70b").vocab, 32000);
  EXPECT_FALSE(family_of("MPT-7b").gated);
  EXPECT_EQ(family_of("something new").word, "gpt");
}

// A pair's factor is the median of its tables, drawn towards the effects by one table's weight; `without` is left out.
TEST(Fit, MedianDrawnTowardsEffects) {
  std::vector<predict::Evidence> evidence;
  for (const char* table : {"a", "b", "c"})
    evidence.push_back({table, workload::Framework::nemo, catalog::Generation::hopper, std::log(1.2), 1});
  const predict::Constants c = fit_constants(evidence);
  ASSERT_EQ(c.factors.size(), 1u);
  EXPECT_GT(c.factors[0].value, 1.15);
  EXPECT_LE(c.factors[0].value, 1.2);
  EXPECT_EQ(c.factors[0].tables, 3);
  EXPECT_EQ(fit_constants(evidence, "a").factors[0].tables, 2);
}

TEST(Fit, TheMedianRowSpeaksForATable) {
  std::vector<FitPoint> points;
  for (double x : {0.1, 0.2, 0.9}) points.push_back({"a", workload::Framework::nemo, catalog::Generation::hopper, x});
  const auto evidence = evidence_of(points);
  ASSERT_EQ(evidence.size(), 1u);
  EXPECT_DOUBLE_EQ(evidence[0].log_factor, 0.2);
  EXPECT_EQ(evidence[0].rows, 3);
}

TEST(Fit, AnUnseenPairHasTheSumOfEffects) {
  std::vector<predict::Evidence> evidence;
  const auto add = [&](workload::Framework f, catalog::Generation g, double factor) {
    for (const char* table : {"1", "2", "3", "4"})
      evidence.push_back({workload::name_of(f) + catalog::name_of(g) + table, f, g, std::log(factor), 1});
  };
  add(workload::Framework::nemo, catalog::Generation::hopper, 1.0);
  add(workload::Framework::nemo, catalog::Generation::ampere, 1.3);
  add(workload::Framework::torchtitan, catalog::Generation::hopper, 1.0);
  const predict::Constants c = fit_constants(evidence);
  EXPECT_FALSE(c.seen(workload::Framework::torchtitan, catalog::Generation::ampere));
  EXPECT_NEAR(c.factor(workload::Framework::torchtitan, catalog::Generation::ampere), 1.3, 0.08);
}

// A table that the constants do not rest on is judged by all of them; one that they rest on, without it.
TEST(PublishedTraining, AnUnknownTableIsJudgedByAllConstants) {
  const auto tables = published();
  const auto one = std::find_if(tables.begin(), tables.end(), [](const auto& t) { return t.file().ends_with("internevo.csv"); });
  ASSERT_NE(one, tables.end());
  const TrainingValidation alone = validate_training({*one});
  for (const auto& t : alone.tables) {
    for (const auto& together : left_out().tables) {
      if (t.name == together.name) EXPECT_NEAR(t.median_abs, together.median_abs, 1e-4) << t.name;
    }
  }
}

TEST(WeightedMedian, HalfTheWeight) {
  EXPECT_EQ(weighted_median({{1, 1}, {2, 1}, {10, 1}}), 2);
  EXPECT_EQ(weighted_median({{1, 1}, {2, 1}, {10, 5}}), 10);
  EXPECT_EQ(weighted_median({}), 0);
}

}  // namespace
}  // namespace trunkline::validate
