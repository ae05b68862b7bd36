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
  if (!clos_.joined(from, to)) return false;
  hops.push_back({first, 1});
  if (from != to) {
    const auto policy = options_.policy;
    if (policy == Routing::spray || policy == Routing::adaptive || policy == Routing::ideal) {
      if (!all_paths(from, to, hops)) return false;
    } else {
      const int draws = policy == Routing::flowlet ? std::max(1, options_.flowlets) : 1;
      for (int draw = 0; draw < draws; ++draw) {
        if (!one_path(real, std::uint64_t(draw), 1.0 / draws, hops)) return false;
      }
    }
  }
  hops.push_back({last, 1});
  return true;
}

bool Router::one_path(const QueuePair& pair, std::uint64_t drawn, double share, std::vector<Hop>& hops) const {
  const ClosSpec& spec = clos_.spec();
  const bool pinned = options_.policy == topology::Routing::pinned;
  const int from = clos_.leaf_of(pair.source), to = clos_.leaf_of(pair.destination);
  const int pod = clos_.pod_of(from), far_pod = clos_.pod_of(to);
  const bool known = options_.remote_failures_known;
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
  // One of the wires down. Pinned: that of the way up, so that ways which part on the way up do not meet on the way down.
  const auto down = [&](int wires, Place place, int as_up, auto id_of) {
    const auto open = [&](int i) { return clos_.in_service(id_of(i)); };
    const int k = pinned ? pick(wires, clos_.whole_, open, [&](int choices) { return as_up % choices; })
                         : pick(wires, clos_.whole_, open, draw(place));
    if (k >= 0) link(id_of(k));
    return k >= 0;
  };

  const int ways = spec.spines * spec.leaf_links;
  const auto up = [&](int i) { return clos_.leaf_link(from, i / spec.leaf_links, i % spec.leaf_links, Direction::up); };
  const auto usable = [&](int i) { return clos_.in_service(up(i)) && (!known || clos_.spine_reaches(pod, i / spec.leaf_links, to)); };
  const int way = pick(ways, clos_.whole_, usable, draw(kLeafUp));
  if (way < 0) return false;
  link(up(way));
  const int spine = way / spec.leaf_links;
  if (pod != far_pod) {
    const auto core_up = [&](int i) { return clos_.spine_link(pod, spine, i / spec.spine_links, i % spec.spine_links, Direction::up); };
    const auto leads = [&](int i) {
      return clos_.in_service(core_up(i)) && (!known || clos_.core_reaches(spine, i / spec.spine_links, to));
    };
    const int higher = pick(spec.cores * spec.spine_links, clos_.whole_, leads, draw(kSpineUp));
    if (higher < 0) return false;
    link(core_up(higher));
    const int core = higher / spec.spine_links;
    if (!down(spec.spine_links, kCoreDown, higher % spec.spine_links,
              [&](int k) { return clos_.spine_link(far_pod, spine, core, k, Direction::down); }))
      return false;
  }
  return down(spec.leaf_links, kSpineDown, way % spec.leaf_links, [&](int k) { return clos_.leaf_link(to, spine, k, Direction::down); });
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

struct WayOverCore {
  Wires up, down;
  double weight = 0;
};

struct WayOverSpine {
  Wires up, down;
  std::vector<WayOverCore> cores;  // none inside a pod
  double over_cores = 0, weight = 0;
};

// How traffic from one leaf to another is split over all ways. A switch that knows only its own links gives a way the weight of those, dead
// end or not; otherwise a way counts as its narrowest tier does, or as the number of its paths.
class Split {
 public:
  Split(const Clos& clos, const RoutingOptions& options)
      : clos_(clos),
        busy_(options.policy == topology::Routing::adaptive ? options.busy.get() : nullptr),
        by_capacity_(options.policy != topology::Routing::spray),
        known_(options.remote_failures_known) {}

  // Appends the hops; the part that ends in dead ends is sent again over all ways. False where nothing arrives.
  bool carry(int from, int to, double load, std::vector<Hop>& hops) const {
    std::vector<WayOverSpine> ways;
    double whole = 0, arrives = 0;
    for (int s = 0; s < clos_.spec().spines; ++s) {
      ways.push_back(way_over(s, from, to));
      whole += ways.back().weight;
    }
    for (const auto& way : ways) {
      if (way.weight > 0) arrives += way.weight / whole * arriving(way);
    }
    if (!(arrives > 0)) return false;
    for (const auto& way : ways) {
      if (way.weight > 0) carry(way, load / arrives * way.weight / whole, hops);
    }
    return true;
  }

 private:
  double room(LinkId id) const {
    constexpr double kLeast = 1e-3;  // of a full link: its queue still drains
    const double capacity = clos_.capacities()[id];
    return busy_ ? std::max(capacity - (*busy_)[id], kLeast * capacity) : capacity;
  }

  template <class IdOf>
  Wires wires(int count, IdOf id_of) const {
    Wires out;
    for (int k = 0; k < count; ++k) out.add(id_of(k), room(id_of(k)), by_capacity_);
    return out;
  }

  double together(double near, double far) const { return !known_ ? near : by_capacity_ ? std::min(near, far) : near * far; }

  WayOverSpine way_over(int spine, int from, int to) const {
    const ClosSpec& spec = clos_.spec();
    const int pod = clos_.pod_of(from), far_pod = clos_.pod_of(to);
    WayOverSpine way;
    way.up = wires(spec.leaf_links, [&](int k) { return clos_.leaf_link(from, spine, k, Direction::up); });
    way.down = wires(spec.leaf_links, [&](int k) { return clos_.leaf_link(to, spine, k, Direction::down); });
    way.weight = together(way.up.whole, way.down.whole);
    if (pod == far_pod) return way;
    for (int c = 0; c < spec.cores; ++c) {
      WayOverCore core;
      core.up = wires(spec.spine_links, [&](int k) { return clos_.spine_link(pod, spine, c, k, Direction::up); });
      core.down = wires(spec.spine_links, [&](int k) { return clos_.spine_link(far_pod, spine, c, k, Direction::down); });
      core.weight = together(core.up.whole, core.down.whole);
      way.over_cores += core.weight;
      way.cores.push_back(std::move(core));
    }
    way.weight = together(way.weight, way.over_cores);
    return way;
  }

  // The part of a way's traffic that reaches the far leaf.
  static double arriving(const WayOverSpine& way) {
    if (!(way.down.whole > 0)) return 0;
    if (way.cores.empty()) return 1;
    double part = 0;
    for (const auto& core : way.cores) {
      if (core.weight > 0 && core.down.whole > 0) part += core.weight / way.over_cores;
    }
    return part;
  }

  static void carry(const WayOverSpine& way, double share, std::vector<Hop>& hops) {
    way.up.carry(share, hops);
    for (const auto& core : way.cores) {
      if (!(core.weight > 0)) continue;
      core.up.carry(share * core.weight / way.over_cores, hops);
      if (core.down.whole > 0) core.down.carry(share * core.weight / way.over_cores, hops);
    }
    if (way.down.whole > 0) way.down.carry(share * arriving(way), hops);
  }

  const Clos& clos_;
  const std::vector<double>* busy_;
  bool by_capacity_, known_;
};

}  // namespace

bool Router::all_paths(int from, int to, std::vector<Hop>& hops) const {
  const int pod = clos_.pod_of(from), far_pod = clos_.pod_of(to);
  const double load = options_.policy == topology::Routing::ideal ? 1 : 1 / options_.efficiency;
  if (!clos_.grouped() || options_.busy || options_.wires) return Split(clos_, options_).carry(from, to, load, hops);
  hops.push_back({clos_.leaf_group(from, Direction::up), load});
  if (pod != far_pod) {
    hops.push_back({clos_.pod_group(pod, Direction::up), load});
    hops.push_back({clos_.pod_group(far_pod, Direction::down), load});
  }
  hops.push_back({clos_.leaf_group(to, Direction::down), load});
  return true;
}

int flowlets_of(const Bursts& bursts) { return bursts.bursts > 1 && bursts.idle >= bursts.threshold ? bursts.bursts : 1; }

}  // namespace trunkline::network
