#include "topology/warnings.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

using Warnings = std::vector<TopologyWarning>;

int parts_below(const Graph& graph, int pcie_switch, VertexKind kind) {
  return int(std::count_if(graph.edges.begin(), graph.edges.end(), [&](const Edge& edge) {
    return edge.to == pcie_switch && graph.vertices[std::size_t(edge.from)].kind == kind;
  }));
}

void gpu_links(const Platform& platform, const Graph& graph, const NodeLimits& limits, Warnings& out) {
  const NodeType& node = platform.node;
  if (node.gpus < 2) return;
  if (node.gpu_links == GpuLinks::none) {
    const bool has = node.gpu.link_family != catalog::LinkFamily::none && node.gpu.links > 0;
    out.push_back({"no-gpu-links",
                   fmt::format("no NVLink: all GPU traffic crosses PCIe, {} a GPU when all send at once", to_text(limits.ring)),
                   has ? fmt::format("{} has links for {} that are not used here", node.gpu.name, to_text(node.gpu.link_bandwidth)) : ""});
  }
  if (!node.pcie_p2p) {
    out.push_back({"host-staging",
                   fmt::format("{} cards do not reach each other or a NIC over PCIe: every transfer passes host memory", node.gpu.name),
                   "cards with peer-to-peer access, such as L40S or A100"});
  }
  if (node.gpu_links == GpuLinks::none || node.gpu_links == GpuLinks::nvswitch) return;
  int without = 0, pairs = 0;
  for (int a = 0; a < node.gpus; ++a) {
    for (int b = a + 1; b < node.gpus; ++b) {
      ++pairs;
      without += path_between(graph, graph.find(VertexKind::gpu, a), graph.find(VertexKind::gpu, b)).kind != PathKind::link;
    }
  }
  if (without > 0) {
    out.push_back(
        {"pairs-without-links",
         fmt::format("{} of {} pairs of GPUs share no link and go over PCIe, {} the slowest", without, pairs, to_text(limits.gpu_to_gpu)),
         "keep tensor-parallel groups among GPUs that are joined"});
  }
}

void switches(const Platform& platform, const Graph& graph, Warnings& out) {
  const NodeType& node = platform.node;
  if (node.pcie_switches == 0) return;
  int gpus = 0, nics = 0;
  for (int s = 0; s < node.pcie_switches; ++s) {
    const int v = graph.find(VertexKind::pcie_switch, s);
    gpus = std::max(gpus, parts_below(graph, v, VertexKind::gpu));
    nics = std::max(nics, parts_below(graph, v, VertexKind::nic));
  }
  if (gpus > 1 && node.pcie_bandwidth * double(gpus) > node.uplink_bandwidth) {
    out.push_back({"gpus-share-uplink",
                   fmt::format("{} GPUs share one PCIe switch uplink of {}: loading data to all at once, each gets {} of {}", gpus,
                               to_text(node.uplink_bandwidth), to_text(node.uplink_bandwidth / gpus), to_text(node.pcie_bandwidth)),
                   ""});
  }
  const Bandwidth wanted = node.nics.rate * (node.nics.efficiency * nics);
  if (nics > 1 && wanted > node.uplink_bandwidth) {
    out.push_back({"nics-share-uplink",
                   fmt::format("{} NICs share one PCIe switch uplink: {} of {} reach GPUs on other switches or host memory", nics,
                               to_text(node.uplink_bandwidth), to_text(wanted)),
                   "let each NIC serve the GPUs below its own switch"});
  }
}

void nics(const Platform& platform, const NodeLimits& limits, Warnings& out) {
  const NodeType& node = platform.node;
  const Nics& n = node.nics;
  if (n.count == 0) return;
  const Bandwidth usable = n.rate * n.efficiency;
  if (n.slot < usable * 0.99) {
    out.push_back({"nic-slot",
                   fmt::format("a NIC of {:.0f} Gb/s could move {}, its PCIe {} slot carries {}", as_gbit_per_s(n.rate), to_text(usable),
                               node.pcie_generation, to_text(n.slot)),
                   "a node of a newer PCIe generation, or do not pay for the faster fabric"});
  }
  if (limits.nic_across_socket) {
    out.push_back(
        {"nic-across-socket",
         fmt::format("some GPUs reach their nearest NIC only across the link between sockets, {}", to_text(node.socket_bandwidth)),
         "one NIC for each socket or PCIe switch"});
  }
  if (platform.nodes > 1 && n.count < node.gpus) {
    out.push_back({"fewer-nics-than-gpus",
                   fmt::format("{} NIC{} for {} GPUs: {} a GPU when all talk to other nodes", n.count, n.count == 1 ? "" : "s", node.gpus,
                               to_text(limits.node_to_network / node.gpus)),
                   ""});
  }
  const Bandwidth all = std::min(usable, n.slot) * double(n.count);
  if (limits.node_to_network < all * 0.99) {
    out.push_back(
        {"nics-beyond-pcie",
         fmt::format("the NICs together could move {}, the GPUs reach {} of it over PCIe", to_text(all), to_text(limits.node_to_network)),
         ""});
  }
}

void fabric(const Platform& platform, Warnings& out) {
  const Fabric& f = platform.fabric;
  if (platform.nodes < 2 || !f.present) return;
  if (f.oversubscription > 1) {
    out.push_back({"oversubscribed-fabric",
                   fmt::format("the fabric is {:g}:1 oversubscribed: between leaf switches a NIC gets {} when all talk", f.oversubscription,
                               to_text(platform.node.nics.rate * (platform.node.nics.efficiency / f.oversubscription))),
                   "keep jobs below one leaf switch"});
  }
  if (f.kind == catalog::NicKind::ethernet) {
    out.push_back({"tcp-fabric", "the fabric is plain Ethernet (TCP): no RDMA, latencies of tens of microseconds", "RoCE or InfiniBand"});
  }
}

}  // namespace

std::vector<TopologyWarning> warnings_of(const Platform& platform, const Graph& graph, const NodeLimits& limits) {
  Warnings out;
  gpu_links(platform, graph, limits, out);
  switches(platform, graph, out);
  nics(platform, limits, out);
  fabric(platform, out);
  return out;
}

}  // namespace trunkline::topology
