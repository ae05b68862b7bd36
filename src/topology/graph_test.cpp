// The graph of a node against prints of real machines, and paths whose parts can be named by hand.
#include "topology/graph.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/text.hpp"

namespace trunkline::topology {
namespace {

NodeType node_of(const std::string& yaml) {
  const auto value = io::parse_yaml("node: " + yaml, "test.yaml");
  EXPECT_TRUE(value);
  auto platform = platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return platform ? platform->node : NodeType{};
}

std::string label_of(const Graph& graph, VertexKind a, int i, VertexKind b, int j) {
  return label(graph, path_between(graph, graph.find(a, i), graph.find(b, j)));
}

// The GPU rows of a topology print: labels separated by blanks.
std::vector<std::vector<std::string>> rows_of(const std::string& print) {
  std::vector<std::vector<std::string>> rows;
  for (const auto line : split(print, '\n')) {
    std::vector<std::string> cells;
    for (const auto cell : split(line, ' ')) {
      if (!cell.empty()) cells.emplace_back(cell);
    }
    if (!cells.empty()) rows.push_back(cells);
  }
  return rows;
}

void expect_labels(const Graph& graph, const std::string& print) {
  const auto rows = rows_of(print);
  const int gpus = graph.count(VertexKind::gpu);
  ASSERT_EQ(int(rows.size()), gpus);
  for (int g = 0; g < gpus; ++g) {
    for (int c = 0; c < int(rows[std::size_t(g)].size()); ++c) {
      const bool gpu = c < gpus;
      EXPECT_EQ(label_of(graph, VertexKind::gpu, g, gpu ? VertexKind::gpu : VertexKind::nic, gpu ? c : c - gpus),
                rows[std::size_t(g)][std::size_t(c)])
          << "GPU" << g << " column " << c;
    }
  }
}

// `nvidia-smi topo -m` of an 8x V100 machine of the DGX-1 kind.
TEST(Graph, LabelsOfADgx1AreThoseOfTheMachine) {
  const auto node = node_type("hgx-v100-32");
  ASSERT_TRUE(node);
  expect_labels(build_graph(*node), R"(
X NV1 NV1 NV2 NV2 SYS SYS SYS
NV1 X NV2 NV1 SYS NV2 SYS SYS
NV1 NV2 X NV2 SYS SYS NV1 SYS
NV2 NV1 NV2 X SYS SYS SYS NV1
NV2 SYS SYS SYS X NV1 NV1 NV2
SYS NV2 SYS SYS NV1 X NV2 NV1
SYS SYS NV1 SYS NV1 NV2 X NV2
SYS SYS SYS NV1 NV2 NV1 NV2 X)");
}

// `nvidia-smi topo -m` of a Google a3-ultragpu-8g in mlcommons/training_results_v5.0, NIC columns included.
TEST(Graph, LabelsOfAnA3UltraAreThoseOfTheMachine) {
  const auto node = node_type("a3-ultra");
  ASSERT_TRUE(node);
  expect_labels(build_graph(*node), R"(
X NV18 NV18 NV18 NV18 NV18 NV18 NV18 PIX PIX NODE NODE SYS SYS SYS SYS
NV18 X NV18 NV18 NV18 NV18 NV18 NV18 PIX PIX NODE NODE SYS SYS SYS SYS
NV18 NV18 X NV18 NV18 NV18 NV18 NV18 NODE NODE PIX PIX SYS SYS SYS SYS
NV18 NV18 NV18 X NV18 NV18 NV18 NV18 NODE NODE PIX PIX SYS SYS SYS SYS
NV18 NV18 NV18 NV18 X NV18 NV18 NV18 SYS SYS SYS SYS PIX PIX NODE NODE
NV18 NV18 NV18 NV18 NV18 X NV18 NV18 SYS SYS SYS SYS PIX PIX NODE NODE
NV18 NV18 NV18 NV18 NV18 NV18 X NV18 SYS SYS SYS SYS NODE NODE PIX PIX
NV18 NV18 NV18 NV18 NV18 NV18 NV18 X SYS SYS SYS SYS NODE NODE PIX PIX)");
}

// Two captured machines with 4x L40S: one with PCIe switches on one socket, one with cards directly on two sockets.
TEST(Graph, LabelsOfPcieServersAreThoseOfTheMachines) {
  expect_labels(build_graph(node_of("{gpu: l40s, gpus: 4, sockets: 1, pcie_switches: 2}")),
                "X PIX NODE NODE\nPIX X NODE NODE\nNODE NODE X PIX\nNODE NODE PIX X");
  expect_labels(build_graph(node_of("{gpu: l40s, gpus: 4, sockets: 2, pcie_switches: 0}")),
                "X PHB SYS SYS\nPHB X SYS SYS\nSYS SYS X PHB\nSYS SYS PHB X");
}

TEST(Graph, EveryWireHasBothDirections) {
  for (const auto& entry : node_catalog()) {
    const Graph graph = build_graph(entry.node);
    std::set<std::pair<int, int>> wires;
    for (const auto& edge : graph.edges) wires.insert({edge.from, edge.to});
    for (const auto& edge : graph.edges) EXPECT_TRUE(wires.contains({edge.to, edge.from})) << entry.id;
  }
}

TEST(Graph, EveryPartReachesEveryOther) {
  for (const auto& entry : node_catalog()) {
    const Graph graph = build_graph(entry.node);
    for (int a = 0; a < int(graph.vertices.size()); ++a) {
      for (int b = 0; b < int(graph.vertices.size()); ++b) {
        const bool nvswitch =
            graph.vertices[std::size_t(a)].kind == VertexKind::nvswitch || graph.vertices[std::size_t(b)].kind == VertexKind::nvswitch;
        if (a == b || nvswitch) continue;
        const Path path = path_between(graph, a, b);
        ASSERT_FALSE(path.edges.empty()) << entry.id << " " << graph.vertices[std::size_t(a)].name << " to "
                                         << graph.vertices[std::size_t(b)].name;
        int at = a;
        for (int e : path.edges) {
          EXPECT_EQ(graph.edges[std::size_t(e)].from, at) << "a path is connected";
          at = graph.edges[std::size_t(e)].to;
        }
        EXPECT_EQ(at, b);
        EXPECT_GT(path.capacity.si(), 0);
      }
    }
  }
}

TEST(Graph, APathIsAsWideAsItsNarrowestEdge) {
  // GPU slot 26.3 GB/s, socket link 5 GB/s: crossing is bound by the link, staying by the slot
  const NodeType node = node_of("{gpu: l40s, gpus: 4, sockets: 2, socket_bandwidth: 5 GB/s}");
  const Graph graph = build_graph(node);
  const auto gpu = [&](int i) { return graph.find(VertexKind::gpu, i); };
  EXPECT_EQ(path_between(graph, gpu(0), gpu(1)).capacity, node.pcie_bandwidth);
  const Path across = path_between(graph, gpu(0), gpu(3));
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(across.capacity), 5);
  EXPECT_EQ(graph.edges[std::size_t(across.bottleneck)].kind, EdgeKind::socket);
}

TEST(Graph, LinksSumTheirLatencyOnceASwitchOrNot) {
  const auto switched = node_type("hgx-a100-80");
  const auto direct = node_type("a100-4");
  const Graph a = build_graph(*switched), b = build_graph(*direct);
  EXPECT_DOUBLE_EQ(path_between(a, a.find(VertexKind::gpu, 0), a.find(VertexKind::gpu, 5)).latency.si(),
                   path_between(b, b.find(VertexKind::gpu, 0), b.find(VertexKind::gpu, 3)).latency.si());
}

TEST(Graph, WithoutPeerAccessDataPassesTheReceiversMemory) {
  const NodeType node = node_of("{gpu: rtx4090, gpus: 2, sockets: 2, memory_bandwidth: 20 GB/s, socket_bandwidth: 50 GB/s}");
  const Graph graph = build_graph(node);
  const Path path = path_between(graph, graph.find(VertexKind::gpu, 0), graph.find(VertexKind::gpu, 1));
  EXPECT_TRUE(path.staged);
  EXPECT_EQ(path.kind, PathKind::sys);
  bool there = false;
  for (int e : path.edges) there = there || graph.edges[std::size_t(e)].to == graph.find(VertexKind::memory, 1);
  EXPECT_TRUE(there);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(path.capacity), 10) << "every byte is written to memory and read from it: half of 20 GB/s";
}

TEST(Graph, WithoutPeerAccessANicIsReachedThroughMemoryToo) {
  const Graph graph = build_graph(node_of("{gpu: rtx4090, gpus: 1, nics: {part: cx7-ndr, count: 1}}"));
  EXPECT_TRUE(path_between(graph, graph.find(VertexKind::gpu, 0), graph.find(VertexKind::nic, 0)).staged);
  EXPECT_TRUE(path_between(graph, graph.find(VertexKind::nic, 0), graph.find(VertexKind::gpu, 0)).staged);
  EXPECT_FALSE(path_between(graph, graph.find(VertexKind::memory, 0), graph.find(VertexKind::gpu, 0)).staged);
}

TEST(Graph, GraceHostLinkReplacesTheSlot) {
  const auto node = node_type("gb200-nvl72");
  const Graph graph = build_graph(*node);
  const Path path = path_between(graph, graph.find(VertexKind::memory, 0), graph.find(VertexKind::gpu, 0));
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(path.capacity), 359);
  EXPECT_EQ(label_of(graph, VertexKind::gpu, 0, VertexKind::nic, 0), "PHB");
  EXPECT_EQ(label_of(graph, VertexKind::gpu, 0, VertexKind::gpu, 3), "NV18");
}

TEST(Graph, DisksAreReadAndWrittenAtTheirOwnRates) {
  const NodeType node = node_of("{gpu: l40s, gpus: 2, sockets: 2, local_disk: {read: 12 GB/s, write: 4 GB/s}}");
  const Graph graph = build_graph(node);
  const int disk = graph.find(VertexKind::disk, 0), memory = graph.find(VertexKind::memory, 0);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(path_between(graph, disk, memory).capacity), 6);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(path_between(graph, memory, disk).capacity), 2);
}

TEST(Graph, NearestKeepsTies) {
  const auto p5 = node_type("p5");  // four cards under each GPU's switch
  const Graph graph = build_graph(*p5);
  EXPECT_EQ(nearest(graph, graph.find(VertexKind::gpu, 0), VertexKind::nic).size(), 4u);
  EXPECT_EQ(nearest(graph, graph.find(VertexKind::nic, 31), VertexKind::gpu), std::vector<int>{graph.find(VertexKind::gpu, 7)});
}

// A part of a node keeps the links between the GPUs that are left.
TEST(Graph, PartsOfAMeshHaveTheirOwnLinks) {
  for (const auto& entry : node_catalog()) {
    for (int gpus = 1; gpus <= entry.node.gpus; ++gpus) {
      NodeType part = entry.node;
      part.gpus = gpus;
      const Graph graph = build_graph(part);
      EXPECT_EQ(graph.count(VertexKind::gpu), gpus);
      for (const auto& edge : graph.edges) EXPECT_TRUE(edge.from >= 0 && edge.to >= 0) << entry.id;
    }
  }
}

}  // namespace
}  // namespace trunkline::topology
