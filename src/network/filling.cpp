#include "network/filling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace trunkline::network {
namespace {

// What stands in Link::flags is worth something only in the round that touched the link.
enum : std::uint8_t {
  kHolding = 1,  // keeps its members at the level of last time until the water is there
  kSettled = 2,  // has its level
  kQueued = 4,   // its bound may have fallen: needs a new event
  kListed = 8,   // in the list of changed links
};

constexpr double kRounding = 1e-12;  // relative; sums of a few hundred rates are that exact

struct Later {
  template <class Event>
  bool operator()(const Event& a, const Event& b) const {
    return a.key > b.key || (a.key == b.key && a.id > b.id);
  }
};

}  // namespace

void Filling::note(Bundle& bundle, BundleId id) {
  if (bundle.moved) return;
  bundle.moved = true;
  work_.moves.push_back({id, bundle.bottleneck});
}

void Filling::note(Link& link, LinkId id) {
  if (link.flags & kListed) return;
  link.flags |= kListed;
  work_.changed.push_back(id);
}

bool Filling::touch(LinkId id) {
  Link& link = s_.links_[id];
  if (link.round == s_.round_) return false;
  link.round = s_.round_;
  link.flags = link.level < kUnlimited ? kHolding : 0;
  link.key = kUnlimited;
  return true;
}

void Filling::queue(LinkId id) {
  Link& link = s_.links_[id];
  if (link.flags & kQueued) return;
  link.flags |= kQueued;
  work_.queued.push_back(id);
}

void Filling::put_open(Link& link, double load) {
  link.open += load;
  ++link.open_members;
}

void Filling::take_open(Link& link, double load) {
  --link.open_members;
  link.open = link.open_members == 0 ? 0 : link.open - load;  // nothing of rounding stays behind
}

void Filling::subtract(BundleId id) {
  const Bundle& bundle = s_.bundles_[id];
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const auto& entry = s_.entries_[bundle.begin + i];
    Link& link = s_.links_[entry.link];
    touch(entry.link);
    queue(entry.link);
    if (bundle.bottleneck == MaxMin::kNone || bundle.bottleneck == entry.link) {
      take_open(link, entry.load);
    } else {
      link.frozen -= entry.load * bundle.level;
    }
  }
}

void Filling::add(BundleId id) {
  const Bundle& bundle = s_.bundles_[id];
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const auto& entry = s_.entries_[bundle.begin + i];
    Link& link = s_.links_[entry.link];
    touch(entry.link);
    queue(entry.link);
    if (bundle.bottleneck == MaxMin::kNone || bundle.bottleneck == entry.link) {
      put_open(link, entry.load);
    } else {
      link.frozen += entry.load * bundle.level;
    }
  }
}

void Filling::open(BundleId id) {
  Bundle& bundle = s_.bundles_[id];
  note(bundle, id);
  bundle.level = kUnlimited;
  bundle.bottleneck = MaxMin::kNone;
  push_cap(id);
}

void Filling::push(LinkId id, double key) {
  Link& link = s_.links_[id];
  if (!(key < link.key)) return;
  link.key = key;
  work_.heap.push_back({key, id});
  std::push_heap(work_.heap.begin(), work_.heap.end(), Later());
}

void Filling::push_cap(BundleId id) {
  const double cap = s_.bundles_[id].cap;
  if (!(cap < kUnlimited)) return;
  work_.heap.push_back({cap, std::uint32_t(s_.links_.size()) + id});
  std::push_heap(work_.heap.begin(), work_.heap.end(), Later());
}

// A little lower than the sums say, as they carry the rounding of their updates.
double Filling::lower_bound(const Link& link) const {
  const double slack = link.capacity - link.frozen - kRounding * link.capacity;
  if (link.open_members > 0) return std::max(0.0, slack / link.open);
  return slack < -2 * kRounding * link.capacity ? 0 : kUnlimited;
}

void Filling::schedule(LinkId id) {
  const Link& link = s_.links_[id];
  const double bound = lower_bound(link);
  push(id, link.flags & kHolding ? std::min(bound, link.level) : bound);
}

// After a release up to `level`: an idle link that stays open beyond that gets no event of its own; call_idle() finds it in time.
void Filling::schedule_queued(double level) {
  for (const LinkId id : work_.queued) {
    Link& link = s_.links_[id];
    link.flags &= std::uint8_t(~kQueued);
    if ((link.flags & kHolding) || link.key < kUnlimited || fills_before(link, level)) {
      schedule(id);
    } else {
      some_idle_ = true;
    }
  }
  work_.queued.clear();
}

bool Filling::fills_before(const Link& link, double level) const {
  return level == kUnlimited || link.capacity - link.frozen < link.open * level * (1 - 4 * kRounding);
}

bool Filling::reached(double level, double water) const {
  if (level <= water * (1 + 4 * kRounding)) return true;
  return work_.heap.empty() || level <= work_.heap.front().key;
}

bool Filling::same(double a, double b) const { return std::abs(a - b) <= std::max(4 * kRounding, s_.options_.tolerance) * b; }

// The t ≥ `from` (nearly: rounding) at which Σ load · min(t, level of the member) = capacity, with open members and those that the
// link itself holds counted at t; infinite where they do not fill it.
double Filling::saturation(const Link& link, LinkId id, double from) const {
  double t = from;
  for (;;) {
    double rest = link.capacity, open = 0, next = kUnlimited;
    for (std::uint32_t i = 0; i < link.size; ++i) {
      const auto& member = s_.members_[link.begin + i];
      const auto& bundle = s_.bundles_[member.bundle];
      const double level = bundle.bottleneck == id ? kUnlimited : bundle.level;
      if (level > t) {
        open += member.load;
        next = std::min(next, level);
      } else {
        rest -= member.load * level;
      }
    }
    if (open <= 0) return rest < -kRounding * link.capacity ? t : kUnlimited;
    const double better = std::max(0.0, rest / open);
    if (better <= next) return better;
    t = better;
  }
}

void Filling::look_at(LinkId id, double water) {
  Link& link = s_.links_[id];
  if (water != link.key || (link.flags & kSettled)) return;  // an older, higher or lower event of the same link
  link.key = kUnlimited;
  const bool holding = link.flags & kHolding;
  const double bound = lower_bound(link);
  if (!holding && bound < kUnlimited && !reached(bound, water)) {
    wait_until(id, bound);
    return;
  }
  if (all_open_ && !holding && bound == kUnlimited) return;  // every member has been limited elsewhere meanwhile
  // From nothing all members are open or at most at the water's level: the sums say it all.
  const bool sums_do = all_open_ && !holding && link.open_members > 0;
  const double level = sums_do ? std::max(0.0, link.capacity - link.frozen) / link.open : saturation(link, id, water);
  if (holding && (level > link.level || same(level, link.level))) {
    if (!reached(link.level, water)) {
      wait_until(id, link.level);
    } else if (!same(level, link.level)) {
      release(id, level);
    } else if (!wait_for_others(id, link.level)) {
      settle(id, link.level);
    }
  } else if (level < kUnlimited) {
    if (!reached(level, water)) {
      wait_until(id, level);
    } else if (!wait_for_others(id, level)) {
      settle(id, level);
    }
  }
}

// An event at `level`. The event of a link stands for those of the idle links of its open members as long as they fill later.
void Filling::wait_until(LinkId id, double level) {
  call_idle(id, level);
  push(id, level);
}

// Whether idle links come before this one settles; it then waits again.
bool Filling::wait_for_others(LinkId id, double level) {
  if (!call_idle(id, level)) return false;
  push(id, level);
  return true;
}

// Gives an event to idle links that a link's open members cross and that may fill before `level`.
bool Filling::call_idle(LinkId id, double level) {
  if (!some_idle_) return false;
  const Link& link = s_.links_[id];
  bool any = false;
  for (std::uint32_t i = 0; i < link.size; ++i) {
    const auto& bundle = s_.bundles_[s_.members_[link.begin + i].bundle];
    if (bundle.bottleneck == MaxMin::kNone && call_idle_of(bundle, id, level)) any = true;
  }
  return any;
}

bool Filling::call_idle_of(const Bundle& bundle, std::uint32_t asking, double level) {
  bool any = false;
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const LinkId id = s_.entries_[bundle.begin + i].link;
    const Link& link = s_.links_[id];
    if (link.key < kUnlimited || (link.flags & kSettled) || id == asking || !fills_before(link, level)) continue;
    push(id, lower_bound(link));
    any = true;
  }
  return any;
}

// The link saturates: members above `level` are limited here from now on.
void Filling::settle(LinkId id, double level) {
  Link& link = s_.links_[id];
  double frozen = 0, open = 0;
  std::uint32_t open_members = 0;
  const double over = level * (1 + std::max(kRounding, s_.options_.tolerance));
  for (std::uint32_t i = 0; i < link.size; ++i) {
    const auto& member = s_.members_[link.begin + i];
    const auto& bundle = s_.bundles_[member.bundle];
    if (bundle.bottleneck == id || bundle.level > over) {
      if (bundle.bottleneck != id || bundle.level != level) limit(member.bundle, id, level);
      open += member.load;
      ++open_members;
    } else {
      frozen += member.load * bundle.level;
    }
  }
  note(link, id);
  link.frozen = frozen;
  link.open = open;
  link.open_members = open_members;
  link.level = level;
  link.flags = std::uint8_t((link.flags | kSettled) & ~kHolding);
  schedule_queued(kUnlimited);
}

// Sets a bundle's bottleneck and level, and tells its other links. Those that need an event for it are queued.
void Filling::limit(BundleId id, std::uint32_t bottleneck, double level) {
  Bundle& bundle = s_.bundles_[id];
  const std::uint32_t before = bundle.bottleneck;
  const double old = bundle.level;
  if (before != bottleneck) note(bundle, id);
  bundle.bottleneck = bottleneck;
  bundle.level = level;
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const auto& entry = s_.entries_[bundle.begin + i];
    if (entry.link == bottleneck) continue;
    Link& link = s_.links_[entry.link];
    const bool fresh = touch(entry.link);
    if (before == MaxMin::kNone || before == entry.link) {
      take_open(link, entry.load);
      link.frozen += entry.load * level;
    } else {
      link.frozen += entry.load * (level - old);
    }
    const bool idle_and_open = link.open_members > 0 && link.key == kUnlimited && !(link.flags & (kHolding | kSettled));
    if (fresh || idle_and_open) queue(entry.link);
  }
}

// The members that the link held at its old level may rise; it will limit them again at `level` (or lower, or not at all).
void Filling::release(LinkId id, double level) {
  Link& from = s_.links_[id];
  for (std::uint32_t i = 0; i < from.size; ++i) {
    const auto& member = s_.members_[from.begin + i];
    Bundle& bundle = s_.bundles_[member.bundle];
    if (bundle.bottleneck != id || hand_over(member.bundle, from, member.load)) continue;
    note(bundle, member.bundle);
    for (std::uint32_t k = 0; k < bundle.size; ++k) {
      const auto& entry = s_.entries_[bundle.begin + k];
      if (entry.link == id) continue;
      Link& link = s_.links_[entry.link];
      touch(entry.link);
      queue(entry.link);
      link.frozen -= entry.load * bundle.level;
      put_open(link, entry.load);
    }
    bundle.level = kUnlimited;
    bundle.bottleneck = MaxMin::kNone;
    push_cap(member.bundle);
  }
  note(from, id);
  from.level = kUnlimited;
  from.flags &= std::uint8_t(~kHolding);
  if (level < kUnlimited) push(id, level);
  schedule_queued(level);
}

// A member that another, settled link would stop at the same level moves there instead of opening.
bool Filling::hand_over(BundleId id, Link& from, double load) {
  Bundle& bundle = s_.bundles_[id];
  for (std::uint32_t k = 0; k < bundle.size; ++k) {
    const auto& entry = s_.entries_[bundle.begin + k];
    Link& to = s_.links_[entry.link];
    if (to.round != s_.round_ || !(to.flags & kSettled)) continue;
    note(bundle, id);
    bundle.bottleneck = entry.link;
    put_open(to, entry.load);
    to.frozen -= entry.load * bundle.level;
    take_open(from, load);
    from.frozen += load * bundle.level;
    return true;
  }
  return false;
}

void Filling::restore_heap() { std::make_heap(work_.heap.begin(), work_.heap.end(), Later()); }

void Filling::run(bool all_open) {
  all_open_ = all_open;
  schedule_queued(kUnlimited);
  const auto links = std::uint32_t(s_.links_.size());
  auto& heap = work_.heap;
  while (!heap.empty()) {
    const auto event = heap.front();
    std::pop_heap(heap.begin(), heap.end(), Later());
    heap.pop_back();
    if (event.id < links) {
      look_at(event.id, event.key);
    } else {
      reach_cap(event.id - links, event.key);
    }
  }
}

void Filling::reach_cap(BundleId id, double cap) {
  const Bundle& bundle = s_.bundles_[id];
  if (bundle.bottleneck != MaxMin::kNone || bundle.cap != cap) return;  // limited by a link meanwhile, or another bundle by now
  limit(id, MaxMin::kOwnCap, cap);
  schedule_queued(kUnlimited);
}

void Filling::finish() {
  std::erase_if(work_.moves, [&](const MaxMin::Move& move) {
    Bundle& bundle = s_.bundles_[move.bundle];
    bundle.moved = bundle.fresh = false;
    assert(bundle.bottleneck != MaxMin::kNone || bundle.size == 0);
    return bundle.flows == 0 || bundle.bottleneck == move.from;
  });
}

}  // namespace trunkline::network
