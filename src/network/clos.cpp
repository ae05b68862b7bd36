#include "network/clos.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace trunkline::network {
namespace {

constexpr std::int64_t kMostLinks = 100'000'000;
constexpr int kMostPorts = 4096;  // of one switch

tl::unexpected<Error> wrong(std::string message, std::string hint) { return bad_input({}, std::move(message), std::move(hint)); }

Result<void> check(const ClosSpec& spec) {
  if (spec.tiers < 1 || spec.tiers > 3) return wrong(fmt::format("a Clos of {} tiers", spec.tiers), "use 1, 2 or 3 tiers");
  if (spec.hosts < 1 || spec.hosts_per_leaf < 1 || spec.rails < 1) {
    return wrong(fmt::format("a Clos of {} hosts, {} a leaf, {} rails", spec.hosts, spec.hosts_per_leaf, spec.rails),
                 "each must be at least 1");
  }
  if (spec.hosts > kMostLinks || spec.hosts_per_leaf > kMostLinks || spec.rails > kMostLinks) {
    return wrong(fmt::format("a Clos of {} hosts, {} a leaf, {} rails", spec.hosts, spec.hosts_per_leaf, spec.rails),
                 fmt::format("at most {} of each are simulated", kMostLinks));
  }
  if (!(spec.host_rate.si() > 0)) return wrong("a Clos whose hosts have no rate", "give the rate of one host link");
  if (spec.tiers == 1 && spec.hosts > std::int64_t(spec.hosts_per_leaf) * spec.rails) {
    return wrong(fmt::format("{} hosts on {} of {} ports", spec.hosts, spec.rails > 1 ? "a switch for each rail" : "one switch",
                             spec.hosts_per_leaf),
                 "use more tiers or a larger switch");
  }
  if (spec.tiers >= 2 && (spec.spines < 1 || spec.leaf_links < 1 || !(spec.leaf_rate.si() > 0))) {
    return wrong("a Clos whose leaves have no uplinks", "give spines, leaf_links and leaf_rate");
  }
  if (spec.rail_only && (spec.rails < 2 || spec.tiers == 3)) {
    return wrong(fmt::format("a rail-only Clos of {} rail{} and {} tiers", spec.rails, spec.rails == 1 ? "" : "s", spec.tiers),
                 "rail-only fabrics have 2 rails or more, of one or two tiers each");
  }
  if (spec.tiers == 3) {
    if (spec.leaves_per_pod < 1 || spec.cores < 1 || spec.spine_links < 1 || !(spec.spine_rate.si() > 0)) {
      return wrong("a three-tier Clos without pods or cores", "give leaves_per_pod, cores, spine_links and spine_rate");
    }
    if (spec.leaves_per_pod % spec.rails != 0) {
      return wrong(fmt::format("{} leaves in a pod of {} rails", spec.leaves_per_pod, spec.rails),
                   "the leaves of a pod are a multiple of the rails");
    }
  }
  return {};
}

int ceil_div(int a, int b) { return (a + b - 1) / b; }

int leaves_of(const ClosSpec& spec) { return ceil_div(ceil_div(spec.hosts, spec.rails), spec.hosts_per_leaf) * spec.rails; }

// The smallest divisor of `links` that is at least `least`; 0 where there is none.
int divisor_from(int links, int least) {
  for (int d = std::max(1, least); d <= links; ++d) {
    if (links % d == 0) return d;
  }
  return 0;
}

struct LeafPorts {
  int down, up;
};

LeafPorts leaf_ports(int ports, double oversubscription) {
  const int up = int(double(ports) / (1 + oversubscription) + 1e-9);
  return {int(double(up) * oversubscription + 1e-9), up};
}

}  // namespace

std::int64_t most_hosts(int tiers, int ports, double oversubscription) {
  const std::int64_t down = leaf_ports(ports, oversubscription).down;
  if (tiers == 1) return ports;
  return tiers == 2 ? ports * down : ports * (ports / 2) * down;
}

namespace {

Result<void> check(const ClosNeed& need) {
  if (need.tiers < 1 || need.tiers > 3) return wrong(fmt::format("a Clos of {} tiers", need.tiers), "use 1, 2 or 3 tiers");
  if (need.hosts < 1 || need.rails < 1)
    return wrong(fmt::format("{} hosts on {} rails", need.hosts, need.rails), "each must be at least 1");
  if (need.ports < 2 || need.ports > kMostPorts || !(need.oversubscription > 0)) {
    return wrong(fmt::format("switches of {} ports with oversubscription {}", need.ports, need.oversubscription),
                 fmt::format("2 to {} ports and an oversubscription above 0", kMostPorts));
  }
  const auto [down, up] = leaf_ports(need.ports, need.oversubscription);
  if (need.tiers > 1 && (down < 1 || up < 1)) {
    return wrong(fmt::format("{} ports cannot be split {} : 1", need.ports, need.oversubscription),
                 "use a larger switch or another oversubscription");
  }
  if (need.tiers == 3 && need.ports / 2 < need.rails) {
    return wrong(fmt::format("{} rails in pods of {} leaves", need.rails, need.ports / 2), "use larger switches");
  }
  const std::int64_t most = most_hosts(need.tiers, need.ports, need.oversubscription);
  if (need.hosts > most) {
    return wrong(fmt::format("{} hosts on {} tiers of {}-port switches, which carry {}", need.hosts, need.tiers, need.ports, most),
                 "use more tiers, larger switches or more oversubscription");
  }
  return {};
}

// Rails fill leaves and pods unevenly, so that less than most_hosts() may fit.
tl::unexpected<Error> rails_do_not_fit(const ClosNeed& need) {
  return wrong(fmt::format("{} hosts on {} rails of {} tiers of {}-port switches", need.hosts, need.rails, need.tiers, need.ports),
               "use more tiers, larger switches or more oversubscription");
}

}  // namespace

Result<ClosSpec> clos_for(const ClosNeed& need) {
  if (need.rail_only) {
    ClosNeed rail = need;  // rails are alike: one of them by itself
    rail.rail_only = false;
    rail.rails = 1;
    rail.hosts = ceil_div(need.hosts, std::max(1, need.rails));
    TRUNKLINE_ASSIGN(spec, clos_for(rail));
    spec.hosts = need.hosts;
    spec.rails = need.rails;
    spec.rail_only = true;
    TRUNKLINE_TRY(check(spec));
    return spec;
  }
  TRUNKLINE_TRY(check(need));
  ClosSpec spec;
  spec.tiers = need.tiers;
  spec.hosts = need.hosts;
  spec.rails = need.tiers == 1 ? 1 : need.rails;
  spec.host_rate = spec.leaf_rate = spec.spine_rate = need.rate;
  const auto [down, up] = leaf_ports(need.ports, need.oversubscription);
  spec.hosts_per_leaf = need.tiers == 1 ? need.ports : down;
  const int leaves = leaves_of(spec);
  if (need.tiers == 2) {
    if (leaves > need.ports) return rails_do_not_fit(need);
    spec.spines = divisor_from(up, ceil_div(leaves * up, need.ports));
    spec.leaf_links = up / spec.spines;
  } else if (need.tiers == 3) {
    const int half = need.ports / 2;
    spec.spines = up;
    spec.leaves_per_pod = half / spec.rails * spec.rails;
    const int pods = ceil_div(leaves, spec.leaves_per_pod);
    if (pods > need.ports) return rails_do_not_fit(need);
    spec.cores = divisor_from(half, ceil_div(pods * half, need.ports));
    spec.spine_links = half / spec.cores;
  }
  TRUNKLINE_TRY(check(spec));
  return spec;
}

Result<Clos> Clos::build(const ClosSpec& spec) {
  TRUNKLINE_TRY(check(spec));
  const std::int64_t leaves = leaves_of(spec), pods = spec.tiers == 3 ? ceil_div(int(leaves), spec.leaves_per_pod) : 1;
  const std::int64_t above_leaves = spec.tiers >= 2 ? leaves * spec.spines * spec.leaf_links : 0;
  const std::int64_t above_spines = spec.tiers == 3 ? pods * spec.spines * std::int64_t(spec.cores) * spec.spine_links : 0;
  if (spec.hosts + above_leaves + above_spines > kMostLinks) {
    return wrong(fmt::format("a Clos of {} links", spec.hosts + above_leaves + above_spines),
                 fmt::format("at most {} are simulated", kMostLinks));
  }
  return Clos(spec);
}

Clos::Clos(const ClosSpec& spec) : spec_(spec), leaves_(leaves_of(spec)) {
  if (spec.tiers == 1) spec_.spines = 0;
  if (spec.tiers == 3) pods_ = ceil_div(leaves_, spec.leaves_per_pod);
  if (spec.tiers >= 2) leaf_wires_ = LinkId(leaves_ * spec.spines * spec.leaf_links);
  if (spec.tiers == 3) spine_wires_ = LinkId(pods_ * spec.spines * spec.cores * spec.spine_links);
  leaf_base_ = 2 * LinkId(spec.hosts);
  spine_base_ = leaf_base_ + 2 * leaf_wires_;
  group_base_ = spine_base_ + 2 * spine_wires_;
  wires_ = group_base_;
  capacities_.assign(leaf_base_, spec.host_rate.si());
  capacities_.insert(capacities_.end(), 2 * leaf_wires_, spec.leaf_rate.si());
  capacities_.insert(capacities_.end(), 2 * spine_wires_, spec.spine_rate.si());
  add_groups();
}

void Clos::add_groups() {
  if (spec_.tiers >= 2)
    capacities_.insert(capacities_.end(), 2 * std::size_t(leaves_), spec_.spines * spec_.leaf_links * spec_.leaf_rate.si());
  if (spec_.tiers == 3) {
    capacities_.insert(capacities_.end(), 2 * std::size_t(pods_),
                       double(spec_.spines) * spec_.cores * spec_.spine_links * spec_.spine_rate.si());
  }
}

int Clos::leaf_of(int host) const {
  const int node = host / spec_.rails;
  return node / spec_.hosts_per_leaf * spec_.rails + host % spec_.rails;
}

double Clos::oversubscription(int tier) const {
  const double above_leaf = spec_.spines * spec_.leaf_links * spec_.leaf_rate.si();
  if (tier == 1) return spec_.hosts_per_leaf * spec_.host_rate.si() / above_leaf;
  return spec_.leaves_per_pod * above_leaf / (double(spec_.spines) * spec_.cores * spec_.spine_links * spec_.spine_rate.si());
}

// --- links -----------------------------------------------------------------------------------------------------------------

LinkId Clos::host_link(int host, Direction direction) const {
  return LinkId(host) + (direction == Direction::down ? LinkId(spec_.hosts) : 0);
}

LinkId Clos::leaf_link(int leaf, int spine, int parallel, Direction direction) const {
  const auto at = LinkId((leaf * spec_.spines + spine) * spec_.leaf_links + parallel);
  return leaf_base_ + at + (direction == Direction::down ? leaf_wires_ : 0);
}

LinkId Clos::spine_link(int pod, int spine, int core, int parallel, Direction direction) const {
  const auto at = LinkId(((pod * spec_.spines + spine) * spec_.cores + core) * spec_.spine_links + parallel);
  return spine_base_ + at + (direction == Direction::down ? spine_wires_ : 0);
}

LinkId Clos::leaf_group(int leaf, Direction direction) const {
  return group_base_ + LinkId(leaf) + (direction == Direction::down ? LinkId(leaves_) : 0);
}

LinkId Clos::pod_group(int pod, Direction direction) const {
  return group_base_ + 2 * LinkId(leaves_) + LinkId(pod) + (direction == Direction::down ? LinkId(pods_) : 0);
}

void Clos::spread_groups(std::span<double> loads) const {
  for (const Direction direction : {Direction::up, Direction::down}) {
    if (spec_.tiers >= 2) {
      const int wires = spec_.spines * spec_.leaf_links;
      for (int leaf = 0; leaf < leaves_; ++leaf) {
        const double each = loads[leaf_group(leaf, direction)] / wires;
        for (int i = 0; i < wires; ++i) loads[leaf_link(leaf, 0, 0, direction) + LinkId(i)] += each;
      }
    }
    if (spec_.tiers == 3) {
      const int wires = spec_.spines * spec_.cores * spec_.spine_links;
      for (int pod = 0; pod < pods_; ++pod) {
        const double each = loads[pod_group(pod, direction)] / wires;
        for (int i = 0; i < wires; ++i) loads[spine_link(pod, 0, 0, 0, direction) + LinkId(i)] += each;
      }
    }
  }
}

std::string Clos::name(LinkId link) const {
  const auto between = [](bool up, const std::string& low, const std::string& high, int parallel, int of) {
    const std::string wire = of > 1 ? fmt::format(" ({})", parallel) : "";
    return up ? low + " → " + high + wire : high + " → " + low + wire;
  };
  if (link < leaf_base_) {
    const int host = int(link) % spec_.hosts;
    return between(int(link) < spec_.hosts, fmt::format("host {}", host), fmt::format("leaf {}", leaf_of(host)), 0, 1);
  }
  if (link < spine_base_) {
    const LinkId at = (link - leaf_base_) % leaf_wires_;
    const int parallel = int(at) % spec_.leaf_links, above = int(at) / spec_.leaf_links;
    const int leaf = above / spec_.spines, spine = above % spec_.spines + pod_of(leaf) * spec_.spines;
    return between(link - leaf_base_ < leaf_wires_, fmt::format("leaf {}", leaf), fmt::format("spine {}", spine), parallel,
                   spec_.leaf_links);
  }
  if (link < group_base_) {
    const LinkId at = (link - spine_base_) % spine_wires_;
    const int parallel = int(at) % spec_.spine_links, above = int(at) / spec_.spine_links;
    const int spine = above / spec_.cores, core = above % spec_.cores + spine % spec_.spines * spec_.cores;
    return between(link - spine_base_ < spine_wires_, fmt::format("spine {}", spine), fmt::format("core {}", core), parallel,
                   spec_.spine_links);
  }
  const LinkId at = link - group_base_;
  if (at < 2 * LinkId(leaves_)) return fmt::format("leaf {} {} all spines", at % LinkId(leaves_), at < LinkId(leaves_) ? "→" : "←");
  const LinkId pod = at - 2 * LinkId(leaves_);
  return fmt::format("pod {} {} all cores", pod % LinkId(pods_), pod < LinkId(pods_) ? "→" : "←");
}

void Clos::scale(LinkId link, double factor) {
  capacities_[link] *= factor;
  if (link >= leaf_base_ && factor != 1) regular_ = false;
  if (!in_service(link)) whole_ = false;
}

// --- ways ------------------------------------------------------------------------------------------------------------------

int Clos::switches(int from, int to) const {
  if (from == to) return 0;
  const int a = leaf_of(from), b = leaf_of(to);
  if (a == b) return 1;
  if (!joined(a, b)) return 0;
  return pod_of(a) == pod_of(b) ? 3 : 5;
}

Seconds Clos::latency(int from, int to) const {
  const int hops = switches(from, to);
  if (hops == 0) return seconds(0);
  Seconds whole = spec_.ends + spec_.wire * double(hops + 1) + spec_.switching * double(hops);
  for (int i = 0; i < hops; ++i) {  // a switch sends the packet on at the rate of the next link
    const bool last = i == hops - 1, core = hops == 5 && (i == 1 || i == 2);
    whole += spec_.packet / (last ? spec_.host_rate : core ? spec_.spine_rate : spec_.leaf_rate);
  }
  return whole;
}

bool Clos::core_reaches(int spine, int core, int leaf) const {
  for (int k = 0; k < spec_.spine_links; ++k) {
    if (in_service(spine_link(pod_of(leaf), spine, core, k, Direction::down))) return true;
  }
  return false;
}

bool Clos::spine_reaches(int pod, int spine, int leaf) const {
  bool down = false;
  for (int k = 0; k < spec_.leaf_links; ++k) down = down || in_service(leaf_link(leaf, spine, k, Direction::down));
  if (!down || pod == pod_of(leaf)) return down;
  for (int core = 0; core < spec_.cores; ++core) {
    if (!core_reaches(spine, core, leaf)) continue;
    for (int k = 0; k < spec_.spine_links; ++k) {
      if (in_service(spine_link(pod, spine, core, k, Direction::up))) return true;
    }
  }
  return false;
}

std::int64_t Clos::path_count(int from, int to) const {
  if (from == to) return 0;
  const int a = leaf_of(from), b = leaf_of(to);
  if (!joined(a, b)) return 0;
  if (whole_ || a == b) {
    if (!in_service(host_link(from, Direction::up)) || !in_service(host_link(to, Direction::down))) return 0;
    if (a == b) return 1;
    const std::int64_t leaf_ways = std::int64_t(spec_.spines) * spec_.leaf_links * spec_.leaf_links;
    return pod_of(a) == pod_of(b) ? leaf_ways : leaf_ways * spec_.cores * spec_.spine_links * spec_.spine_links;
  }
  return std::int64_t(paths(from, to).size());
}

std::vector<std::vector<LinkId>> Clos::paths(int from, int to) const {
  std::vector<std::vector<LinkId>> out;
  if (from == to) return out;
  const int a = leaf_of(from), b = leaf_of(to);
  if (!joined(a, b)) return out;
  const LinkId first = host_link(from, Direction::up), last = host_link(to, Direction::down);
  const auto add = [&](std::vector<LinkId> middle) {
    middle.insert(middle.begin(), first);
    middle.push_back(last);
    if (std::all_of(middle.begin(), middle.end(), [&](LinkId link) { return in_service(link); })) out.push_back(std::move(middle));
  };
  if (a == b) {
    add({});
    return out;
  }
  for (int s = 0; s < spec_.spines; ++s) {
    for (int i = 0; i < spec_.leaf_links * spec_.leaf_links; ++i) {
      const LinkId up = leaf_link(a, s, i / spec_.leaf_links, Direction::up), down = leaf_link(b, s, i % spec_.leaf_links, Direction::down);
      if (pod_of(a) == pod_of(b)) {
        add({up, down});
        continue;
      }
      for (int c = 0; c < spec_.cores; ++c) {
        for (int k = 0; k < spec_.spine_links * spec_.spine_links; ++k) {
          add({up, spine_link(pod_of(a), s, c, k / spec_.spine_links, Direction::up),
               spine_link(pod_of(b), s, c, k % spec_.spine_links, Direction::down), down});
        }
      }
    }
  }
  return out;
}

}  // namespace trunkline::network
