// Loads and limits: closed forms, the max-min certificate, symmetry, and that more never gives less.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.hpp"
#include "topology/graph.hpp"

namespace trunkline::topology {
namespace {

NodeType node_of(const std::string& yaml) {
  const auto value = io::parse_yaml("node: " + yaml, "test.yaml");
  auto platform = platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return platform ? platform->node : NodeType{};
}

constexpr const char* kEightCards =
    "{gpu: l40s, gpus: 8, sockets: 2, pcie_switches: 4, socket_bandwidth: 9 GB/s, nics: {part: cx6-roce200, count: 2}}";

TEST(Ring, OverNvswitchIsTheGpusLinkRate) {
  for (const char* id : {"hgx-a100-80", "hgx-h100", "hgx-b200", "dgx-2"}) {
    const auto node = node_type(id);
    const NodeLimits limits = limits_of(*node);
    EXPECT_TRUE(limits.ring_over_links);
    EXPECT_DOUBLE_EQ(limits.ring.si(), node->link_bandwidth.si() * node->link_share)
        << id << ": each GPU's links carry one ring out and one in";
  }
}

TEST(Ring, OfAFullMeshUsesEveryLink) {
  // K4 with 4 links a pair: 48 directed links, 4 a ring → 12 rings = all 12 links of a GPU; K8 with one: 56 / 8 = 7.
  for (const char* id : {"a100-4", "v100-4", "mi300x-8"}) {
    const auto node = node_type(id);
    EXPECT_EQ(link_rings(node->mesh, node->gpus), node->links) << id;
    EXPECT_NEAR(limits_of(*node).ring.si(), node->link_bandwidth.si() * node->link_share, 1) << id;
  }
}

TEST(Ring, OfTheHybridCubeMeshUsesAllSixLinks) {
  const auto node = node_type("hgx-v100-32");
  EXPECT_EQ(link_rings(node->mesh, 8), 6);
  EXPECT_EQ(link_rings(node->mesh, 4), 4);  // each of GPU 0 to 3 has two links to the other board
}

TEST(Ring, OfTwoJoinedGpusIsTheirBridge) {
  const std::vector<MeshLink> bridge{{0, 1, 12}};
  EXPECT_EQ(link_rings(bridge, 2), 12);
  EXPECT_EQ(link_rings(bridge, 3), 0);
}

// The complete graph on n vertices, one link each way, falls apart into n − 1 rings, but for n = 4 and 6 (Tillson 1980).
TEST(LinkRings, OneLinkBetweenEveryTwoGpus) {
  std::vector<MeshLink> mesh;
  for (int a = 0; a < 8; ++a) {
    for (int b = a + 1; b < 8; ++b) mesh.push_back({a, b, 1});
  }
  for (int n = 2; n <= 8; ++n) EXPECT_EQ(link_rings(mesh, n), n == 4 || n == 6 ? n - 2 : n - 1) << n;
}

TEST(Ring, BridgedPairsFallToPcieBeyondThePair) {
  const auto node = node_type("pcie-8xa100");
  EXPECT_DOUBLE_EQ(ring_of(*node, 2).per_gpu.si(), node->link_bandwidth.si() * node->link_share);
  const Ring four = ring_of(*node, 4);
  EXPECT_FALSE(four.over_links);
  EXPECT_LE(four.per_gpu, node->pcie_bandwidth);
}

TEST(Ring, OverPcieIsBoundByWhatOneCrossingCarries) {
  // Ring 0 → … → 7 → 0: every slot and every switch uplink carries one flow a direction; between the sockets 3 → 4 one way
  // and 7 → 0 the other: one flow each. So the narrowest of slot, uplink and socket link is the ring.
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(limits_of(node_of(kEightCards)).ring), 9);
  const NodeType wide = node_of("{gpu: l40s, gpus: 8, sockets: 2, pcie_switches: 4, socket_bandwidth: 90 GB/s}");
  EXPECT_DOUBLE_EQ(limits_of(wide).ring.si(), wide.pcie_line.si() * 0.762);
}

TEST(Ring, ThroughHostMemoryLoadsAnUplinkTwice) {
  // Two cards below a switch, no peer access: 0 → 1 and 1 → 2 both climb the first uplink, 7 → 0 and 0 → 1 come down it.
  const NodeType node =
      node_of("{gpu: rtx4090, gpus: 8, sockets: 2, pcie_switches: 4, socket_bandwidth: 90 GB/s, memory_bandwidth: 900 GB/s}");
  EXPECT_DOUBLE_EQ(limits_of(node).ring.si(), node.uplink_bandwidth.si() / 2);
}

TEST(Ring, ThroughHostMemoryIsBoundByTheMemory) {
  // Four cards on one socket, 80 GB/s of memory: four flows, each written and read → 10 GB/s.
  const NodeType node = node_of("{gpu: rtx4090, gpus: 4, sockets: 1, memory_bandwidth: 80 GB/s}");
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(limits_of(node).ring), 10);
}

TEST(Limits, CardsBelowOneSwitchShareItsUplinkFromTheHost) {
  const NodeType node = node_of(kEightCards);
  EXPECT_DOUBLE_EQ(limits_of(node).host_to_gpu.si(), node.uplink_bandwidth.si() / 2);
  const NodeType direct = node_of("{gpu: l40s, gpus: 4, sockets: 1, memory_bandwidth: 900 GB/s}");
  EXPECT_DOUBLE_EQ(limits_of(direct).host_to_gpu.si(), direct.pcie_bandwidth.si());
}

TEST(Limits, ANicIsBoundByItsSlot) {
  const NodeType node = node_of("{type: hgx-a100-80, nics: {part: cx7-ndr}}");  // 400 Gb/s in PCIe 4
  const NodeLimits limits = limits_of(node);
  EXPECT_DOUBLE_EQ(limits.nic_to_gpu.si(), node.nics.slot.si());
  EXPECT_LT(limits.nic_to_gpu.si(), node.nics.rate.si() * node.nics.efficiency);
}

TEST(Limits, AllNicsTogetherAreTheirSum) {
  const auto node = node_type("hgx-h100");
  EXPECT_NEAR(limits_of(*node).node_to_network.si(), 8 * node->nics.rate.si() * node->nics.efficiency, 1);
  const NodeType one = node_of("{type: hgx-h100, nics: {count: 1}}");
  EXPECT_NEAR(limits_of(one).node_to_network.si(), one.nics.rate.si() * one.nics.efficiency, 1);
  EXPECT_TRUE(limits_of(one).nic_across_socket);
  EXPECT_FALSE(limits_of(*node).nic_across_socket);
}

TEST(Limits, OneGpuAloneHasNoRing) {
  const NodeLimits limits = limits_of(node_of("{gpu: h100-pcie, gpus: 1}"));
  EXPECT_EQ(limits.ring.si(), 0);
  EXPECT_GT(limits.host_to_gpu.si(), 0);
}

TEST(Limits, MoreBandwidthNeverLowersALimit) {
  const auto at_least = [](const NodeLimits& a, const NodeLimits& b, const std::string& what) {
    EXPECT_GE(a.gpu_to_gpu.si(), b.gpu_to_gpu.si() * (1 - 1e-9)) << what;
    EXPECT_GE(a.ring.si(), b.ring.si() * (1 - 1e-9)) << what;
    EXPECT_GE(a.nic_to_gpu.si(), b.nic_to_gpu.si() * (1 - 1e-9)) << what;
    EXPECT_GE(a.node_to_network.si(), b.node_to_network.si() * (1 - 1e-9)) << what;
    EXPECT_GE(a.host_to_gpu.si(), b.host_to_gpu.si() * (1 - 1e-9)) << what;
  };
  for (const auto& entry : node_catalog()) {
    const NodeLimits before = limits_of(entry.node);
    Bandwidth NodeType::* const rates[] = {&NodeType::link_bandwidth,   &NodeType::pcie_bandwidth,   &NodeType::pcie_line,
                                           &NodeType::uplink_bandwidth, &NodeType::socket_bandwidth, &NodeType::memory_bandwidth,
                                           &NodeType::host_link};
    for (const auto rate : rates) {
      NodeType more = entry.node;
      more.*rate = more.*rate * 1.7;
      at_least(limits_of(more), before, entry.id);
    }
    NodeType more = entry.node;
    more.nics.rate = more.nics.rate * 1.7;
    at_least(limits_of(more), before, entry.id + ", NIC rate");
    more = entry.node;
    more.nics.slot = more.nics.slot * 1.7;
    at_least(limits_of(more), before, entry.id + ", NIC slot");
  }
}

TEST(Limits, NamingTheGpusOfAMeshDifferentlyChangesNothing) {
  const auto node = node_type("hgx-v100-32");
  const int rings = link_rings(node->mesh, 8);
  Rng rng(7);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> name{0, 1, 2, 3, 4, 5, 6, 7};
    for (std::size_t i = name.size(); i > 1; --i) std::swap(name[i - 1], name[rng.below(i)]);
    std::vector<MeshLink> mesh = node->mesh;
    for (auto& link : mesh) link = {name[std::size_t(link.a)], name[std::size_t(link.b)], link.links};
    EXPECT_EQ(link_rings(mesh, 8), rings);
  }
}

TEST(Limits, AnyOrderOfGpusOfASwitchedNodeGivesTheSameRing) {
  const auto node = node_type("hgx-a100-80");
  const Graph graph = build_graph(*node);
  Rng rng(11);
  for (int round = 0; round < 20; ++round) {
    std::vector<int> order{0, 1, 2, 3, 4, 5, 6, 7};
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
    std::vector<Path> hops;
    for (std::size_t i = 0; i < order.size(); ++i) {
      hops.push_back(
          path_between(graph, graph.find(VertexKind::gpu, order[i]), graph.find(VertexKind::gpu, order[(i + 1) % order.size()])));
    }
    for (const auto rate : shared_rates(graph, hops, true)) EXPECT_DOUBLE_EQ(rate.si(), limits_of(*node).ring.si());
  }
}

// The certificate of max-min fairness: no edge is overloaded, and every flow crosses a full edge on which nobody gets more.
TEST(SharedRates, AreMaxMinFair) {
  const auto node = node_type("pcie-8xl40s");
  const Graph graph = build_graph(*node);
  Rng rng(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<Path> flows;
    for (int f = 0; f < 12; ++f) {
      const int a = int(rng.below(graph.vertices.size())), b = int(rng.below(graph.vertices.size()));
      if (a != b) flows.push_back(path_between(graph, a, b));
    }
    const auto rates = shared_rates(graph, flows);
    std::vector<double> load(graph.edges.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (int e : flows[f].edges) load[std::size_t(e)] += rates[f].si();
    }
    for (std::size_t e = 0; e < load.size(); ++e) EXPECT_LE(load[e], graph.edges[e].capacity.si() * (1 + 1e-9));
    for (std::size_t f = 0; f < flows.size(); ++f) {
      const bool held = std::any_of(flows[f].edges.begin(), flows[f].edges.end(), [&](int e) {
        double pool = 0, most = 0;
        const int id = graph.edges[std::size_t(e)].pool;
        for (std::size_t g = 0; g < flows.size(); ++g) {
          for (int other : flows[g].edges) {
            if (other == e || (id >= 0 && graph.edges[std::size_t(other)].pool == id)) most = std::max(most, rates[g].si());
            if (id >= 0 && graph.edges[std::size_t(other)].pool == id) pool += rates[g].si();
          }
        }
        const bool full = load[std::size_t(e)] >= graph.edges[std::size_t(e)].capacity.si() * (1 - 1e-9) ||
                          (id >= 0 && pool >= graph.pools[std::size_t(id)].si() * (1 - 1e-9));
        return full && rates[f].si() >= most * (1 - 1e-9);
      });
      EXPECT_TRUE(held) << "flow " << f;
    }
  }
}

}  // namespace
}  // namespace trunkline::topology
