// The ready-made nodes: all of them load, and what each states agrees with what its parts can do.
#include <gtest/gtest.h>

#include <set>

#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

class EveryNode : public testing::TestWithParam<std::string> {};

TEST_P(EveryNode, LoadsAndIsSound) {
  const auto read = node_type(GetParam());
  ASSERT_TRUE(read) << read.error().text();
  const NodeType& node = *read;
  EXPECT_EQ(node.id, GetParam());
  EXPECT_FALSE(node.name.empty());
  EXPECT_GT(node.gpus, 0);
  EXPECT_GT(node.nics.count, 0) << "every ready-made node can be clustered";
  EXPECT_GT(node.nics.efficiency, 0.5);
  EXPECT_LE(node.nics.efficiency, 1);
  EXPECT_GT(node.pcie_bandwidth.si(), 0);
  EXPECT_LE(node.pcie_bandwidth, node.pcie_line);
  if (node.gpu_links == GpuLinks::none) {
    EXPECT_EQ(node.link_bandwidth.si(), 0);
  } else {
    EXPECT_DOUBLE_EQ(node.link_bandwidth.si(), node.gpu.link_bandwidth.si());
    EXPECT_GT(node.link_share, 0.5);
    EXPECT_GT(node.link_copy_share, 0.5);
    EXPECT_LE(node.link_copy_share, 1);
  }

  const NodeLimits limits = limits_of(node);
  EXPECT_GT(limits.gpu_to_gpu.si(), 0);
  EXPECT_GT(limits.ring.si(), 0);
  EXPECT_GT(limits.host_to_gpu.si(), 0);
  EXPECT_GT(limits.nic_to_gpu.si(), 0);
  // nobody gets more than the wire carries
  EXPECT_LE(limits.ring, std::max(node.link_bandwidth, node.pcie_line));
  EXPECT_LE(limits.node_to_network.si(), node.nics.rate.si() * node.nics.count);
  EXPECT_LE(limits.host_to_gpu, std::max(node.host_link, node.pcie_line));
}

std::vector<std::string> all_ids() {
  std::vector<std::string> ids;
  for (const auto& entry : node_catalog()) ids.push_back(entry.id);
  return ids;
}

INSTANTIATE_TEST_SUITE_P(All, EveryNode, testing::ValuesIn(all_ids()), [](const auto& test) {
  std::string name = test.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

TEST(NodeCatalog, HasWhatPeopleRent) {
  for (const char* id : {"hgx-v100-16", "hgx-v100-32",   "dgx-2",         "hgx-a100-40", "hgx-a100-80",
                         "a100-4",      "hgx-a800",      "hgx-h100",      "hgx-h800",    "hgx-h200",
                         "hgx-b200",    "hgx-b300",      "gb200-nvl72",   "gb300-nvl72", "dgx-1",
                         "dgx-a100",    "dgx-h100",      "dgx-h200",      "dgx-b200",    "mi300x-8",
                         "mi325x-8",    "mi355x-8",      "pcie-4x4090",   "pcie-8x4090", "8x3090",
                         "8xl40s",      "8xa6000",       "4xa100-pcie",   "8xa100-pcie", "8xh100-pcie",
                         "p3dn",        "p4d",           "p4d.24xlarge",  "p4de",        "p5",
                         "p5en",        "nd-a100-v4-40", "nd-a100-v4-80", "nd-h100-v5",  "Standard_ND96isr_H100_v5",
                         "a2-ultra",    "a3-high",       "a3-mega",       "a3-ultra",    "a4"}) {
    const auto node = node_type(id);
    EXPECT_TRUE(node) << id;
  }
}

TEST(NodeCatalog, NoNameMeansTwoNodes) {
  std::set<std::string> names;
  for (const auto& entry : node_catalog()) {
    EXPECT_TRUE(names.insert(entry.id).second) << entry.id;
    for (const auto& alias : entry.aliases) EXPECT_TRUE(names.insert(alias).second) << alias;
  }
}

TEST(NodeCatalog, ATrustedNodeNamesItsSource) {
  for (const auto& entry : node_catalog()) {
    if (entry.confidence == catalog::Confidence::unsourced) continue;
    EXPECT_FALSE(entry.source.empty()) << entry.id;
  }
}

TEST(NodeCatalog, AnUnknownNameGetsTheNearest) {
  const auto node = node_type("hgx-h10");
  ASSERT_FALSE(node);
  EXPECT_NE(node.error().hint.find("hgx-h100"), std::string::npos) << node.error().text();
}

TEST(NodeCatalog, NetworkTotalsAreTheAdvertisedOnes) {
  const auto total = [](const char* id) {
    const auto node = node_type(id);
    return node ? as_gbit_per_s(node->nics.rate) * node->nics.count : 0;
  };
  EXPECT_DOUBLE_EQ(total("p4d"), 400);
  EXPECT_DOUBLE_EQ(total("p5"), 3200);
  EXPECT_DOUBLE_EQ(total("p5en"), 3200);
  EXPECT_DOUBLE_EQ(total("p6-b300"), 6400);
  EXPECT_DOUBLE_EQ(total("nd-a100-v4"), 1600);
  EXPECT_DOUBLE_EQ(total("nd-h100-v5"), 3200);
  EXPECT_DOUBLE_EQ(total("a3-high"), 800);
  EXPECT_DOUBLE_EQ(total("gb300-nvl72"), 3200);
}

}  // namespace
}  // namespace trunkline::topology
