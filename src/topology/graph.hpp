// A node as a graph: parts as vertices, wires as directed edges with capacity and latency; paths and shared loads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "topology/platform.hpp"

namespace trunkline::topology {

enum class VertexKind { gpu, nvswitch, pcie_switch, socket, memory, nic, disk, fabric };

struct Vertex {
  VertexKind kind = VertexKind::gpu;
  int index = 0;     // among its kind
  std::string name;  // "GPU0", "PCIe switch 1", "socket 0", …
  int socket = -1;   // the socket it hangs off; -1 where that says nothing (NVSwitch, fabric)
};

enum class EdgeKind { link, host_link, pcie, socket, memory, disk, network };

// One direction of one wire.
struct Edge {
  int from = 0, to = 0;
  EdgeKind kind = EdgeKind::pcie;
  Bandwidth line;      // line rate
  Bandwidth capacity;  // what copies reach
  Bandwidth kernel;    // what collective kernels reach
  Seconds latency;
  int links = 0;  // bundled NVLinks or xGMI links
  int pool = -1;  // index into Graph::pools: a limit shared with other edges (memory reads and writes)
};

struct Graph {
  std::vector<Vertex> vertices;
  std::vector<Edge> edges;
  std::vector<std::vector<int>> out;  // of each vertex: the edges that leave it
  std::vector<Bandwidth> pools;
  bool pcie_p2p = true;
  bool xgmi = false;

  // The vertex of a part; -1 where there is none.
  int find(VertexKind kind, int index) const;
  int count(VertexKind kind) const;
};

// The graph of one node. GPUs, then NICs, are spread in order over the PCIe switches (or sockets), switches over sockets;
// every NIC ends at a port of the fabric. Cost: linear in the number of parts.
Graph build_graph(const NodeType& node);

// Where a path leads through, as `nvidia-smi topo -m` names it.
enum class PathKind { self, link, pix, pxb, phb, node, sys, network };

struct Path {
  std::vector<int> edges;  // in order; empty = from a part to itself, or unreachable
  PathKind kind = PathKind::self;
  int links = 0;        // of a `link` path: bundled links
  bool staged = false;  // through a buffer in host memory, as without peer-to-peer
  Bandwidth capacity;   // of one transfer alone: its narrowest edge
  Seconds latency;
  int bottleneck = -1;  // that edge
};

// The way that data takes from one part to another, as PyTorch and NCCL would send it: NVLink or xGMI where the two share
// one, else PCIe; through host memory of the receiver's socket where PCIe peers may not reach each other.
// Ignored: forwarding through a third GPU; PCIe peer-to-peer losses inside some CPUs.
Path path_between(const Graph& graph, int from, int to);

// "NV12", "PIX", "PXB", "PHB", "NODE", "SYS", "XGMI", "X".
std::string label(const Graph& graph, const Path& path);

// What every flow gets when all run at once: max-min fair rates over the edges (and pools) that they share. A path that
// takes an edge twice loads it twice. `kernel` chooses the edges' kernel capacity instead of the copies'.
// Cost: flows × their edges × rounds, at most one round a flow.
std::vector<Bandwidth> shared_rates(const Graph& graph, std::span<const Path> flows, bool kernel = false);

// GPUs nearest to a NIC and NICs nearest to a GPU: lowest latency over PCIe, ties together, in their order.
std::vector<int> nearest(const Graph& graph, int from, VertexKind kind);

// The most rings through all of the first `gpus` GPUs that use every direction of every link of a mesh at most once, with
// unit links; each ring carries one link's rate. Exhaustive up to a fixed number of steps, so the answer of a large
// irregular mesh may be too low, never too high.
int link_rings(std::span<const MeshLink> mesh, int gpus);

}  // namespace trunkline::topology
