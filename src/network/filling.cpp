#include "network/filling.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::network {
namespace {

enum : std::uint8_t {
  kTouched = 1,  // in the list of touched links
  kHolding = 2,  // keeps its members at the level of last time until the water is there
  kSettled = 4,  // has its level
  kQueued = 8,   // its bound may have fallen: needs a new event
  kListed = 16,  // in the list of changed links
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

void Filling::touch(LinkId id) {
  Link& link = s_.links_[id];
  if (link.flags & kTouched) return;
  link.flags |= kTouched;
  link.key = kUnlimited;
  if (link.level < kUnlimited) link.flags |= kHolding;
  work_.touched.push_back(id);
}

void Filling::queue(LinkId id) {
  Link& link = s_.links_[id];
  if (link.flags & kQueued) return;
  link.flags |= kQueued;
  work_.queued.push_back(id);
}

void Filling::subtract(BundleId id) {
  const Bundle& bundle = s_.bundles_[id];
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const auto& entry = s_.entries_[bundle.begin + i];
    Link& link = s_.links_[entry.link];
    touch(entry.link);
    queue(entry.link);
    if (bundle.bottleneck == MaxMin::kNone || bundle.bottleneck == entry.link) {
      link.open -= entry.load;
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
      link.open += entry.load;
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
  if (link.open > 0) return std::max(0.0, slack / link.open);
  return slack < -2 * kRounding * link.capacity ? 0 : kUnlimited;
}

void Filling::schedule(LinkId id) {
  const Link& link = s_.links_[id];
  const double bound = lower_bound(link);
  push(id, link.flags & kHolding ? std::min(bound, link.level) : bound);
}

void Filling::schedule_queued() {
  for (const LinkId id : work_.queued) {
    s_.links_[id].flags &= std::uint8_t(~kQueued);
    schedule(id);
  }
  work_.queued.clear();
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
  if (!holding) {
    const double bound = lower_bound(link);
    if (bound > water * (1 + 4 * kRounding)) {
      if (bound < kUnlimited) push(id, bound);
      return;
    }
  }
  const double level = saturation(link, id, water);
  if (holding && (level > link.level || same(level, link.level))) {
    if (!reached(link.level, water)) {
      push(id, link.level);
    } else if (same(level, link.level)) {
      settle(id, link.level);
    } else {
      release(id);
      if (level < kUnlimited) push(id, level);
    }
    return;
  }
  if (level == kUnlimited) return;
  if (reached(level, water)) {
    settle(id, level);
  } else {
    push(id, level);
  }
}

// The link saturates: members above `level` are limited here from now on.
void Filling::settle(LinkId id, double level) {
  Link& link = s_.links_[id];
  double frozen = 0, open = 0;
  const double over = level * (1 + std::max(kRounding, s_.options_.tolerance));
  for (std::uint32_t i = 0; i < link.size; ++i) {
    const auto& member = s_.members_[link.begin + i];
    const auto& bundle = s_.bundles_[member.bundle];
    if (bundle.bottleneck == id || bundle.level > over) {
      if (bundle.bottleneck != id || bundle.level != level) limit(member.bundle, id, level);
      open += member.load;
    } else {
      frozen += member.load * bundle.level;
    }
  }
  note(link, id);
  link.frozen = frozen;
  link.open = open;
  link.level = level;
  link.flags = std::uint8_t((link.flags | kSettled) & ~kHolding);
}

// Sets a bundle's bottleneck and level, and tells its other links.
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
    if (before == MaxMin::kNone || before == entry.link) {
      link.open -= entry.load;
      link.frozen += entry.load * level;
    } else {
      link.frozen += entry.load * (level - old);
    }
    if (!(link.flags & kTouched)) {
      touch(entry.link);
      schedule(entry.link);
    }
  }
}

// The members that the link held at its old level may rise.
void Filling::release(LinkId id) {
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
      link.open += entry.load;
    }
    bundle.level = kUnlimited;
    bundle.bottleneck = MaxMin::kNone;
    push_cap(member.bundle);
  }
  note(from, id);
  from.level = kUnlimited;
  from.flags &= std::uint8_t(~kHolding);
  schedule_queued();
}

// A member that another, settled link would stop at the same level moves there instead of opening.
bool Filling::hand_over(BundleId id, Link& from, double load) {
  Bundle& bundle = s_.bundles_[id];
  for (std::uint32_t k = 0; k < bundle.size; ++k) {
    const auto& entry = s_.entries_[bundle.begin + k];
    Link& to = s_.links_[entry.link];
    if (!(to.flags & kSettled)) continue;
    note(bundle, id);
    bundle.bottleneck = entry.link;
    to.open += entry.load;
    to.frozen -= entry.load * bundle.level;
    from.open -= load;
    from.frozen += load * bundle.level;
    return true;
  }
  return false;
}

void Filling::restore_heap() { std::make_heap(work_.heap.begin(), work_.heap.end(), Later()); }

void Filling::run() {
  schedule_queued();
  const auto links = std::uint32_t(s_.links_.size());
  auto& heap = work_.heap;
  while (!heap.empty()) {
    const auto event = heap.front();
    std::pop_heap(heap.begin(), heap.end(), Later());
    heap.pop_back();
    if (event.id < links) {
      look_at(event.id, event.key);
    } else if (const Bundle& bundle = s_.bundles_[event.id - links]; bundle.bottleneck == MaxMin::kNone && bundle.cap == event.key) {
      limit(event.id - links, MaxMin::kOwnCap, event.key);
    }
  }
}

void Filling::finish() {
  for (const LinkId id : work_.touched) s_.links_[id].flags = 0;
  work_.touched.clear();
  std::erase_if(work_.moves, [&](const MaxMin::Move& move) {
    Bundle& bundle = s_.bundles_[move.bundle];
    bundle.moved = false;
    return bundle.flows == 0 || bundle.bottleneck == move.from;
  });
}

}  // namespace trunkline::network
