// Weighted max-min fair sharing of directed links, brought up to date after every change at the cost of what the change moves.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "network/slabs.hpp"

namespace trunkline::network {

using LinkId = std::uint32_t;
using BundleId = std::uint32_t;

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// One link of a path and the share of the flow that crosses it: 1 on a single path, 1/32 of a flow sprayed over 32 links.
struct Hop {
  LinkId link = 0;
  double share = 1;

  friend bool operator==(const Hop&, const Hop&) = default;
};

// What flows get when all of them run at once.
//
// Model: rate of a flow = weight · level of its bundle; on every link Σ share · rate ≤ capacity; a level cannot rise without
// lowering one that is not higher. Such levels exist and are unique (Bertsekas & Gallager, Data Networks, §6.5). A bundle is all
// flows of identical path and rate cap per weight: one unknown with the sum of their weights.
// Units: those of the capacities (bytes per second in this program).
//
// A link's level is the rate of one unit of weight on it while it is saturated, infinite while it is not. A bundle's level is the
// lowest of its links' levels and its own cap; the one that sets it is its bottleneck.
//
// solve() after a change replays the filling of the links only from the lowest level that changes, and visits only links and
// bundles whose level or bottleneck may differ (filling.hpp). From nothing: O(Σ path · log links).
class MaxMin {
 public:
  struct Options {
    // A link whose level would change by less than this fraction keeps it, and so ends the propagation of the change. 0 = exact:
    // only differences of rounding (1e-12) end it.
    double tolerance = 0;
    // For a first solve of separate components at once (rails, planes). Every number is the same for any number of threads.
    int threads = 1;
  };

  // A bundle whose bottleneck differs from the one that it had before the last solve().
  struct Move {
    BundleId bundle = 0;
    std::uint32_t from = 0;
  };

  // Bottlenecks that are no link.
  static constexpr std::uint32_t kOwnCap = 0xFFFFFFFE;
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;  // joined since the last solve, or nothing limits it

  explicit MaxMin(std::span<const double> capacities, Options options);
  explicit MaxMin(std::span<const double> capacities) : MaxMin(capacities, Options()) {}

  // Adds a flow. `cap` bounds its rate (NIC, PCIe slot, window of a queue pair). Links that the path names twice are loaded twice.
  BundleId join(std::span<const Hop> path, double weight = 1, double cap = kUnlimited);
  BundleId join(std::span<const LinkId> path, double weight = 1, double cap = kUnlimited);

  // Removes a flow of that weight from its bundle; the last one ends the bundle and its id.
  void leave(BundleId bundle, double weight = 1);

  void set_capacity(LinkId link, double capacity);

  // Makes room for so many path entries in all.
  void reserve(std::size_t bundles, std::size_t hops);

  void solve();

  std::size_t links() const { return links_.size(); }
  std::size_t bundles() const { return live_bundles_; }
  double capacity(LinkId link) const { return links_[link].capacity; }
  double level(BundleId bundle) const { return bundles_[bundle].level; }  // rate of one unit of weight
  double link_level(LinkId link) const { return links_[link].level; }
  std::uint32_t bottleneck(BundleId bundle) const { return bundles_[bundle].bottleneck; }
  double load(LinkId link) const;  // what crosses it now

  // What the last solve() changed. A link is listed when its level or the set of bundles that it limits may have changed.
  std::span<const Move> moves() const { return work_.moves; }
  std::span<const LinkId> changed_links() const { return work_.changed; }

  // Calls visit(bundle) for every bundle limited by that link.
  template <class Visit>
  void for_each_limited_by(LinkId link, Visit visit) const {
    const Link& l = links_[link];
    for (std::uint32_t i = 0; i < l.size; ++i) {
      const BundleId b = members_[l.begin + i].bundle;
      if (bundles_[b].bottleneck == link) visit(b);
    }
  }

 private:
  friend class Filling;

  struct alignas(64) Link {
    double capacity = 0;
    double frozen = 0;                            // Σ load · level of the members limited elsewhere
    double open = 0;                              // Σ load of the members limited here or not settled yet
    double level = kUnlimited;                    // infinite = not saturated
    double key = kUnlimited;                      // the lowest key with which it waits in the heap
    std::uint32_t begin = 0, size = 0, room = 0;  // its slab of members_
    std::uint32_t open_members = 0;               // counted in `open`
    std::uint32_t round = 0;                      // of the last touch
    std::uint8_t flags = 0;
  };

  struct Bundle {
    double level = kUnlimited;
    std::uint32_t bottleneck = kNone;
    std::uint32_t begin = 0, size = 0;  // its slab of entries_
    std::uint32_t flows = 0;
    double cap = kUnlimited;  // in units of level
    double weight = 0;
    std::uint64_t hash = 0;
    bool moved = false;  // is in the list of moves
    bool fresh = true;   // made since the last solve
  };

  // A bundle's path and a link's members point at each other, so that leaving costs one exchange a link.
  struct Entry {
    LinkId link;
    std::uint32_t slot;  // in the link's slab
    double load;         // weight · share
    double share;
  };
  struct Member {
    BundleId bundle;
    std::uint32_t entry;  // index into entries_
    double load;
  };

  // When water rises to `key`, look at link `id` (or, from links().size() on, at the cap of a bundle).
  struct Event {
    double key;
    std::uint32_t id;
  };

  // What one run of the filling works with; kept so that a later run allocates nothing.
  struct Workspace {
    std::vector<Event> heap;
    std::vector<LinkId> queued, changed;
    std::vector<Move> moves;
  };

  void begin_change();
  bool solve_components();
  void run_parts();
  bool worth_threads() const;
  BundleId join_path(double weight, double cap);
  BundleId find(double cap, std::uint64_t hash) const;
  BundleId make(double cap, std::uint64_t hash);
  std::uint64_t hash_of_path(double cap) const;
  bool same_path(const Bundle& bundle, double cap) const;
  void make_entries(BundleId id);
  void drop_entries(BundleId id);
  void set_weight(BundleId id, double weight);
  std::uint32_t add_member(LinkId link, Member member);
  void index_insert(BundleId id);
  void index_erase(BundleId id);
  void index_grow();
  std::size_t place_of(std::uint64_t hash) const { return std::size_t(hash) & (index_.size() - 1); }

  Options options_;
  std::vector<Link> links_;
  std::vector<Bundle> bundles_;
  std::vector<BundleId> free_bundles_, ended_;
  std::size_t live_bundles_ = 0, fresh_bundles_ = 0;
  std::size_t hops_ = 0;  // of all bundles
  SlabArray<Entry> entries_;
  SlabArray<Member> members_;
  std::vector<BundleId> index_;      // open addressing by hash; kNone = free
  std::vector<Hop> path_;            // of the flow that is joining, each link once
  std::vector<std::uint32_t> seen_;  // by link: its place in path_ plus one
  Workspace work_;
  std::vector<Workspace> parts_;  // of the threads
  bool solved_ = true;
  std::uint32_t round_ = 0;  // of changes and their solve
};

}  // namespace trunkline::network
