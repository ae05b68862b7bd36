// What `trunkline topo PLATFORM` has to say: every warning appears where its cause is and nowhere else.
#include "topology/describe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

namespace trunkline::topology {
namespace {

Description of(const std::string& yaml) {
  const auto value = io::parse_yaml(yaml, "test.yaml");
  auto platform = platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return platform ? describe(*platform) : Description{};
}

bool warns(const Description& d, const std::string& id) {
  return std::any_of(d.warnings.begin(), d.warnings.end(), [&](const TopologyWarning& w) { return w.id == id; });
}

std::string text_of(const Description& d) {
  std::string all;
  for (const auto& row : text_rows(d)) all += row + "\n";
  return all;
}

TEST(Describe, AHealthyNodeHasNoWarning) {
  const Description d = of("node: {type: hgx-h100, count: 4}");
  EXPECT_TRUE(d.warnings.empty()) << text_of(d);
}

struct Case {
  const char* id;
  const char* with;
  const char* without;
};

class Warns : public testing::TestWithParam<Case> {};

TEST_P(Warns, OnlyWhereTheCauseIs) {
  const auto& c = GetParam();
  EXPECT_TRUE(warns(of(c.with), c.id)) << c.id << "\n" << text_of(of(c.with));
  EXPECT_FALSE(warns(of(c.without), c.id)) << c.id << "\n" << text_of(of(c.without));
}

INSTANTIATE_TEST_SUITE_P(
    All, Warns,
    testing::Values(Case{"no-gpu-links", "node: {type: hgx-a100-80, gpu_links: none}", "node: {type: hgx-a100-80}"},
                    Case{"no-gpu-links", "node: {gpu: l40s, gpus: 2}", "node: {gpu: l40s, gpus: 1}"},
                    Case{"host-staging", "node: {type: pcie-8x4090}", "node: {type: pcie-8xl40s}"},
                    Case{"pairs-without-links", "node: {type: hgx-v100-32}", "node: {type: v100-4}"},
                    Case{"pairs-without-links", "node: {type: pcie-8xa100}", "node: {type: pcie-8xa100, gpus: 2}"},
                    Case{"gpus-share-uplink", "node: {type: hgx-a100-80}", "node: {type: hgx-a100-80, pcie_switches: 8}"},
                    Case{"nics-share-uplink", "node: {type: hgx-a100-80}", "node: {type: p4d}"},
                    Case{"nic-slot", "node: {type: hgx-a100-80, nics: {part: cx7-ndr}}", "node: {type: hgx-h100}"},
                    Case{"nic-across-socket", "node: {type: hgx-h100, nics: {count: 1}}", "node: {type: hgx-h100, nics: {count: 2}}"},
                    Case{"fewer-nics-than-gpus", "node: {type: p4d, count: 2}", "node: {type: p4d}"},
                    Case{"oversubscribed-fabric", "node: {type: hgx-h100, count: 2}\nfabric: {topology: {oversubscription: 3}}",
                         "node: {type: hgx-h100, count: 2}"},
                    Case{"tcp-fabric", "node: {type: hgx-h100, count: 2}\nfabric: {kind: ethernet, rate: 100 Gb/s}",
                         "node: {type: hgx-h100, count: 2}\nfabric: {kind: roce}"}));

TEST(Describe, TheNumbersOfAWarningAreThoseOfTheLimits) {
  const Description d = of("node: {type: pcie-8xl40s}");
  ASSERT_TRUE(warns(d, "no-gpu-links"));
  EXPECT_NE(d.warnings.front().text.find(to_text(d.limits.ring)), std::string::npos);
}

TEST(Describe, NicsThatNoPathTellsApartShareAColumn) {
  const Description d = of("node: {type: p5}");
  EXPECT_EQ(d.columns.size(), 8u + 8u);
  EXPECT_EQ(d.columns[8], "NIC0-3");
  EXPECT_EQ(d.matrix[0][8], "PIX");
  EXPECT_EQ(d.matrix[0][9], "NODE");
  EXPECT_EQ(d.matrix[0][15], "SYS");
}

TEST(Describe, EveryPairIsInOnePathGroup) {
  const Description d = of("node: {type: hgx-v100-32}");
  int gpu_pairs = 0, nic_pairs = 0;
  for (const auto& group : d.paths) {
    if (group.between == "GPU-GPU") gpu_pairs += group.pairs;
    if (group.between == "GPU-NIC") nic_pairs += group.pairs;
  }
  EXPECT_EQ(gpu_pairs, 8 * 7);
  EXPECT_EQ(nic_pairs, 8 * 4);
}

TEST(Describe, EveryGpuAndNicStandsOnceInTheTree) {
  for (const auto& entry : node_catalog()) {
    Platform platform;
    platform.node = entry.node;
    const Description d = describe(platform);
    const auto rows_with = [&](const std::string& word) {
      return std::count_if(d.tree.begin(), d.tree.end(), [&](const TreeRow& row) { return row.text.starts_with(word); });
    };
    EXPECT_EQ(rows_with("NIC"), entry.node.nics.count) << entry.id;
    for (int g = 0; g < entry.node.gpus; ++g) EXPECT_EQ(rows_with("GPU" + std::to_string(g) + " "), 1) << entry.id;
  }
}

TEST(Describe, LinesDoNotEndInBlanks) {
  for (const auto& row : text_rows(of("node: {type: p4d, count: 2}"))) EXPECT_TRUE(row.empty() || row.back() != ' ') << row;
}

TEST(Describe, TheExamplesLoad) {
  int seen = 0;
  for (const auto& file : std::filesystem::directory_iterator(std::string(TRUNKLINE_SOURCE_DIR) + "/examples/platforms")) {
    const auto platform = read_platform(file.path().string());
    ASSERT_TRUE(platform) << platform.error().text();
    EXPECT_FALSE(text_rows(describe(*platform)).empty());
    ++seen;
  }
  EXPECT_GE(seen, 5);
}

TEST(Describe, TheLargestNodeThatAFileMayAskForIsQuick) {
  const Description d = of("node: {gpu: l40s, gpus: 72, sockets: 8, pcie_switches: 64, nics: {part: cx6-roce200, count: 64}}");
  EXPECT_EQ(d.matrix.size(), 72u);
}

}  // namespace
}  // namespace trunkline::topology
