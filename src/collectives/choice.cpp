#include <algorithm>
#include <charconv>
#include <string_view>

#include "collectives/models.hpp"

namespace trunkline::collectives {

namespace {

// "2.21.5" → 221; empty or unreadable = the newest modelled.
int version_of(std::string_view text) {
  int major = 0, minor = 0;
  const char* end = text.data() + text.size();
  const auto dot = std::from_chars(text.data(), end, major);
  if (dot.ec != std::errc{} || dot.ptr == end || *dot.ptr != '.') return kNewestVersion;
  if (std::from_chars(dot.ptr + 1, end, minor).ec != std::errc{}) return kNewestVersion;
  return major * 100 + minor;
}

// LL128 relies on 128-byte stores arriving whole: NCCL trusts NVLink and InfiniBand or RoCE with it, nothing else.
bool ll128_works(const Domain& domain) {
  if (domain.ranks_per_node > 1 && !domain.links) return false;
  return domain.nodes == 1 || domain.fabric == catalog::NicKind::infiniband || domain.fabric == catalog::NicKind::roce;
}

// Thread blocks that NCCL puts on each GPU once a message is large.
int channels_at_most(const Domain& domain, Algorithm algorithm) {
  if (!domain.links) return domain.nodes > 1 ? 2 : 4;
  if (algorithm == Algorithm::nvls || algorithm == Algorithm::nvls_tree) return 16;
  if (algorithm == Algorithm::direct) return domain.nodes > 1 ? 16 : 24;
  if (domain.nodes > 1) return std::clamp(2 * domain.nics, 4, 16);
  switch (domain.generation) {
    case catalog::Generation::volta: return 12;
    case catalog::Generation::blackwell: return 32;
    default: return 24;
  }
}

// NCCL adds a channel only when each gets a useful amount: 32 KiB of the buffer with LL and LL128, 64 KiB with Simple.
int channels_of(const Domain& domain, const Cost& cost, double size) {
  const double useful = cost.protocol == Protocol::simple ? 65536 : 32768;
  return std::clamp(int(std::min(size / useful, 64.0)), 1, channels_at_most(domain, cost.algorithm));
}

class Choice {
 public:
  void offer(double time, Algorithm algorithm, Protocol protocol) {
    if (time >= least_) return;
    least_ = time;
    algorithm_ = algorithm;
    protocol_ = protocol;
  }
  bool found() const { return least_ < kNever; }
  Cost cost() const { return {seconds(least_), algorithm_, protocol_, 0}; }

 private:
  double least_ = kNever;
  Algorithm algorithm_ = Algorithm::ring;
  Protocol protocol_ = Protocol::simple;
};

bool wanted(const Options& options, Algorithm algorithm) { return !options.algorithm || *options.algorithm == algorithm; }

void offer_rings_and_trees(const Constants& k, const Domain& domain, Collective collective, double size, const Options& options,
                           Choice& choice) {
  const bool ring = wanted(options, Algorithm::ring), tree = wanted(options, Algorithm::tree);
  for (const Protocol protocol : {Protocol::ll, Protocol::ll128, Protocol::simple}) {
    if (options.protocol && *options.protocol != protocol) continue;
    if (protocol == Protocol::ll128 && !options.protocol && !ll128_works(domain)) continue;
    if (ring) choice.offer(ring_time(k, domain, collective, size, protocol), Algorithm::ring, protocol);
    if (tree) choice.offer(tree_time(k, domain, collective, size, protocol), Algorithm::tree, protocol);
  }
}

void offer_others(const Constants& k, const Domain& domain, Collective collective, double size, const Options& options, Choice& choice) {
  if (options.protocol && *options.protocol != Protocol::simple) return;
  const int version = version_of(options.nccl_version);
  if (options.nvls && version >= kNvlsVersion && wanted(options, Algorithm::nvls)) {
    choice.offer(nvls_time(k, domain, collective, size), Algorithm::nvls, Protocol::simple);
  }
  if (options.nvls && version >= kNvlsTreeVersion && wanted(options, Algorithm::nvls_tree)) {
    choice.offer(nvls_tree_time(k, domain, collective, size), Algorithm::nvls_tree, Protocol::simple);
  }
  if (version >= kPatVersion && wanted(options, Algorithm::pat)) {
    choice.offer(pat_time(k, domain, collective, size), Algorithm::pat, Protocol::simple);
  }
  if (options.algorithm == Algorithm::collnet)
    choice.offer(collnet_time(k, domain, collective, size), Algorithm::collnet, Protocol::simple);
}

}  // namespace

Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options) {
  return time_of(domain, collective, size, options, builtin_constants());
}

Cost time_of(const Domain& domain, Collective collective, Bytes size, const Options& options, const Constants& k) {
  const double bytes = double(size.count());
  if (domain.ranks() < 2 || bytes <= 0) return {};
  Choice choice;
  if (collective == Collective::all_to_all) {
    choice.offer(all_to_all_time(k, domain, bytes), Algorithm::direct, Protocol::simple);
  } else if (collective == Collective::send_recv) {
    choice.offer(send_recv_time(k, domain, bytes), Algorithm::direct, Protocol::simple);
  } else {
    offer_rings_and_trees(k, domain, collective, bytes, options, choice);
    offer_others(k, domain, collective, bytes, options, choice);
    if (!choice.found()) {
      Options any = options;
      any.algorithm.reset();
      any.protocol.reset();
      offer_rings_and_trees(k, domain, collective, bytes, any, choice);
    }
  }
  Cost cost = choice.cost();
  cost.channels = channels_of(domain, cost, bytes);
  return cost;
}

}  // namespace trunkline::collectives
