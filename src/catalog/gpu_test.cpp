// The GPUs of the catalogue against the table they were entered from, and against closed forms.
#include "catalog/gpu.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "catalog/catalog.hpp"
#include "io/csv.hpp"

namespace trunkline::catalog {
namespace {

// Facts only, from makers' figures as collected in one table; a cell may print more than one figure.
const io::CsvTable& facts() {
  static const io::CsvTable table = *io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/src/catalog/testdata/gpu_facts.csv");
  return table;
}

const Gpu& gpu(const std::string& id) {
  const auto found = Catalog::builtin().gpu(id);
  EXPECT_TRUE(found) << found.error().text();
  static const Gpu none;
  return found ? **found : none;
}

const Fact* fact(const std::string& id, const std::string& field) {
  const auto part = Catalog::builtin().part(id);
  return part ? (*part)->find(field) : nullptr;
}

// "71 (FP32 acc) / 142 (FP16 acc)" → 71; "1000 (max TGP, DGX) to 1400" → 1000: the first figure that a cell prints.
double first_number(const std::string& cell) { return std::stod(cell); }

bool plain(const std::string& cell) { return bool(parse_number(cell)); }

TEST(GpuTable, EveryRowHasAPartOfTheSameName) {
  ASSERT_EQ(facts().rows().size(), 37u);
  for (const auto& row : facts().rows()) {
    const std::string& id = facts().cell(row, "id");
    EXPECT_EQ(gpu(id).id, id);
    EXPECT_EQ(gpu(id).name, facts().cell(row, "name"));
    EXPECT_EQ(gpu(id).form, facts().cell(row, "form"));
  }
}

TEST(GpuTable, EveryFigureIsTheOnePrinted) {
  const std::vector<std::pair<std::string, std::string>> columns{{"fp64", "fp64"},
                                                                 {"fp64_tensor", "fp64_tensor"},
                                                                 {"fp32", "fp32"},
                                                                 {"tf32_tensor", "tf32"},
                                                                 {"bf16_dense", "bf16"},
                                                                 {"fp16_dense", "fp16"},
                                                                 {"fp8_dense", "fp8"},
                                                                 {"fp4_dense", "fp4"},
                                                                 {"mem_bw_gbs", "memory_bandwidth"},
                                                                 {"links", "links"},
                                                                 {"link_gbs_per_dir", "link_rate"},
                                                                 {"total_gbs_per_dir", "link_bandwidth"},
                                                                 {"pcie_lanes", "pcie_lanes"},
                                                                 {"tdp_w", "tdp"}};
  int compared = 0;
  for (const auto& row : facts().rows()) {
    const std::string& id = facts().cell(row, "id");
    for (const auto& [column, field] : columns) {
      const std::string& cell = facts().cell(row, column);
      if (cell.empty() || cell == "0") continue;
      const Fact* found = fact(id, field);
      ASSERT_NE(found, nullptr) << id << " " << field;
      EXPECT_DOUBLE_EQ(first_number(found->value), first_number(cell)) << id << " " << field;
      EXPECT_EQ(found->printed, plain(cell) ? "" : cell) << id << " " << field;
      ++compared;
    }
  }
  EXPECT_GT(compared, 350);
}

TEST(GpuTable, StructsHoldTheFactsInBaseUnits) {
  for (const auto& row : facts().rows()) {
    const Gpu& g = gpu(facts().cell(row, "id"));
    const auto teraflops = [&](const char* column) {
      const std::string& cell = facts().cell(row, column);
      return cell.empty() ? 0.0 : first_number(cell) * 1e12;
    };
    EXPECT_DOUBLE_EQ(g.bf16.si(), teraflops("bf16_dense")) << g.id;
    EXPECT_DOUBLE_EQ(g.fp16.si(), teraflops("fp16_dense")) << g.id;
    EXPECT_DOUBLE_EQ(g.fp8.si(), teraflops("fp8_dense")) << g.id;
    EXPECT_DOUBLE_EQ(g.fp4.si(), teraflops("fp4_dense")) << g.id;
    EXPECT_DOUBLE_EQ(g.memory_bandwidth.si(), first_number(facts().cell(row, "mem_bw_gbs")) * 1e9) << g.id;
    const std::string& tdp = facts().cell(row, "tdp_w");
    EXPECT_DOUBLE_EQ(g.tdp_w, tdp.empty() ? 0 : first_number(tdp)) << g.id;
    const std::string& total = facts().cell(row, "total_gbs_bidir");
    EXPECT_DOUBLE_EQ(g.link_bandwidth.si() * 2, total.empty() ? 0 : first_number(total) * 1e9) << g.id;
  }
}

// Where the table has no source for one field, the catalogue has either found one for it alone, or says that there is none.
TEST(GpuTable, FieldsWithoutSourceAreNotGivenThePartsSource) {
  const std::map<std::string, std::vector<std::string>> fields{
      {"tdp_w", {"tdp"}},
      {"pcie_gen", {"pcie_generation"}},
      {"fp64", {"fp64"}},
      {"fp64_tensor", {"fp64_tensor"}},
      {"fp32", {"fp32"}},
      {"tf32", {"tf32"}},
      {"tf32_tensor", {"tf32"}},
      {"links", {"links"}},
      {"link count", {"links"}},
      {"mem_bw_gbs", {"memory_bandwidth"}},
      {"mem_gb (B300 value)", {"memory"}},
      {"links (600 GB/s bridge)", {"links"}},
      {"fp64 value", {"fp64"}},
      {"link_gen (family)", {"link_generation"}},
      {"tensor rates assumed equal to H100", {"tf32", "bf16", "fp16", "fp8"}},
      {"NVLink fields", {"link_generation", "links", "link_rate", "link_bandwidth"}}};
  int unsourced = 0;
  for (const auto& row : facts().rows()) {
    const std::string& id = facts().cell(row, "id");
    const std::string& listed = facts().cell(row, "fields_without_source");
    if (listed.empty()) continue;
    for (const auto name : split(listed, ';')) {
      const auto known = fields.find(std::string(trim(name)));
      ASSERT_NE(known, fields.end()) << id << ": " << name;
      for (const auto& field : known->second) {
        const Fact* found = fact(id, field);
        ASSERT_NE(found, nullptr) << id << " " << field;
        EXPECT_NE(found->source, fact(id, "form")->source) << id << " " << field;
        if (found->confidence == Confidence::unsourced) ++unsourced;
      }
    }
  }
  EXPECT_GE(unsourced, 20);
  for (const auto& f : (*Catalog::builtin().part("ascend910b3"))->facts) EXPECT_TRUE(f.doubtful()) << f.field;  // a row of confidence U
}

// The dense rate is units × operations of a unit in a clock × boost clock: an independent check of unit counts and rates.
// Clocks are general knowledge, hence the 2 %: makers round rates, and print some of them at another clock.
TEST(GpuTable, RateIsUnitsTimesOperationsTimesClock) {
  struct Row {
    const char* id;
    double operations;  // of one SM or compute unit in one clock, fp32 accumulation
    double mhz;
  };
  const std::vector<Row> rows{{"v100-sxm2", 1024, 1530},   {"t4", 1024, 1590},          {"a10", 1024, 1695},
                              {"a30", 2048, 1440},         {"a100-sxm-80", 2048, 1410}, {"a100-pcie-40", 2048, 1410},
                              {"a800-sxm-80", 2048, 1410}, {"rtx3090", 512, 1695},      {"rtx4090", 512, 2520},
                              {"rtx5090", 512, 2407},      {"a6000", 1024, 1800},       {"l4", 1024, 2040},
                              {"l40s", 1024, 2490},        {"h100-sxm", 4096, 1830},    {"h100-pcie", 4096, 1620},
                              {"h200-sxm", 4096, 1830},    {"mi250x", 1024, 1700},      {"mi300x", 2048, 2100},
                              {"mi325x", 2048, 2100},      {"mi355x", 4096, 2400},      {"rtxpro6000-server", 1024, 2617}};
  for (const auto& row : rows) {
    const Gpu& g = gpu(row.id);
    const double expected = g.sms * row.operations * row.mhz * 1e6;
    EXPECT_NEAR(g.rate(Precision::fp16).si() / expected, 1, 0.02) << row.id;
  }
}

TEST(GpuTable, EachStepDownInWidthDoublesTheRate) {
  for (const auto& g : Catalog::builtin().gpus()) {
    if (g.supports(Precision::fp8)) {
      EXPECT_NEAR(g.fp8 / g.fp16, 2, 0.03) << g.id;
    }
    if (g.supports(Precision::bf16)) {
      EXPECT_NEAR(g.bf16 / g.fp16, 1, 0.01) << g.id;
    }
    if (g.supports(Precision::tf32)) {
      EXPECT_NEAR(g.bf16 / g.tf32, 2, 0.03) << g.id;  // makers round: 362 and 183 on L40S
    }
  }
}

TEST(Gpu, RateFallsBackToWhatTrainingUses) {
  const Gpu& a100 = gpu("a100-sxm-80");
  EXPECT_FALSE(a100.supports(Precision::fp8));
  EXPECT_EQ(a100.rate(Precision::fp8), a100.bf16);
  EXPECT_EQ(a100.rate(Precision::fp4), a100.bf16);
  const Gpu& v100 = gpu("v100-sxm2");
  EXPECT_FALSE(v100.supports(Precision::bf16));
  EXPECT_EQ(v100.rate(Precision::bf16), v100.fp32);  // its tensor cores know fp16 alone
  EXPECT_EQ(v100.rate(Precision::fp8), v100.fp32);
  EXPECT_EQ(v100.rate(Precision::tf32), v100.fp32);
  const Gpu& h100 = gpu("h100-sxm");
  EXPECT_EQ(h100.rate(Precision::fp8), h100.fp8);
  EXPECT_EQ(h100.rate(Precision::fp4), h100.fp8);
  const Gpu& b200 = gpu("b200");
  EXPECT_EQ(b200.rate(Precision::fp4), tflop_per_s(9000));
}

// A fallback never ends at nothing where the GPU can compute at all, and is never faster than what it stands for would be.
TEST(Gpu, RateIsKnownAndNeverGrowsWithWidth) {
  const std::vector<Precision> from_narrow{Precision::fp4, Precision::fp8, Precision::bf16, Precision::fp16};
  for (const auto& g : Catalog::builtin().gpus()) {
    for (const auto p : from_narrow) EXPECT_GT(g.rate(p).si(), 0) << g.id << " " << name_of(p);
    EXPECT_GE(g.rate(Precision::fp4), g.rate(Precision::fp8)) << g.id;
    EXPECT_GE(g.rate(Precision::fp8), g.rate(Precision::bf16)) << g.id;
    EXPECT_GE(g.rate(Precision::bf16), g.rate(Precision::tf32)) << g.id;
    EXPECT_GE(g.rate(Precision::tf32), g.rate(Precision::fp32)) << g.id;
  }
}

TEST(Gpu, NothingKnownGivesNoRate) {
  const Gpu none;
  EXPECT_EQ(none.rate(Precision::fp4), FlopRate{});
  EXPECT_FALSE(none.supports(Precision::fp32));
}

// An 80 GB card holds 80 GiB less what the driver keeps; where error correction lives in the memory it takes a sixteenth.
TEST(Gpu, MemoryIsWhatTheDriverShows) {
  EXPECT_EQ(gpu("h100-sxm").memory, mib(81559));
  EXPECT_EQ(gpu("a100-sxm-80").memory, gib(80));
  EXPECT_EQ(gpu("mi300x").memory, gib(192));  // no listing found: what is sold
  EXPECT_EQ(gpu("v100-sxm2").memory, gpu("v100-sxm2-32").memory);
  EXPECT_LT(gpu("v100-sxm2-16").memory, gib(16));
  for (const auto& g : Catalog::builtin().gpus()) {
    const auto sold = parse_bytes(fact(g.id, "memory")->value);
    ASSERT_TRUE(sold);
    EXPECT_LE(g.memory, *sold) << g.id;
    EXPECT_GT(g.memory / *sold, 0.92) << g.id;
  }
}

TEST(Gpu, VariantsTakeOverWhatTheyDoNotState) {
  const Gpu& plain_id = gpu("v100-sxm2");
  const Gpu& small = gpu("v100-sxm2-16");
  EXPECT_EQ(small.fp16, plain_id.fp16);
  EXPECT_EQ(small.link_bandwidth, plain_id.link_bandwidth);
  EXPECT_EQ(fact("v100-sxm2-16", "fp16")->source, fact("v100-sxm2", "fp16")->source);
  EXPECT_EQ(fact("v100-sxm2-16", "memory")->confidence, Confidence::quoted);
  EXPECT_FALSE(fact("v100-sxm2-16", "memory")->doubtful());
  EXPECT_TRUE(fact("v100-sxm2", "memory")->doubtful());  // 16 or 32
}

TEST(Gpu, SuperchipRatesAreThoseOfOneGpu) {
  // Two GPUs of a GB200 superchip together have 5000; 72 of them 180 PFLOP/s of bf16.
  EXPECT_EQ(gpu("gb200").bf16, tflop_per_s(2500));
  EXPECT_DOUBLE_EQ(72 * gpu("gb200").bf16.si(), 180e15);
  EXPECT_GT(gpu("gh200-96").c2c_bandwidth, gpu("h100-sxm").c2c_bandwidth);
}

TEST(Gpu, NamesAndWidths) {
  EXPECT_EQ(name_of(Precision::bf16), "bf16");
  EXPECT_EQ(name_of(LinkFamily::xgmi), "xgmi");
  for (const auto& name : generation_names()) EXPECT_EQ(name_of(*generation_named(name)), name);
  EXPECT_FALSE(generation_named("hoper"));
  EXPECT_EQ(bytes_per_element(Precision::tf32), 4);
  EXPECT_EQ(bytes_per_element(Precision::fp4), 0.5);
}

}  // namespace
}  // namespace trunkline::catalog
