#include "network/routing.hpp"

#include <algorithm>
#include <numeric>

namespace trunkline::network {
namespace {

std::uint64_t mixed(std::uint64_t h) {
  h = (h ^ (h >> 30)) * 0xBF58476D1CE4E5B9ULL;
  h = (h ^ (h >> 27)) * 0x94D049BB133111EBULL;
  return h ^ (h >> 31);
}

int scaled_to(std::uint64_t hash, int choices) {
  __extension__ using Wide = unsigned __int128;
  return int((static_cast<Wide>(hash) * std::uint64_t(choices)) >> 64);
}

// One of `choices` that are `open`; -1 where none is.
template <class Open, class Draw>
int pick(int choices, bool all_open, Open open, Draw draw) {
  if (all_open) return draw(choices);
  int count = 0;
  for (int i = 0; i < choices; ++i) count += open(i) ? 1 : 0;
  if (count == 0) return -1;
  int rank = draw(count);
  for (int i = 0;; ++i) {
    if (open(i) && rank-- == 0) return i;
  }
}

// The hash functions of the tiers differ, and each sees a place of its own.
enum Place : std::uint64_t { kLeafUp = 1, kSpineUp, kCoreDown, kSpineDown };

}  // namespace

std::uint64_t Router::hash(const QueuePair& pair, std::uint64_t draw, std::uint64_t place) const {
  std::uint64_t h = mixed(options_.seed + 0x9E3779B97F4A7C15ULL);
  h = mixed(h ^ (std::uint64_t(std::uint32_t(pair.source)) << 32 | std::uint32_t(pair.destination)));
  h = mixed(h + std::uint64_t(std::uint32_t(pair.index)) + (draw << 32));
  return options_.same_hash ? h : mixed(h + place * 0xD1B54A32D192ED03ULL);
}

int Router::sender(const QueuePair& pair) const {
  if (!options_.rail_local) return pair.source;
  const int rails = clos_.spec().rails;
  return pair.source / rails * rails + pair.destination % rails;
}

bool Router::route(const QueuePair& pair, std::vector<Hop>& hops) const {
  using topology::Routing;
  hops.clear();
  const QueuePair real{sender(pair), pair.destination, pair.index};
  if (real.source == real.destination) return true;
  const LinkId first = clos_.host_link(real.source, Direction::up), last = clos_.host_link(real.destination, Direction::down);
  if (!clos_.in_service(first) || !clos_.in_service(last)) return false;
  const int from = clos_.leaf_of(real.source), to = clos_.leaf_of(real.destination);
  if (from != to && clos_.spec().tiers == 1) return false;
  hops.push_back({first, 1});
  if (from != to) {
    const auto policy = options_.policy;
    if (policy == Routing::spray || policy == Routing::adaptive || policy == Routing::ideal) {
      all_paths(from, to, policy != Routing::spray, hops);
    } else {
      const int draws = policy == Routing::flowlet ? std::max(1, options_.flowlets) : 1;
      for (int draw = 0; draw < draws; ++draw) {
        if (!one_path(real, std::uint64_t(draw), 1.0 / draws, hops)) return false;
      }
    }
    if (hops.size() == 1) return false;
  }
  hops.push_back({last, 1});
  return true;
}

bool Router::one_path(const QueuePair& pair, std::uint64_t drawn, double share, std::vector<Hop>& hops) const {
  const ClosSpec& spec = clos_.spec();
  const bool pinned = options_.policy == topology::Routing::pinned;
  const int from = clos_.leaf_of(pair.source), to = clos_.leaf_of(pair.destination);
  const int pod = clos_.pod_of(from), far_pod = clos_.pod_of(to);
  int left = pair.destination / spec.rails;  // pinned: the digits of the destination's place
  const auto draw = [&](Place place) {
    return [&, place](int choices) {
      if (!pinned) return scaled_to(hash(pair, drawn, place), choices);
      const int digit = left % choices;
      left /= choices;
      return digit;
    };
  };
  const auto link = [&](LinkId id) { hops.push_back({id, share}); };
  const auto parallel = [&](int wires, Place place, auto id_of) {
    const int k = pick(wires, clos_.whole_, [&](int i) { return clos_.in_service(id_of(i)); }, draw(place));
    link(id_of(k));
  };

  const int ways = spec.spines * spec.leaf_links;
  const auto up = [&](int i) { return clos_.leaf_link(from, i / spec.leaf_links, i % spec.leaf_links, Direction::up); };
  const auto usable = [&](int i) { return clos_.in_service(up(i)) && clos_.spine_reaches(pod, i / spec.leaf_links, to); };
  const int way = pick(ways, clos_.whole_, usable, draw(kLeafUp));
  if (way < 0) return false;
  link(up(way));
  const int spine = way / spec.leaf_links;
  if (pod != far_pod) {
    const auto core_up = [&](int i) { return clos_.spine_link(pod, spine, i / spec.spine_links, i % spec.spine_links, Direction::up); };
    const int higher = pick(
        spec.cores * spec.spine_links, clos_.whole_,
        [&](int i) { return clos_.in_service(core_up(i)) && clos_.core_reaches(spine, i / spec.spine_links, to); }, draw(kSpineUp));
    link(core_up(higher));
    const int core = higher / spec.spine_links;
    parallel(spec.spine_links, kCoreDown, [&](int k) { return clos_.spine_link(far_pod, spine, core, k, Direction::down); });
  }
  parallel(spec.leaf_links, kSpineDown, [&](int k) { return clos_.leaf_link(to, spine, k, Direction::down); });
  return true;
}

namespace {

// Shares of parallel wires: equal among those in service, or by capacity.
struct Wires {
  std::vector<LinkId> ids;
  std::vector<double> parts;  // of each: 1, or its capacity
  double whole = 0;

  void add(LinkId id, double capacity, bool by_capacity) {
    if (!(capacity > 0)) return;
    ids.push_back(id);
    parts.push_back(by_capacity ? capacity : 1);
    whole += parts.back();
  }
  void carry(double share, std::vector<Hop>& hops) const {
    for (std::size_t i = 0; i < ids.size(); ++i) hops.push_back({ids[i], share * parts[i] / whole});
  }
};

// What a way over several tiers counts against its rivals: its narrowest tier, or the number of its paths.
double together(bool by_capacity, double a, double b) { return by_capacity ? std::min(a, b) : a * b; }

struct WayOverCore {
  Wires up, down;
  double weight = 0;
};

struct WayOverSpine {
  Wires up, down;
  std::vector<WayOverCore> cores;  // none inside a pod
  double over_cores = 0, weight = 0;

  void carry(double share, std::vector<Hop>& hops) const {
    up.carry(share, hops);
    for (const auto& core : cores) {
      if (!(core.weight > 0)) continue;
      core.up.carry(share * core.weight / over_cores, hops);
      core.down.carry(share * core.weight / over_cores, hops);
    }
    down.carry(share, hops);
  }
};

template <class IdOf>
Wires wires_of(const Clos& clos, int count, bool by_capacity, IdOf id_of) {
  Wires out;
  for (int k = 0; k < count; ++k) out.add(id_of(k), clos.capacities()[id_of(k)], by_capacity);
  return out;
}

WayOverSpine way_over(const Clos& clos, int spine, int from, int to, bool by_capacity) {
  const ClosSpec& spec = clos.spec();
  const int pod = clos.pod_of(from), far_pod = clos.pod_of(to);
  WayOverSpine way;
  way.up = wires_of(clos, spec.leaf_links, by_capacity, [&](int k) { return clos.leaf_link(from, spine, k, Direction::up); });
  way.down = wires_of(clos, spec.leaf_links, by_capacity, [&](int k) { return clos.leaf_link(to, spine, k, Direction::down); });
  way.weight = together(by_capacity, way.up.whole, way.down.whole);
  if (pod == far_pod) return way;
  for (int c = 0; c < spec.cores; ++c) {
    WayOverCore core;
    core.up = wires_of(clos, spec.spine_links, by_capacity, [&](int k) { return clos.spine_link(pod, spine, c, k, Direction::up); });
    core.down =
        wires_of(clos, spec.spine_links, by_capacity, [&](int k) { return clos.spine_link(far_pod, spine, c, k, Direction::down); });
    core.weight = together(by_capacity, core.up.whole, core.down.whole);
    way.over_cores += core.weight;
    way.cores.push_back(std::move(core));
  }
  way.weight = together(by_capacity, way.weight, way.over_cores);
  return way;
}

}  // namespace

void Router::all_paths(int from, int to, bool by_capacity, std::vector<Hop>& hops) const {
  const int pod = clos_.pod_of(from), far_pod = clos_.pod_of(to);
  const double load = options_.policy == topology::Routing::ideal ? 1 : 1 / options_.efficiency;
  if (clos_.grouped()) {
    hops.push_back({clos_.leaf_group(from, Direction::up), load});
    if (pod != far_pod) {
      hops.push_back({clos_.pod_group(pod, Direction::up), load});
      hops.push_back({clos_.pod_group(far_pod, Direction::down), load});
    }
    hops.push_back({clos_.leaf_group(to, Direction::down), load});
    return;
  }
  std::vector<WayOverSpine> ways;
  double whole = 0;
  for (int s = 0; s < clos_.spec().spines; ++s) {
    ways.push_back(way_over(clos_, s, from, to, by_capacity));
    whole += ways.back().weight;
  }
  for (const auto& way : ways) {
    if (way.weight > 0) way.carry(load * way.weight / whole, hops);
  }
}

}  // namespace trunkline::network
