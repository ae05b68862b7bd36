#include "network/contention.hpp"

#include <algorithm>

namespace trunkline::network {

int queue_pair_index(int kind, std::uint32_t chain, int queue_pairs, int q) {
  constexpr std::uint32_t kBits = 27;
  return int(std::uint32_t(kind & 15) << kBits | ((chain * std::uint32_t(queue_pairs) + std::uint32_t(q)) & ((1U << kBits) - 1)));
}

int Contention::add(TrafficKind kind) {
  kinds_.push_back({std::move(kind), 0, 0, 0, 0, 0, 0, {}});
  measure_alone(kinds_.size() - 1);
  return int(kinds_.size()) - 1;
}

bool Contention::find_path(const Strand& strand, std::size_t kind, bool hosts_only, Path& path) const {
  auto& [hops, way] = path;
  hops.clear();
  const int pairs = hosts_only ? 1 : std::max(1, kinds_[kind].kind.queue_pairs);
  const double share = 1.0 / pairs;
  for (const HostPair& flow : strand.flows) {
    for (int q = 0; q < pairs; ++q) {
      if (!fabric_.route({flow.from, flow.to, queue_pair_index(int(kind), strand.chain, pairs, q)}, routing_, way)) return false;
      if (way.empty()) break;
      if (hosts_only) {
        hops.push_back({way.front().link, 1});
        hops.push_back({way.back().link, 1});
        break;
      }
      for (const Hop& hop : way) hops.push_back({hop.link, hop.share * share});
    }
  }
  return true;
}

template <class LevelOf>
Contention::Sums Contention::sums_of(const Kind& kind, LevelOf level_of) const {
  Sums sums;
  std::vector<double> chains;
  std::size_t i = 0;
  kind.kind.each([&](const Strand& strand) {
    const double level = level_of(i++);
    if (!(level < kUnlimited) || level <= 0) return;  // moves inside a host, or not at all
    if (strand.chain >= chains.size()) chains.resize(strand.chain + 1, 0);
    chains[strand.chain] += strand.work / (strand.weight * level);
    sums.rate += strand.weight * level;
  });
  for (const double time : chains) sums.time = std::max(sums.time, time);
  return sums;
}

void Contention::measure_alone(std::size_t number) {
  Kind& kind = kinds_[number];
  MaxMin sharing(fabric_.capacities());
  std::vector<BundleId> bundles;
  Path path;
  kind.kind.each([&](const Strand& strand) {
    kind.flows += strand.flows.size();
    const bool served = find_path(strand, number, true, path);
    if (!served) ++kind.unserved;
    bundles.push_back(served && !path.hops.empty() ? sharing.join(path.hops, strand.weight) : MaxMin::kNone);
  });
  sharing.solve();
  kind.strands = bundles.size();
  kind.level_alone.reserve(bundles.size());
  for (const BundleId bundle : bundles) kind.level_alone.push_back(bundle == MaxMin::kNone ? 0 : float(sharing.level(bundle)));
  const Sums sums = sums_of(kind, [&](std::size_t i) { return bundles[i] == MaxMin::kNone ? kUnlimited : sharing.level(bundles[i]); });
  kind.time_alone = sums.time;
  kind.rate_alone = sums.rate;
}

const std::vector<KindShare>& Contention::shares(std::uint32_t active) {
  if (const auto known = solved_.find(active); known != solved_.end()) return known->second;
  ++solves_;
  MaxMin sharing(fabric_.capacities());
  std::vector<std::vector<BundleId>> bundles(kinds_.size());
  Path path;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!(active >> k & 1)) continue;
    bundles[k].reserve(kinds_[k].strands);
    kinds_[k].kind.each([&](const Strand& strand) {
      const bool served = find_path(strand, k, false, path);
      bundles[k].push_back(served && !path.hops.empty() ? sharing.join(path.hops, strand.weight) : MaxMin::kNone);
    });
  }
  sharing.solve();
  std::vector<KindShare> out(kinds_.size());
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!(active >> k & 1)) continue;
    const auto& of_kind = bundles[k];
    const Sums sums =
        sums_of(kinds_[k], [&](std::size_t i) { return of_kind[i] == MaxMin::kNone ? kUnlimited : sharing.level(of_kind[i]); });
    if (sums.time > 0) out[k].slowest = std::min(1.0, kinds_[k].time_alone / sums.time);
    if (sums.rate > 0) out[k].mean = std::min(1.0, sums.rate / kinds_[k].rate_alone);
  }
  return solved_.emplace(active, std::move(out)).first->second;
}

std::vector<LinkUse> Contention::hottest(std::uint32_t active, int count) const {
  std::vector<double> asked(fabric_.capacities().size(), 0);
  std::vector<bool> of_host(asked.size(), false);
  Path path;
  for (std::size_t k = 0; k < kinds_.size(); ++k) {
    if (!(active >> k & 1)) continue;
    std::size_t i = 0;
    kinds_[k].kind.each([&](const Strand& strand) {
      const double rate = strand.weight * double(kinds_[k].level_alone[i++]);
      if (!(rate > 0 && rate < kUnlimited) || !find_path(strand, k, false, path)) return;
      for (const Hop& hop : path.hops) asked[hop.link] += rate * hop.share;
      if (find_path(strand, k, true, path)) {
        for (const Hop& hop : path.hops) of_host[hop.link] = true;
      }
    });
  }
  fabric_.spread_groups(asked);
  std::vector<LinkUse> uses;
  for (LinkId link = 0; link < fabric_.wires(); ++link) {
    if (!of_host[link] && asked[link] > 0) uses.push_back({link, "", asked[link] / fabric_.capacities()[link]});
  }
  const auto hotter = [](const LinkUse& a, const LinkUse& b) {
    return a.utilisation > b.utilisation || (a.utilisation == b.utilisation && a.link < b.link);
  };
  const auto shown = std::min(uses.size(), std::size_t(std::max(0, count)));
  std::partial_sort(uses.begin(), uses.begin() + std::ptrdiff_t(shown), uses.end(), hotter);
  uses.resize(shown);
  for (auto& use : uses) use.name = fabric_.name(use.link);
  return uses;
}

}  // namespace trunkline::network
