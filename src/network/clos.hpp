// Folded Clos networks of switches (leaf-spine, three tiers, rail-optimised) as directed links, and the ways through them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "network/maxmin.hpp"
#include "topology/platform.hpp"

namespace trunkline::network {

// A host here is one port of the fabric: one NIC. With `rails` NICs a node, NIC r of node n is host n·rails + r.
struct ClosSpec {
  int tiers = 2;                               // of switches: 1 (a single one, or one a rail and no way between rails), 2 or 3
  int hosts = 0;                               // ports in use
  int hosts_per_leaf = 32;                     // ports of a leaf towards hosts
  int rails = 1;                               // > 1: leaf r of a group takes NIC r of each of its hosts_per_leaf nodes
  bool rail_only = false;                      // rails are networks of their own: no way from one to another (one or two tiers)
  int spines = 32;                             // two tiers: in all (rail-only: on each rail); three tiers: in each pod
  int leaf_links = 1;                          // parallel links between a leaf and a spine above it
  int leaves_per_pod = 0;                      // three tiers only
  int cores = 0;                               // three tiers only: core switches above spine j of every pod
  int spine_links = 1;                         // parallel links between a spine and a core above it
  Bandwidth host_rate, leaf_rate, spine_rate;  // of one link, one direction: NIC, leaf–spine, spine–core
  Seconds wire;                                // each link
  Seconds switching;                           // each switch
  Seconds ends;                                // both NICs of a path together
  Bytes packet = Bytes(0);                     // what a switch receives whole before it sends it on; 0 = cut-through
};

// A fabric of equal switches of `ports` ports for that many hosts, all links at `rate`: the fewest switches that keep
// hosts : uplinks of a leaf at no more than `oversubscription` : 1 (and in a three-tier fabric spines without oversubscription).
// Two tiers reach ports²/2 hosts, three ports³/4 (oversubscription 1). An error names the tier that is too small.
struct ClosNeed {
  int hosts = 0;
  int tiers = 2;
  int ports = 64;
  double oversubscription = 1;
  int rails = 1;
  Bandwidth rate;
  bool rail_only = false;
};
Result<ClosSpec> clos_for(const ClosNeed& need);

// The most hosts that `tiers` tiers of such switches carry: ports; ports·down; ports/2·down·ports, with down = hosts of a leaf.
std::int64_t most_hosts(int tiers, int ports, double oversubscription = 1);

enum class Direction { up, down };

// The links of one fabric. Capacities may be changed (a failed or slow link) before paths are asked for.
// Cost: memory linear in links; a path O(its length), with failed links O(choices).
class Clos {
 public:
  static Result<Clos> build(const ClosSpec& spec);

  const ClosSpec& spec() const { return spec_; }
  int hosts() const { return spec_.hosts; }
  int leaves() const { return leaves_; }
  int pods() const { return pods_; }
  int leaf_of(int host) const;
  // A rail of a rail-only fabric is a pod that no core joins to others.
  int pod_of(int leaf) const { return spec_.tiers == 3 ? leaf / spec_.leaves_per_pod : spec_.rail_only ? leaf % spec_.rails : 0; }
  bool joined(int leaf, int other) const {
    return leaf == other || spec_.tiers == 3 || (spec_.tiers == 2 && pod_of(leaf) == pod_of(other));
  }
  double oversubscription(int tier) const;  // of the links above switch tier 1 or 2: capacity below / capacity above

  // Links. Up is towards the core. A spine is numbered within its pod, a core within those above its spine.
  LinkId host_link(int host, Direction direction) const;
  LinkId leaf_link(int leaf, int spine, int parallel, Direction direction) const;
  LinkId spine_link(int pod, int spine, int core, int parallel, Direction direction) const;
  std::size_t links() const { return capacities_.size(); }            // with the groups below
  std::size_t wires() const { return wires_; }                        // directed physical links: ids below that
  std::span<const double> capacities() const { return capacities_; }  // bytes per second
  std::string name(LinkId link) const;                                // "leaf 3 → spine 7"

  // Multiplies a link's capacity; 0 takes it out of service: no path leads over it any more.
  void scale(LinkId link, double factor);

  int switches(int from, int to) const;  // on the way: 1, 3 or 5; 0 to itself and where there is none
  Seconds latency(int from, int to) const;
  std::int64_t path_count(int from, int to) const;  // in service
  // Every path in service, in order of spine, core and parallel link.
  std::vector<std::vector<LinkId>> paths(int from, int to) const;

  // For traffic that is split over all paths the links above one leaf (or one pod) act as one. As long as all of them have the
  // same capacity, they stand as one link with their sum; sprayed flows then cross six links instead of hundreds.
  bool grouped() const { return regular_; }
  LinkId leaf_group(int leaf, Direction direction) const;
  LinkId pod_group(int pod, Direction direction) const;
  // Adds the load of each group to its wires, evenly.
  void spread_groups(std::span<double> loads) const;

 private:
  friend class Router;

  explicit Clos(const ClosSpec& spec);

  bool in_service(LinkId link) const { return capacities_[link] > 0; }
  bool spine_reaches(int pod, int spine, int leaf) const;  // from a spine to a leaf, of its pod or over a core
  bool core_reaches(int spine, int core, int leaf) const;
  void add_groups();

  ClosSpec spec_;
  int leaves_ = 0, pods_ = 1;
  LinkId leaf_base_ = 0, spine_base_ = 0, group_base_ = 0;
  LinkId leaf_wires_ = 0, spine_wires_ = 0;  // in one direction
  std::size_t wires_ = 0;
  bool regular_ = true, whole_ = true;  // no link scaled; none out of service
  std::vector<double> capacities_;
};

}  // namespace trunkline::network
