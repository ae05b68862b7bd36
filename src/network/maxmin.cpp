#include "network/maxmin.hpp"

#include <algorithm>
#include <bit>
#include <numeric>
#include <thread>

#include "network/filling.hpp"

namespace trunkline::network {
namespace {

constexpr std::size_t kHopsWorthThreads = 200'000;

std::uint64_t mixed(std::uint64_t h, std::uint64_t word) {
  h = (h ^ word) * 0x9E3779B97F4A7C15ULL;
  return h ^ (h >> 29);
}

}  // namespace

MaxMin::MaxMin(std::span<const double> capacities, Options options)
    : options_(options), links_(capacities.size()), index_(16, kNone), seen_(capacities.size(), 0) {
  for (std::size_t i = 0; i < capacities.size(); ++i) links_[i].capacity = capacities[i];
}

void MaxMin::reserve(std::size_t bundles, std::size_t hops) {
  bundles_.reserve(bundles);
  entries_.reserve(hops);
  members_.reserve(hops);
}

// The lists of what the last solve changed stay until the next change.
void MaxMin::begin_change() {
  if (!solved_) return;
  solved_ = false;
  ++round_;
  fresh_bundles_ = 0;
  work_.moves.clear();
  work_.changed.clear();
}

BundleId MaxMin::join(std::span<const LinkId> path, double weight, double cap) {
  path_.clear();
  for (const LinkId link : path) {
    if (seen_[link] == 0) {
      path_.push_back({link, 1});
      seen_[link] = std::uint32_t(path_.size());
    } else {
      path_[seen_[link] - 1].share += 1;
    }
  }
  return join_path(weight, cap);
}

BundleId MaxMin::join(std::span<const Hop> path, double weight, double cap) {
  path_.clear();
  for (const Hop& hop : path) {
    if (seen_[hop.link] == 0) {
      path_.push_back(hop);
      seen_[hop.link] = std::uint32_t(path_.size());
    } else {
      path_[seen_[hop.link] - 1].share += hop.share;
    }
  }
  return join_path(weight, cap);
}

BundleId MaxMin::join_path(double weight, double cap) {
  begin_change();
  for (const Hop& hop : path_) seen_[hop.link] = 0;
  cap /= weight;
  const std::uint64_t hash = hash_of_path(cap);
  Filling filling(*this, work_);
  BundleId id = find(cap, hash);
  if (id == kNone) {
    id = make(cap, hash);
    make_entries(id);
    ++fresh_bundles_;
    hops_ += bundles_[id].size;
  } else {
    filling.subtract(id);
  }
  Bundle& bundle = bundles_[id];
  ++bundle.flows;
  set_weight(id, bundle.weight + weight);
  filling.open(id);
  filling.add(id);
  return id;
}

void MaxMin::leave(BundleId id, double weight) {
  begin_change();
  Filling filling(*this, work_);
  filling.subtract(id);
  Bundle& bundle = bundles_[id];
  if (--bundle.flows == 0) {
    index_erase(id);
    hops_ -= bundle.size;
    if (bundle.fresh) --fresh_bundles_;
    drop_entries(id);
    ended_.push_back(id);
    --live_bundles_;
  } else {
    set_weight(id, bundle.weight - weight);
    filling.add(id);
  }
}

void MaxMin::set_capacity(LinkId link, double capacity) {
  begin_change();
  Filling filling(*this, work_);
  filling.touch(link);
  filling.queue(link);
  links_[link].capacity = capacity;
}

void MaxMin::solve() {
  begin_change();
  if (!worth_threads() || !solve_components()) {
    Filling filling(*this, work_);
    filling.run(fresh_bundles_ == live_bundles_);
    filling.finish();
  }
  free_bundles_.insert(free_bundles_.end(), ended_.begin(), ended_.end());
  ended_.clear();
  solved_ = true;
}

double MaxMin::load(LinkId id) const {
  const Link& link = links_[id];
  double sum = 0;
  for (std::uint32_t i = 0; i < link.size; ++i) {
    const Member& member = members_[link.begin + i];
    sum += member.load * bundles_[member.bundle].level;
  }
  return sum;
}

// --- separate components at once ---------------------------------------------------------------------------------------------

// Starting threads and finding components costs some milliseconds: worth it from nothing and for many hops.
bool MaxMin::worth_threads() const { return options_.threads > 1 && fresh_bundles_ == live_bundles_ && hops_ >= kHopsWorthThreads; }

// Fills components of links that share no bundle in threads of their own; false where one component is nearly everything.
bool MaxMin::solve_components() {
  std::vector<std::uint32_t> parent(links_.size());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t x) {
    while (parent[x] != x) x = parent[x] = parent[parent[x]];
    return x;
  };
  std::vector<std::size_t> hops(links_.size(), 0);
  for (const Bundle& bundle : bundles_) {
    for (std::uint32_t i = 1; i < bundle.size; ++i) {
      const std::uint32_t a = root(entries_[bundle.begin].link), b = root(entries_[bundle.begin + i].link);
      parent[std::max(a, b)] = std::min(a, b);
    }
  }
  for (LinkId link = 0; link < links_.size(); ++link) hops[root(link)] += links_[link].size;

  std::vector<LinkId> roots;
  for (LinkId link = 0; link < links_.size(); ++link) {
    if (hops[link] > 0) roots.push_back(link);
  }
  std::stable_sort(roots.begin(), roots.end(), [&](LinkId a, LinkId b) { return hops[a] > hops[b]; });
  if (roots.empty() || double(hops[roots.front()]) > 0.8 * double(hops_)) return false;
  parts_.resize(std::min<std::size_t>(std::size_t(options_.threads), roots.size()));
  std::vector<std::uint32_t> part_of(links_.size(), 0);
  std::vector<std::size_t> filled(parts_.size(), 0);
  for (const LinkId r : roots) {  // largest first to the emptiest part
    const auto emptiest = std::min_element(filled.begin(), filled.end());
    part_of[r] = std::uint32_t(emptiest - filled.begin());
    *emptiest += hops[r];
  }
  const auto part = [&](LinkId link) -> Workspace& { return parts_[part_of[root(link)]]; };
  for (const LinkId link : work_.queued) part(link).queued.push_back(link);
  for (const Event& event : work_.heap) {
    const Bundle& bundle = bundles_[event.id - links_.size()];  // before the first run only caps wait
    (bundle.size > 0 ? part(entries_[bundle.begin].link) : parts_[0]).heap.push_back(event);
  }
  work_.queued.clear();
  work_.heap.clear();
  run_parts();
  return true;
}

void MaxMin::run_parts() {
  std::vector<std::thread> threads;
  const auto run = [this](Workspace& work) {
    Filling filling(*this, work);
    filling.restore_heap();
    filling.run(true);
  };
  for (std::size_t i = 1; i < parts_.size(); ++i) threads.emplace_back(run, std::ref(parts_[i]));
  run(parts_[0]);
  for (auto& thread : threads) thread.join();
  for (Workspace& part : parts_) {
    work_.changed.insert(work_.changed.end(), part.changed.begin(), part.changed.end());
    work_.moves.insert(work_.moves.end(), part.moves.begin(), part.moves.end());
    part = Workspace();
  }
  std::sort(work_.changed.begin(), work_.changed.end());
  std::sort(work_.moves.begin(), work_.moves.end(), [](const Move& a, const Move& b) { return a.bundle < b.bundle; });
  Filling(*this, work_).finish();
}

// --- bundles by path -------------------------------------------------------------------------------------------------------

std::uint64_t MaxMin::hash_of_path(double cap) const {
  std::uint64_t hash = mixed(path_.size(), std::bit_cast<std::uint64_t>(cap));
  for (const Hop& hop : path_) hash = mixed(mixed(hash, hop.link), std::bit_cast<std::uint64_t>(hop.share));
  return hash;
}

bool MaxMin::same_path(const Bundle& bundle, double cap) const {
  if (bundle.size != path_.size() || bundle.cap != cap) return false;
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const Entry& entry = entries_[bundle.begin + i];
    if (entry.link != path_[i].link || entry.share != path_[i].share) return false;
  }
  return true;
}

BundleId MaxMin::find(double cap, std::uint64_t hash) const {
  for (std::size_t i = place_of(hash); index_[i] != kNone; i = (i + 1) & (index_.size() - 1)) {
    const Bundle& bundle = bundles_[index_[i]];
    if (bundle.hash == hash && same_path(bundle, cap)) return index_[i];
  }
  return kNone;
}

BundleId MaxMin::make(double cap, std::uint64_t hash) {
  BundleId id;
  if (free_bundles_.empty()) {
    id = BundleId(bundles_.size());
    bundles_.emplace_back();
  } else {
    id = free_bundles_.back();
    free_bundles_.pop_back();
    bundles_[id] = Bundle();
  }
  bundles_[id].cap = cap;
  bundles_[id].hash = hash;
  ++live_bundles_;
  index_insert(id);
  return id;
}

void MaxMin::index_insert(BundleId id) {
  if (live_bundles_ * 2 > index_.size()) index_grow();
  std::size_t i = place_of(bundles_[id].hash);
  while (index_[i] != kNone) i = (i + 1) & (index_.size() - 1);
  index_[i] = id;
}

void MaxMin::index_grow() {
  std::vector<BundleId> old(index_.size() * 4, kNone);
  old.swap(index_);
  for (const BundleId id : old) {
    if (id == kNone) continue;
    std::size_t i = place_of(bundles_[id].hash);
    while (index_[i] != kNone) i = (i + 1) & (index_.size() - 1);
    index_[i] = id;
  }
}

// Later entries of the same run move up, so that no gap cuts them off from their place.
void MaxMin::index_erase(BundleId id) {
  const std::size_t mask = index_.size() - 1;
  std::size_t gap = place_of(bundles_[id].hash);
  while (index_[gap] != id) gap = (gap + 1) & mask;
  for (std::size_t i = (gap + 1) & mask; index_[i] != kNone; i = (i + 1) & mask) {
    const std::size_t home = place_of(bundles_[index_[i]].hash);
    if (((i - home) & mask) >= ((i - gap) & mask)) {
      index_[gap] = index_[i];
      gap = i;
    }
  }
  index_[gap] = kNone;
}

// --- a bundle's path and the members of its links -------------------------------------------------------------------------

void MaxMin::make_entries(BundleId id) {
  Bundle& bundle = bundles_[id];
  bundle.size = std::uint32_t(path_.size());
  if (bundle.size == 0) return;
  bundle.begin = entries_.take(bundle.size);
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const std::uint32_t at = bundle.begin + i;
    const LinkId link = path_[i].link;
    entries_[at] = {link, add_member(link, {id, at, 0}), 0, path_[i].share};
  }
}

std::uint32_t MaxMin::add_member(LinkId id, Member member) {
  Link& link = links_[id];
  if (link.size == link.room) {
    const std::uint32_t begin = members_.take(std::max(4U, link.room * 2));
    std::copy_n(members_.at(link.begin), link.size, members_.at(begin));
    if (link.room > 0) members_.give_back(link.begin, link.room);
    link.begin = begin;
    link.room = std::max(4U, link.room * 2);
  }
  members_[link.begin + link.size] = member;
  return link.size++;
}

void MaxMin::drop_entries(BundleId id) {
  Bundle& bundle = bundles_[id];
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    const Entry& entry = entries_[bundle.begin + i];
    Link& link = links_[entry.link];
    Member& hole = members_[link.begin + entry.slot];
    hole = members_[link.begin + --link.size];
    entries_[hole.entry].slot = entry.slot;
    if (link.size == 0) link.frozen = 0;
  }
  if (bundle.size > 0) entries_.give_back(bundle.begin, bundle.size);
  bundle.size = 0;
}

void MaxMin::set_weight(BundleId id, double weight) {
  Bundle& bundle = bundles_[id];
  bundle.weight = weight;
  for (std::uint32_t i = 0; i < bundle.size; ++i) {
    Entry& entry = entries_[bundle.begin + i];
    entry.load = weight * entry.share;
    members_[links_[entry.link].begin + entry.slot].load = entry.load;
  }
}

}  // namespace trunkline::network
