#include <algorithm>
#include <cmath>

#include "collectives/models.hpp"

namespace trunkline::collectives {

namespace {

// Buffer bytes per second that a double binary tree of nodes moves through the group's NICs: with two nodes each sends the
// buffer once; with more, every node is an inner node of one of the two trees and sends (and receives) it twice.
double through_network(const Domain& domain, double two_nodes, double many_nodes) {
  if (domain.nodes == 1) return kNever;
  return domain.nodes == 2 ? domain.network.si() * two_nodes : domain.network.si() / 2 * many_nodes;
}

// Bytes on their way before the first sum is back: a channel works on one chunk for each rank in turn.
double nvls_fill(const Constants& k, const LinkClass& link, int ranks, double size) {
  return k.nvls_fill * std::min(size / kTrayGpus, link.nvls_fill_limit * ranks / kTrayGpus);
}

double levels_across(const Domain& domain) { return domain.nodes > 1 ? std::log2(double(domain.nodes)) : 0; }

}  // namespace

// Tree (all-reduce only): a chain of the ranks inside each node, a double binary tree of the nodes; up with the sum, down
// with the result. base + 2·(ranks a node − 1)·hop + 2·log2(nodes)·network hop + size / rate + a chunk's time a level.
double tree_time(const Constants& k, const Domain& domain, Collective collective, double size, Protocol protocol) {
  if (collective != Collective::all_reduce) return kNever;
  const LinkClass& link = k.of(domain);
  const double inside_levels = 2.0 * (domain.ranks_per_node - 1), across_levels = 2 * levels_across(domain);
  const double latency = k.base[protocol] + inside_levels * link.hop[protocol] + across_levels * network_hop(k, domain, protocol);
  const double chain = inside_bandwidth(domain) / 2;  // every link carries the buffer up and the result down
  const double network = through_network(domain, k.tree_two_nodes, k.tree_many_nodes);
  if (protocol == Protocol::ll) {
    const double flags = link.ll_rate * (domain.nodes > 1 ? k.network_ll_share : 1);
    return latency + size / std::min({flags, k.payload.ll * chain, k.payload.ll * network});
  }
  const double channel = link.tree_channel[std::min(domain.nodes, 3) - 1];
  const double channels = channel > 0 && domain.ranks_per_node > 1 ? channel * k.tree_channels / 2 : kNever;
  const double share = protocol == Protocol::ll128 ? k.tree_ll128_share : 1;
  const double rate = std::min(share * std::min(k.tree_share * chain, channels), network);
  const double chunk = std::min(size * k.tree_chunk_share, k.tree_chunk[protocol]);
  return latency + (size + (inside_levels + across_levels) * chunk) / rate;
}

// NVLS (all-reduce in one NVLink domain): the switch adds up what it reads from all GPUs and writes the sum to all. Every
// GPU sends its buffer once and its own part of the result once more: (1 + 1/n)·size, at the switch's rate.
double nvls_time(const Constants& k, const Domain& domain, Collective collective, double size) {
  const LinkClass& link = k.of(domain);
  const int n = domain.ranks_per_node;
  if (collective != Collective::all_reduce || domain.nodes > 1 || n < 2 || !domain.switched || link.nvls_share <= 0) return kNever;
  const double rate = domain.ring.si() * link.nvls_share * (n > kTrayGpus ? k.nvls_many_trays : 1);
  return link.nvls_base + (size * (1 + 1.0 / n) + nvls_fill(k, link, n, size)) / rate;
}

// NVLS inside, a double binary tree of the nodes across; each GPU's part goes through its own NIC.
double nvls_tree_time(const Constants& k, const Domain& domain, Collective collective, double size) {
  const LinkClass& link = k.of(domain);
  const int n = domain.ranks_per_node;
  if (collective != Collective::all_reduce || domain.nodes < 2 || n < 2 || !domain.switched || link.nvls_share <= 0) return kNever;
  const double multicast = domain.ring.si() * link.nvls_share * (n > kTrayGpus ? k.nvls_many_trays : 1);
  const double inside = multicast / (1 + 1.0 / n) * k.nvls_tree_inside;
  const double rate = std::min(inside, through_network(domain, k.nvls_tree_two_nodes, k.nvls_tree_many_nodes));
  const double levels = 2 * levels_across(domain);
  const double chunk = std::min(size * k.tree_chunk_share, k.tree_chunk.simple);
  return link.nvls_base + levels * network_hop(k, domain, Protocol::simple) + (size + levels * chunk) / rate +
         nvls_fill(k, link, n, size) / multicast;
}

// PAT (all-gather and reduce-scatter with one rank a node): log2(n) rounds of growing blocks.
double pat_time(const Constants& k, const Domain& domain, Collective collective, double size) {
  if (domain.ranks_per_node > 1 || (collective != Collective::all_gather && collective != Collective::reduce_scatter)) return kNever;
  const int n = domain.ranks();
  const double latency = k.pat_base + levels_across(domain) * network_hop(k, domain, Protocol::simple) * k.pat_hop_share + n * k.pat_rank;
  return latency + size * (n - 1) / n / (k.pat_share * domain.network.si());
}

// In-network reduction (SHARP; never chosen by itself): each node sends the buffer to its switch once and gets the sum once,
// while a chain inside the node gathers and spreads it.
double collnet_time(const Constants& k, const Domain& domain, Collective collective, double size) {
  if (collective != Collective::all_reduce || domain.nodes < 2) return kNever;
  const LinkClass& link = k.of(domain);
  const double latency = k.base.simple + 2.0 * (domain.ranks_per_node - 1) * link.hop.simple + network_hop(k, domain, Protocol::simple);
  return latency + size / std::min(k.tree_share * inside_bandwidth(domain) / 2, domain.network.si());
}

}  // namespace trunkline::collectives
