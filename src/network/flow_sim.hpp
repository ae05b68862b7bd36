// Fluid simulation: flows start, share the links max-min fairly, finish; the clock is integer picoseconds.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "base/units.hpp"
#include "network/maxmin.hpp"

namespace trunkline::network {

using Picoseconds = std::int64_t;
using FlowId = std::uint32_t;

constexpr Picoseconds kNever = std::numeric_limits<Picoseconds>::max();

Picoseconds picoseconds(Seconds t);  // nearest; saturates
constexpr Seconds to_seconds(Picoseconds t) { return seconds(double(t) * 1e-12); }

struct FlowOptions {
  double weight = 1;
  Bandwidth cap = Bandwidth::from_si(kUnlimited);  // of this flow: NIC, PCIe slot, window of its queue pair / round trip
  Seconds latency;                                 // from the last byte sent to the last byte received (hops, wires)
};

// How a set of flows drains over links of given capacities.
//
// Model: between two events every flow sends at its max-min fair rate (maxmin.hpp); a start or a finish changes the rates at once.
// A flow that starts at s and has sent all its bytes at e is complete at e + latency. Times are rounded to whole picoseconds, so
// flows that finish together do so in one event.
// Ignored: packets, ramp-up of congestion control, headers (scale the capacities), loss.
// Cost: an event costs what it moves: links whose share changes and the bundles of flows limited by them.
// Validated by: closed forms (flow_sim_test.cpp), a plain simulation (tests/property/network_flow_sim.cpp), SimGrid's CM02 (bench/network).
class FlowSim {
 public:
  struct Options {
    // 0: exact. Otherwise a fraction, for example 0.001: a finish opens a window of tolerance × its flow's duration, at most to the
    // next start. All that finish in it are recorded at the times that the present rates give and leave in one step at its end.
    // Links whose share would change by less than that fraction keep it. So a completion is off by about tolerance × the
    // duration of the flows that share its links: little for each of many alike, more for a short one among long ones.
    double tolerance = 0;
  };

  explicit FlowSim(std::span<const double> capacities, Options options);
  explicit FlowSim(std::span<const double> capacities) : FlowSim(capacities, Options()) {}

  // May be called between steps too; a start before now() counts as now(). An empty path without a cap takes no time but the latency.
  FlowId add(std::span<const LinkId> path, Bytes size, Picoseconds start, const FlowOptions& options = {});
  FlowId add(std::span<const Hop> path, Bytes size, Picoseconds start, const FlowOptions& options = {});

  // Goes on to the next finish (in tolerance mode: the next window of them). False when nothing is left that can ever finish.
  bool step();
  void run() {
    while (step()) {
    }
  }

  Picoseconds now() const { return now_; }
  std::span<const FlowId> finished() const { return finished_; }  // in the last step, by time
  std::size_t flows() const { return flows_.size(); }

  // When the last byte arrived; absent while it has not (a flow over a link of capacity 0 never does).
  std::optional<Picoseconds> completion(FlowId flow) const;
  Picoseconds start(FlowId flow) const { return flows_[flow].start; }
  Bandwidth rate(FlowId flow) const;  // now; zero before its start and after its end

  const MaxMin& sharing() const { return sharing_; }

  struct Counts {
    std::uint64_t solves = 0, changed_links = 0, moved_bundles = 0;
  };
  const Counts& counts() const { return counts_; }

 private:
  static constexpr std::uint32_t kAbsent = 0xFFFFFFFF;

  // Flows of one bundle, and all bundles with one bottleneck, get the same service per unit of weight. So one clock a bottleneck says
  // when its next flow finishes; a change of its rate touches that clock and no flow.
  struct Clock {
    double served = 0;  // per unit of weight, up to `since`
    double rate = 0;
    Picoseconds since = 0;
    double target = kUnlimited;  // the lowest of its bundles'
    Picoseconds due = kNever;
    std::uint32_t place = kAbsent;  // in queue_
    bool stale = false;             // target has to be looked up again
  };

  struct Flow {
    double target = 0;  // service at which it is done, on its bundle's own scale
    double weight = 1;
    Picoseconds start = 0;
    Picoseconds latency = 0;
    Picoseconds done = kNever;
    FlowId child = kAbsent, sibling = kAbsent;  // pairing heap of the bundle
    BundleId bundle = kAbsent;
  };

  struct BundleState {
    FlowId first = kAbsent;  // the next to finish
    double shift = 0;        // clock of its bottleneck − own scale
    std::uint32_t clock = kAbsent;
  };

  struct Waiting {
    Picoseconds start;
    FlowId flow;
    std::uint32_t begin, size;  // its path in paths_
    double bytes, cap;
  };

  FlowId add_path(Bytes size, Picoseconds start, const FlowOptions& options);
  void start_due(Picoseconds end);
  void start_flow(const Waiting& waiting);
  void finish_due(Picoseconds end);
  void finish_bundle(BundleId id, std::uint32_t clock, Picoseconds end);
  void leave_finished();
  void share_anew();
  void move_bundle(const MaxMin::Move& move);
  void refresh(std::uint32_t clock, double rate);
  void look_up_target(std::uint32_t clock);

  std::uint32_t clock_of(BundleId bundle, std::uint32_t bottleneck) const;
  double served(const Clock& clock) const;
  Picoseconds due(const Clock& clock, double target) const;
  Picoseconds window_end() const;
  FlowId merged(FlowId a, FlowId b);
  FlowId without_first(FlowId first);
  void requeue(std::uint32_t clock);
  void sift_up(std::size_t place);
  void sift_down(std::size_t place);
  bool earlier(std::uint32_t a, std::uint32_t b) const;

  Options options_;
  MaxMin sharing_;
  Picoseconds now_ = 0;
  std::vector<Flow> flows_;
  std::vector<BundleState> bundles_;
  std::vector<Clock> clocks_;         // one a link, then one a bundle for those that their own cap limits
  std::vector<std::uint32_t> queue_;  // heap of clocks by (due, id)
  std::vector<Waiting> waiting_;      // heap by (start, id)
  SlabArray<Hop> paths_;
  std::vector<Hop> path_;  // of the flow being added
  std::vector<FlowId> finished_;
  std::vector<FlowId> merging_;
  Counts counts_;
};

}  // namespace trunkline::network
