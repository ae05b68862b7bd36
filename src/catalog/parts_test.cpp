// Links, adapters, switches, storage and prices: the arithmetic that must hold inside and between the files.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <string>

#include "base/quantity_text.hpp"
#include "catalog/catalog.hpp"
#include "io/csv.hpp"

namespace trunkline::catalog {
namespace {

const Catalog& builtin() { return Catalog::builtin(); }

const Link& link(const std::string& id) {
  const auto found = builtin().link(id);
  EXPECT_TRUE(found) << found.error().text();
  static const Link none;
  return found ? **found : none;
}

double code_rate(const std::string& encoding) {
  if (encoding == "128b/130b") return 128.0 / 130;
  if (encoding == "64b/66b") return 64.0 / 66;
  return 1;
}

TEST(Links, EveryFigureIsTheOnePrinted) {
  const auto table = io::CsvTable::read(TRUNKLINE_SOURCE_DIR "/src/catalog/testdata/link_facts.csv");
  ASSERT_TRUE(table) << table.error().text();
  ASSERT_EQ(table->rows().size(), 32u);
  for (const auto& row : table->rows()) {
    const std::string& id = table->cell(row, "id");
    const double line = std::stod(table->cell(row, "raw_gbs_per_dir"));
    EXPECT_NEAR(as_gbyte_per_s(link(id).line), line, 1e-9) << id;
    EXPECT_NEAR(2 * line / std::stod(table->cell(row, "bidir_gbs")), 1, 1e-4) << id;
    const std::string& practical = table->cell(row, "practical_gbs_per_dir");
    if (practical.empty()) continue;
    EXPECT_NEAR(as_gbyte_per_s(link(id).line * link(id).practical_fraction), std::stod(practical), 1e-9) << id;
    // The table rounds, and for C2C averages the two directions.
    EXPECT_NEAR(link(id).practical_fraction, std::stod(table->cell(row, "practical_fraction")), id == "c2c" ? 0.03 : 0.001) << id;
  }
}

// lanes × signalled rate × code / 8: exact for PCIe and 64b/66b; NVLink's lane rates are stated after their code.
TEST(Links, LineRateIsLanesTimesLaneRateTimesCode) {
  int checked = 0;
  for (const auto& part : builtin().parts(PartKind::link)) {
    const Fact *lanes = part.find("lanes"), *lane = part.find("lane_rate"), *code = part.find("encoding");
    if (!lanes || !lane) continue;
    if (code && code->value == "PAM4 + FEC") continue;  // the share of the error correction is not printed
    const double expected = std::stod(lanes->value) * parse_bandwidth(lane->value)->si() * (code ? code_rate(code->value) : 1);
    EXPECT_NEAR(link(part.id).line.si() / expected, 1, 2e-4) << part.id;
    ++checked;
  }
  EXPECT_GE(checked, 20);
}

TEST(Links, HalfTheLanesGiveHalfTheRate) {
  for (const std::string generation : {"3", "4", "5", "6"}) {
    EXPECT_NEAR(link("pcie" + generation + "x8").line / link("pcie" + generation + "x16").line, 0.5, 1e-4);
    EXPECT_NEAR(link("pcie" + generation + "x8").practical_fraction, link("pcie" + generation + "x16").practical_fraction, 1e-4);
  }
}

TEST(Links, PracticalIsAShare) {
  for (const auto& part : builtin().parts(PartKind::link)) {
    EXPECT_GE(link(part.id).practical_fraction, 0) << part.id;
    EXPECT_LE(link(part.id).practical_fraction, 1) << part.id;
  }
  EXPECT_EQ(link("nvlink6").practical_fraction, 0);  // nobody has stated one
}

// A GPU's links are links of the catalogue: same rate of one link.
TEST(Links, GpusAgreeWithTheirLinks) {
  for (const auto& gpu : builtin().gpus()) {
    if (gpu.link_family != LinkFamily::nvlink) continue;
    const std::string id = "nvlink" + std::to_string(gpu.link_generation) + (gpu.compute_capability == 86 ? "-ga102" : "");
    EXPECT_NEAR(gpu.link_bandwidth.si(), gpu.links * link(id).line.si(), 1) << gpu.id;
  }
  EXPECT_NEAR((*builtin().gpu("mi300x"))->link_bandwidth.si(), 7 * link("xgmi").line.si(), 1);
}

TEST(Nics, ValuesAndShares) {
  for (const auto& part : builtin().parts(PartKind::nic)) {
    const auto nic = builtin().nic(part.id);
    ASSERT_TRUE(nic) << part.id;
    EXPECT_GT((*nic)->rate.si(), 0) << part.id;
    EXPECT_GT((*nic)->efficiency, 0.5) << part.id;
    EXPECT_LE((*nic)->efficiency, 1) << part.id;
    if ((*nic)->pcie_generation == 0) continue;
    // An adapter whose slot is slower than its port would be a mistake in the data.
    const Bandwidth slot = link("pcie" + std::to_string((*nic)->pcie_generation) + "x16").line * ((*nic)->pcie_lanes / 16.0);
    EXPECT_GT(slot, (*nic)->rate) << part.id;
  }
  const auto ndr = builtin().nic("cx7-ndr");
  EXPECT_EQ((*ndr)->rate, gbit_per_s(400));
  EXPECT_EQ((*ndr)->kind, NicKind::infiniband);
  EXPECT_FALSE((*ndr)->latency_known);
  EXPECT_EQ((*builtin().nic("efa-p5en"))->latency, microseconds(35));
}

// The same port stated twice, as a link and as an adapter, has one rate.
TEST(Nics, PortsAgreeWithLinks) {
  for (const auto& [nic, id] : {std::pair{"cx5-edr", "ib-edr"},
                                {"cx6-hdr", "ib-hdr"},
                                {"cx7-ndr", "ib-ndr"},
                                {"cx8-xdr", "ib-xdr"},
                                {"cx4lx-roce25", "roce-25"},
                                {"cx5-roce100", "roce-100"},
                                {"cx6-roce200", "roce-200"},
                                {"cx7-roce400", "roce-400"},
                                {"cx8-roce800", "roce-800"}}) {
    EXPECT_EQ((*builtin().nic(nic))->rate, link(id).line) << nic;
  }
}

// Largest non-blocking two-tier network of r-port switches: r/2 down-links on each of r leaves.
TEST(Switches, TwoTierEndPoints) {
  int checked = 0;
  for (const auto& part : builtin().parts(PartKind::switch_)) {
    const auto found = builtin().find_switch(part.id);
    ASSERT_TRUE(found) << part.id;
    const Fact* printed = part.find("two_tier_endpoints");
    if (!printed) continue;
    EXPECT_EQ(std::stoi(printed->value), (*found)->ports * (*found)->ports / 2) << part.id;
    ++checked;
  }
  EXPECT_EQ(checked, 7);
}

// Makers print both directions together, and th4's, sn5400's and nvswitch4's figures are one direction or one of two figures.
TEST(Switches, AggregateIsPortsTimesRateOnceOrTwice) {
  for (const auto& part : builtin().parts(PartKind::switch_)) {
    const auto found = builtin().find_switch(part.id);
    const double ports = (*found)->ports * (*found)->port_rate.si();
    const double times = parse_bandwidth(part.find("aggregate")->value)->si() / ports;
    EXPECT_TRUE(std::abs(times - 1) < 1e-9 || std::abs(times - 2) < 1e-9) << part.id << " " << times;
  }
  EXPECT_FALSE((*builtin().find_switch("sn5600"))->latency_known);
  EXPECT_EQ((*builtin().find_switch("QM8790"))->latency, seconds(130e-9));
  EXPECT_TRUE((*builtin().part("qm9700"))->find("latency")->doubtful());
}

TEST(Storage, ValuesOrNothing) {
  const auto node = builtin().storage("azure-nd-h100-local");
  ASSERT_TRUE(node);
  EXPECT_EQ((*node)->read, gbyte_per_s(55.3));
  EXPECT_EQ((*node)->write, gbyte_per_s(33.9));
  const auto weka = builtin().storage("WEKA");
  ASSERT_TRUE(weka);
  EXPECT_EQ((*weka)->read, Bandwidth{});
  // 3.66 TiB/min
  EXPECT_NEAR((*builtin().storage("3fs-graysort"))->read.si() / (3.66 * 1099511627776.0 / 60), 1, 1e-3);
  // 2.3 TB in 40 s
  EXPECT_EQ((*builtin().storage("gpfs-jeanzay"))->write, gbytes(2300) / seconds(40));
}

TEST(Prices, PerGpuIsPerInstanceOverGpus) {
  for (const auto& price : builtin().prices()) {
    EXPECT_TRUE(builtin().gpu(price.gpu_id)) << price.id;
    EXPECT_EQ(price.per_hour.currency, "USD");
    EXPECT_NEAR(price.per_gpu_hour.amount * price.gpus / price.per_hour.amount, 1, 1e-3) << price.id;
  }
}

TEST(Prices, AnOldPriceIsMarked) {
  std::set<std::string> old;
  for (const auto& price : builtin().prices()) {
    if (price.superseded) old.insert(price.id);
  }
  EXPECT_EQ(old, std::set<std::string>{"aws-p5-2023"});
}

TEST(Measurements, RangesAreOrdered) {
  for (const auto& part : builtin().parts(PartKind::measurement)) {
    const Fact *low = part.find("low"), *high = part.find("high");
    ASSERT_EQ(low == nullptr, high == nullptr) << part.id;
    if (!low) continue;
    EXPECT_LE(parse_bandwidth(low->value)->si(), parse_bandwidth(high->value)->si()) << part.id;
  }
}

}  // namespace
}  // namespace trunkline::catalog
