// The numbers of the collective model: one table a hardware class, never one for a system.
//
// Where they come from:
//   [nccl]  NCCL 2.30.7 src/graph/tuning.cc and topo.h, as shipped (read from the tags 2.18.3 to 2.30.7).
//   [fit]   fitted on data/published/nccl_results.csv, all systems of a class together, and rounded; each starts from
//           NCCL's number where there is one. validate::fit_collectives repeats the fit, also with a system left out.
//   [phys]  arithmetic of the algorithm.
// NCCL's own latencies only have to rank its algorithms; measured small and middle messages take up to three times as
// long. docs/collectives.md gives the evidence for each number.
#pragma once

#include <array>

#include "collectives/collective.hpp"

namespace trunkline::collectives {

struct PerProtocol {
  double ll, ll128, simple;

  constexpr double operator[](Protocol protocol) const {
    return protocol == Protocol::ll ? ll : protocol == Protocol::ll128 ? ll128 : simple;
  }
};

// What one kind of link does inside a node.
struct LinkClass {
  PerProtocol hop;                     // seconds a step [fit; nccl NVLink 0.6, 1.9, 3.4 µs, PCIe 1.0, 2.5, 5.7]
  double ll_rate;                      // LL: buffer bytes a second, whatever the collective [fit; between classes as nccl llMaxBws]
  double turn;                         // steps lost in a pass where a ring only sends or only receives [fit]
  std::array<double, 3> tree_channel;  // bytes/s one channel carries in a tree on 1, 2, more nodes [nccl perChMaxTreeBw]; 0 = no limit
  double nvls_share;                   // of the ring bandwidth: the switch's multicast and reduction; 0 = none [fit; nccl 0.85, 0.74]
  double nvls_base;                    // seconds [fit; nccl 25 µs]
  double nvls_fill_limit;              // bytes, all channels of eight ranks together [fit]
};

struct Constants {
  // Seconds from the call until the first data moves, and after the last. [fit; nccl 6.6, 14, 8.4 µs]
  PerProtocol base = {6.0e-6, 15e-6, 10e-6};

  // One step over a NIC, seconds, without the fabric's own latency (Domain::network_latency). [fit; nccl 2.7, 4, 14 µs]
  PerProtocol network_hop = {3.0e-6, 4.5e-6, 13.5e-6};

  // Share of a bandwidth that a protocol can carry: LL sends 4 bytes of data with 4 of flags, LL128 120 of 128. [nccl]
  PerProtocol payload = {0.5, 0.92, 1.0};

  // A ring starts with an empty chunk in each channel: this share of one rank's part of the buffer, at most the given bytes
  // (all channels together), is waited for once. [fit; the limit from nccl's 4 MiB of buffer a channel]
  PerProtocol ring_fill = {0, 0.5, 0.5};
  PerProtocol ring_fill_limit = {0, 10e6, 48e6};

  // A tree forwards chunk by chunk: bytes a level, all channels together; a share of the buffer, at most the given bytes. [fit]
  PerProtocol tree_chunk = {0, 0.18e6, 1.6e6};
  double tree_chunk_share = 1.0 / 13;

  double network_ll_share = 0.3;       // LL over NICs against LL inside a node [nccl llMaxBws: 22.5 of 87.7]
  double tree_channels = 8;            // channels that tree_channel was measured with [nccl]
  double tree_share = 0.92;            // of half the ring bandwidth: up and down share each link [nccl]
  double tree_ll128_share = 0.9375;    // [nccl: 120 of 128 bytes]
  double tree_two_nodes = 0.90;        // of the NICs, when two nodes exchange the buffer once each way [fit]
  double tree_many_nodes = 0.75;       // of half the NICs, when inner nodes of the double tree send it twice [fit]
  double nvls_fill = 2.5;              // of an eighth of the buffer [fit]
  double nvls_tree_inside = 0.92;      // NVLS as the two ends of a tree against NVLS alone [fit]
  double nvls_tree_two_nodes = 0.97;   // of the NICs [fit]
  double nvls_tree_many_nodes = 0.72;  // of half the NICs [fit]
  double nvls_many_trays = 0.87;       // NVLS over more than 8 GPUs (NVL72) [fit]
  double pat_share = 0.75;             // of the NICs [nccl]
  double pat_base = 8e-6, pat_rank = 2.8e-6, pat_hop_share = 1 / 3.5;  // [nccl]

  double peer_step = 8.5e-6;       // all-to-all inside a node: seconds for each peer [fit]
  double network_peer = 0.5e-6;    // all-to-all over NICs: seconds for each remote peer [a work request and its completion]
  double all_to_all_share = 0.98;  // of the ring bandwidth [fit]
  double all_to_all_fill = 0.5;    // of one peer's part [fit]
  double pair_share = 0.9;         // send and receive: of a pair's links, of a NIC [fit]

  // A ring keeps few connections busy on each NIC, and one connection follows one path through the fabric: ports faster than
  // 200 Gb/s are not filled. The share of what a port has above 25 GB/s. [fit]
  double ring_port_knee = 25e9;
  double ring_above_infiniband = 0.80;
  double ring_above_roce = 0.70;

  LinkClass volta = {{2.2e-6, 4.8e-6, 7.8e-6}, 6e9, 0.35, {26.5e9, 18.5e9, 10.0e9}, 0, 0, 0};
  LinkClass ampere = {{2.2e-6, 4.8e-6, 7.8e-6}, 14e9, 0.35, {24.0e9, 23.6e9, 17.8e9}, 0, 0, 0};
  LinkClass hopper = {{1.8e-6, 4.8e-6, 7.6e-6}, 40e9, 0.15, {38.7e9, 41.4e9, 36.0e9}, 0.82, 43e-6, 8e6};
  LinkClass blackwell = {{1.8e-6, 4.8e-6, 7.6e-6}, 80e9, 0.60, {70.0e9, 42.8e9, 24.0e9}, 0.72, 58e-6, 16e6};
  LinkClass xgmi = {{2.2e-6, 4.8e-6, 7.8e-6}, 14e9, 0.15, {0, 0, 0}, 0, 0, 0};
  LinkClass pcie = {{2.8e-6, 6.0e-6, 10e-6}, 7e9, 0.35, {0, 0, 0}, 0, 0, 0};

  const LinkClass& of(const Domain& domain) const;
};

inline constexpr int kTrayGpus = 8;  // up to which NVLS keeps its full rate

// Domain's own numbers, applied when it is built.
//
// A kernel that reads its neighbour's data from host memory (no peer-to-peer) waits for every PCIe read. [fit, two systems]
inline constexpr double kStagedShare = 0.18;
// Sockets: the CPU copies every byte. Nearly all of a slow line is reached, less of what lies above 25 Gb/s. [fit, one system]
inline constexpr double kTcpKnee = 3.125e9, kTcpBelow = 0.92, kTcpAbove = 0.557;
// Omni-Path moves GPU data through host memory under verbs (no GPUDirect). [one system, rows with warm-up: rough]
inline constexpr double kOmnipathShare = 0.25;

// Versions of NCCL, major · 100 + minor, from which on an algorithm is used by default. [nccl]
inline constexpr int kNewestVersion = 230, kNvlsVersion = 217, kNvlsTreeVersion = 218, kPatVersion = 223;

const Constants& builtin_constants();

// As time_of (collective.hpp), with other constants: for fits, and for what was measured on a machine.
Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options, const Constants& constants);

}  // namespace trunkline::collectives
