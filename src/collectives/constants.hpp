// The numbers of the collective model: one table a hardware class, never one for a system.
//
// Where they come from:
//   [nccl]  NCCL 2.30.7 src/graph/tuning.cc and topo.h, as it ships (data read from the tags 2.18.3 to 2.30.7).
//   [fit]   fitted on data/published/nccl_results.csv, all systems of the class together, and rounded.
//   [phys]  arithmetic of the algorithm.
// NCCL's own latencies are chosen to rank its algorithms; measured small and middle messages take two to three times as
// long, so latencies here are fitted. docs/collectives.md lists the evidence for each.
#pragma once

#include "collectives/collective.hpp"

namespace trunkline::collectives {

struct PerProtocol {
  double ll, ll128, simple;

  constexpr double operator[](Protocol protocol) const {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
};

// Seconds from the call until the first data moves, and after the last. [fit]; [nccl] plans 6.6, 14, 8.4 µs.
inline constexpr PerProtocol kBase = {6.6e-6, 27e-6, 16e-6};

// One step over a NIC, seconds, the fabric's own latency (Domain::network_latency) not counted. [fit]; [nccl] plans 2.7, 4, 14.
inline constexpr PerProtocol kNetworkHop = {4.5e-6, 7e-6, 14e-6};

// Share of a bandwidth that a protocol can carry: LL sends 4 bytes of data with 4 of flags, LL128 120 of 128 [nccl: 0.92].
inline constexpr PerProtocol kPayload = {0.5, 0.92, 1.0};

// A ring's pipeline starts with an empty chunk in each channel: this share of one rank's part of the buffer (at most the
// given bytes, all channels together: NCCL's buffers) is paid once. [fit]; buffer sizes [nccl: 4 MiB a channel for Simple].
inline constexpr PerProtocol kRingFill = {0, 0.9, 0.45};
inline constexpr PerProtocol kRingFillLimit = {0, 10e6, 48e6};

// A tree forwards chunk by chunk through all its levels: bytes in flight a level (of the whole buffer a thirteenth, at most these). [fit]
inline constexpr PerProtocol kTreeChunk = {0, 0.18e6, 1.6e6};
inline constexpr double kTreeChunkShare = 1.0 / 13;

// LL over the network against LL inside a node [nccl: llMaxBws 22.5 of 87.7 for two Ampere nodes].
inline constexpr double kNetworkLlShare = 0.25;

// What one link class does inside a node.
struct LinkClass {
  PerProtocol hop;          // seconds a step [fit]
  double ll_rate;           // LL: buffer bytes per second, whatever the collective [fit, scaled between classes as nccl llMaxBws]
  double turn;              // steps lost once a pass, when a ring only sends or only receives [fit]
  double tree_channel[3];   // bytes/s a channel carries in a tree on 1, 2, more nodes [nccl perChMaxTreeBw]; 0 = no limit
  double nvls_share;        // of the ring bandwidth, what the switch's multicast and reduction carry; 0 = none [fit; nccl 0.85, 0.74]
  double nvls_base;         // seconds [fit]
  double nvls_fill_limit;   // bytes [fit]
};

inline constexpr double kTreeChannels = 8;        // that the limits above were measured with
inline constexpr double kTreeShare = 0.92;        // of half the ring bandwidth: up and down share each link [nccl]
inline constexpr double kTreeLl128Share = 0.9375; // 120 of 128 bytes [nccl]
inline constexpr double kTreeTwoNodes = 0.92;     // of the NICs when two nodes exchange the buffer once each way [fit]
inline constexpr double kTreeManyNodes = 0.75;    // of half the NICs when inner nodes of the double tree send it twice [fit]
inline constexpr double kNvlsFill = 2.1;          // of one rank's part [fit]
inline constexpr double kNvlsTreeInside = 0.92;   // NVLS at both ends of a tree against NVLS alone [fit]
inline constexpr double kNvlsTreeTwoNodes = 0.97;
inline constexpr double kNvlsTreeManyNodes = 0.72;
inline constexpr double kNvlsManyTrays = 0.8;     // NVLS over more than 8 GPUs (NVL72) [fit]
inline constexpr int kNvlsTrayGpus = 8;
inline constexpr double kPatShare = 0.75;         // [nccl]
inline constexpr double kPatBase = 8e-6, kPatPerRank = 2.8e-6, kPatHopShare = 1 / 3.5;  // [nccl]

// Point to point.
inline constexpr double kPeerStep = 8.3e-6;        // all-to-all inside a node: seconds for each peer [fit]
inline constexpr double kNetworkPeer = 0.5e-6;     // all-to-all over NICs: seconds for each remote peer
inline constexpr double kAllToAllShare = 0.94;     // of the ring bandwidth [fit]
inline constexpr double kPairShare = 0.9;          // send/recv, of the ring bandwidth or of a NIC [fit]
inline constexpr double kAllToAllFill = 0.45;

// A ring keeps one or two connections busy on each NIC, and one connection follows one path: above 200 Gb/s a port is not
// filled. Bytes/s up to which it is, and the share of what lies above. [fit]
inline constexpr double kRingPortKnee = 25e9;
inline constexpr double kRingPortAboveInfiniband = 0.82;
inline constexpr double kRingPortAboveRoce = 0.70;

// A kernel that reads its neighbour's data from host memory (no peer-to-peer) waits for each PCIe read. [fit]
inline constexpr double kStagedShare = 0.18;

// Sockets: the CPU copies every byte. Line rate up to which nearly all of it is reached, and the share above. [fit]
inline constexpr double kTcpKnee = 3.125e9, kTcpBelow = 0.92, kTcpAbove = 0.557;

// Omni-Path moves GPU data through host memory (no GPUDirect under verbs). [fit]
inline constexpr double kOmnipathShare = 0.25;

// Versions of NCCL, major · 100 + minor, from which on an algorithm is used by default.
inline constexpr int kNewestVersion = 230, kNvlsVersion = 217, kNvlsTreeVersion = 218, kPatVersion = 223;

const LinkClass& link_class(const Domain& domain);

}  // namespace trunkline::collectives
