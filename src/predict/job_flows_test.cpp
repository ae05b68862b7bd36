// The flows of a job's groups, counted and placed by hand.
#include "predict/job_flows.hpp"

#include <gtest/gtest.h>

#include <map>
#include <numeric>
#include <set>

namespace trunkline::predict {
namespace {

using network::HostPair;
using network::Strand;

topology::NodeType node_of(int gpus, int nics, int link_domain = 0) {
  topology::NodeType node;
  node.gpus = gpus;
  node.nics.count = nics;
  node.link_domain = link_domain;
  return node;
}

std::vector<int> packed(int nodes) {
  std::vector<int> places(static_cast<std::size_t>(nodes));
  std::iota(places.begin(), places.end(), 0);
  return places;
}

struct Copy {
  std::vector<std::pair<int, int>> flows;
  double weight, work;
  std::uint32_t chain;
};

std::vector<Copy> strands_of(const network::TrafficKind& kind) {
  std::vector<Copy> out;
  kind.each([&](const Strand& s) {
    out.push_back({{}, s.weight, s.work, s.chain});
    for (const HostPair& flow : s.flows) out.back().flows.emplace_back(flow.from, flow.to);
  });
  return out;
}

// Tensor 8, data 4 on four nodes of eight: eight groups, each a ring over its own rail, one flow a neighbour.
TEST(JobFlows, OneRingAGroupWhereEachHasOneNic) {
  const auto strands = strands_of(JobFlows(node_of(8, 8), 32, packed(4)).rings("data-parallel", {8, 4}, 4));
  ASSERT_EQ(strands.size(), 8U);
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(strands[0].flows, (Pairs{{0, 8}, {8, 16}, {16, 24}, {24, 0}}));
  EXPECT_EQ(strands[7].flows, (Pairs{{7, 15}, {15, 23}, {23, 31}, {31, 7}}));
  for (const auto& strand : strands) EXPECT_EQ(strand.work, 1);
}

// One group of all 32 GPUs: eight rings, each with an eighth of the bytes.
TEST(JobFlows, AGroupOfWholeNodesHasARingANic) {
  const auto strands = strands_of(JobFlows(node_of(8, 8), 32, packed(4)).rings("data-parallel", {1, 32}, 4));
  ASSERT_EQ(strands.size(), 8U);
  for (const auto& strand : strands) {
    EXPECT_EQ(strand.flows.size(), 4U);
    EXPECT_EQ(strand.work, 1.0 / 8);
  }
}

// Eight GPUs behind two NICs: GPUs 0 … 3 use NIC 0, 4 … 7 NIC 1.
TEST(JobFlows, NeighboursShareANic) {
  const auto strands = strands_of(JobFlows(node_of(8, 2), 16, packed(2)).rings("data-parallel", {8, 2}, 1));
  ASSERT_EQ(strands.size(), 8U);
  EXPECT_EQ(strands[3].flows.front(), (std::pair{0, 2}));
  EXPECT_EQ(strands[4].flows.front(), (std::pair{1, 3}));
}

TEST(JobFlows, FollowThePlacesOfTheNodes) {
  const auto strands = strands_of(JobFlows(node_of(1, 1), 3, {2, 0, 1}).rings("data-parallel", {1, 3}, 1));
  using Pairs = std::vector<std::pair<int, int>>;
  EXPECT_EQ(strands.front().flows, (Pairs{{2, 0}, {0, 1}, {1, 2}}));
}

// Nodes of four GPUs, two nodes an NVLink domain: a group of four nodes leaves its domain twice a ring, one of two nodes never.
TEST(JobFlows, NothingLeavesAnNvlinkDomainThatNeedNot) {
  const JobFlows flows(node_of(4, 4, 8), 16, packed(4));
  const auto all = strands_of(flows.rings("data-parallel", {1, 16}, 1));
  ASSERT_EQ(all.size(), 8U);  // a ring over each NIC of a domain
  for (const auto& strand : all) EXPECT_EQ(strand.flows.size(), 2U);
  EXPECT_TRUE(strands_of(flows.rings("tensor-parallel", {1, 8}, 1)).empty());
  EXPECT_TRUE(strands_of(flows.exchanges("expert-parallel", {1, 8})).empty());
}

// Two groups of 16 ranks on two nodes each: every rank sends to the eight of the other node, and its flows count as one ring.
TEST(JobFlows, AllToAllHasAFlowARemotePair) {
  const auto strands = strands_of(JobFlows(node_of(8, 8), 32, packed(4)).exchanges("expert-parallel", {1, 16}));
  ASSERT_EQ(strands.size(), 2U * 16 * 8);
  std::map<int, double> weight;
  std::set<std::pair<int, int>> pairs;
  for (const auto& strand : strands) {
    weight[strand.flows.front().first] += strand.weight;
    pairs.insert(strand.flows.front());
    EXPECT_NE(strand.flows.front().first / 8, strand.flows.front().second / 8);
    EXPECT_EQ(strand.flows.front().first / 16, strand.flows.front().second / 16);
  }
  EXPECT_EQ(pairs.size(), strands.size());
  for (const auto& [host, sum] : weight) EXPECT_DOUBLE_EQ(sum, 1) << host;
}

// Four stages of one node: three boundaries, there and back, for each of eight pipelines; interleaved one more.
TEST(JobFlows, PipelinesCopyThereAndBack) {
  const JobFlows flows(node_of(8, 8), 32, packed(4));
  const auto plain = strands_of(flows.pipelines("pipeline", {8, 4}, false, 4)),
             wrapped = strands_of(flows.pipelines("pipeline", {8, 4}, true, 4));
  EXPECT_EQ(plain.size(), 8U * 3 * 2);
  EXPECT_EQ(wrapped.size(), 8U * 4 * 2);
  EXPECT_EQ(plain[0].flows.front(), (std::pair{0, 8}));
  EXPECT_EQ(plain[1].flows.front(), (std::pair{8, 0}));
  std::set<std::uint32_t> chains;
  for (const auto& strand : plain) chains.insert(strand.chain);
  EXPECT_EQ(chains.size(), 8U);
}

}  // namespace
}  // namespace trunkline::predict
