// Kinds of traffic that meet on one fabric (all data-parallel rings of a job, all copies between its pipeline stages, …): the share of its
// host links that each keeps, for any set of kinds that are active at once.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "network/fabric.hpp"
#include "network/fabric_run.hpp"

namespace trunkline::network {

struct HostPair {
  int from = 0, to = 0;
};

// Flows that move at one rate: the hops of a ring, which passes on no more than its slowest hop brings. Or a single flow.
struct Strand {
  std::span<const HostPair> flows;
  double weight = 1;        // against other strands on a full link; a collective's flows of one host together count 1
  double work = 1;          // bytes of each flow, in any unit that the kind's strands share
  std::uint32_t chain = 0;  // strands of one chain follow each other in time (copies along a pipeline); else a number of its own
};

struct TrafficKind {
  std::string name;
  int queue_pairs = 1;  // of each flow, which is cut into that many equal parts, each hashed by itself
  // Calls visit for every strand, in the same order each time; spans need to live during the call only.
  std::function<void(const std::function<void(const Strand&)>& visit)> each;
};

// What tells a strand's queue pairs from those of others between the same hosts (UDP source ports): kinds below 16, chains as they are
// numbered.
int queue_pair_index(int kind, std::uint32_t chain, int queue_pairs, int q);

struct KindShare {
  double slowest = 1;  // time over host links alone, this kind alone / time here: what a collective that waits for its last group sees
  double mean = 1;     // the same of rates, over all strands
};

// Model: max-min fair rates (maxmin.hpp) of all strands of the active kinds at once, every flow of every group on its own path, none
// taken for another. A kind's time is that of its last chain: max over chains of Σ work / rate.
// Ignored: rivals that end early and leave their share; when collectives start. Lossless effects: lossless.hpp.
// Cost: one solve a set of kinds, kept; some 0.3 µs a link that a queue pair crosses, 40 bytes each while it lasts.
class Contention {
 public:
  Contention(const Fabric& fabric, const RoutingOptions& routing) : fabric_(fabric), routing_(routing) {}

  int add(TrafficKind kind);  // its number, 0 to 15

  // `active`: bit k for kind k. One for each kind, in order; those that are not active keep 1.
  const std::vector<KindShare>& shares(std::uint32_t active);

  // Links between switches by what all flows of the kinds would put on them at the rates of host links alone, over their capacity:
  // above 1, somebody is slowed. Descending; LinkUse::utilisation is that ratio.
  std::vector<LinkUse> hottest(std::uint32_t active, int count) const;

  std::size_t kinds() const { return kinds_.size(); }
  const std::string& name(int kind) const { return kinds_[std::size_t(kind)].kind.name; }
  std::size_t flows(int kind) const { return kinds_[std::size_t(kind)].flows; }  // host pairs
  std::size_t unserved(int kind) const { return kinds_[std::size_t(kind)].unserved; }
  std::size_t solves() const { return solves_; }

 private:
  struct Kind {
    TrafficKind kind;
    std::size_t flows = 0, strands = 0, hops = 0, unserved = 0;
    double time_alone = 0, rate_alone = 0;  // over host links only
    std::vector<float> level_alone;         // by strand
  };
  struct Sums {
    double time = 0, rate = 0;
  };

  struct Path {
    std::vector<Hop> hops, way;  // of a strand, of one queue pair
  };

  // The links of a strand in `path.hops`; false where one of its flows has no way.
  bool find_path(const Strand& strand, std::size_t kind, bool hosts_only, Path& path) const;
  template <class LevelOf>
  Sums sums_of(const Kind& kind, LevelOf level_of) const;
  void measure_alone(std::size_t kind);

  const Fabric& fabric_;
  RoutingOptions routing_;
  std::vector<Kind> kinds_;
  std::map<std::uint32_t, std::vector<KindShare>> solved_;
  std::size_t solves_ = 0;
};

}  // namespace trunkline::network
