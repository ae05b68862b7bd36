// What lossless networks add to fair shares: ports that pause the ports before them, who suffers from it, what congestion control costs.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network/fabric_run.hpp"

namespace trunkline::network {

enum class Lossless {
  fair,       // congestion control without cost: max-min shares, no port ever pauses another
  credits,    // InfiniBand: a port sends only what the next one has buffers for, per virtual lane
  pfc,        // RoCE: a port whose buffer fills pauses the one before it, per priority; no end-to-end control
  pfc_dcqcn,  // RoCE with DCQCN: senders are slowed one by one, so pauses do not last; rates take time to come back
};
std::string name_of(Lossless kind);

// Reaction points with the parameters of Zhu et al., SIGCOMM'15.
struct Dcqcn {
  Seconds timer = microseconds(55);  // between two increases
  int recovery = 5;                  // increases that halve the gap to the rate before the cut
  double additive = 1e-3;  // part of the line rate by which the goal rises at each increase after those (there 40 Mb/s of 40 Gb/s)
  Bandwidth least_rate = gbit_per_s(0.01);  // no rate falls below
};

struct LosslessOptions {
  Lossless kind = Lossless::fair;
  int lanes = 1;                  // virtual lanes or lossless priorities in use; a queue pair keeps to one of them
  Bytes buffer = Bytes(1 << 20);  // what a port takes in for one lane before it holds back the port before it
  Dcqcn dcqcn;
};

// One queue pair on one path, links in the order in which they are crossed.
struct LosslessFlow {
  std::vector<Hop> path;
  Bytes size;
  int lane = 0;
  double weight = 1;
};

struct LosslessRates {
  std::vector<double> fair, real;  // bytes per second, a flow each: max-min shares, and what pausing leaves of them
  std::vector<bool> victim;        // slowed although no link of its own path is full
  std::vector<LinkId> paused;      // links held back by the next one, ascending
  int rounds = 0;                  // of sharing anew
};

// Rates of long transfers that all run at once, when full ports hold back the ports before them.
//
// Model: max-min shares first. A port that is full holds back each port that feeds it with flows which bring more than it passes on, once
// their surplus would overfill its buffer: Σ size · (1 − share / rate of arrival) > buffer. A port held back passes the flows of one lane
// on in the order of arrival, which are equal shares of it: every flow of that lane there gets no more than the slowest one. So pausing
// spreads towards the sources; then shares are worked out again, until nobody is slowed any more. `fair` and `pfc_dcqcn` stop at the
// shares. Units: bytes per second. Ignored: when pauses come and go (a port is either held back or not), buffers shared between ports,
// deadlock, unfairness between ports of one switch. Spraying holds back all ways into a full leaf at once (Clos::grouped). Sources: DCQCN
// (Zhu et al., SIGCOMM'15, section 2.2: head-of-line blocking, victim flows, parking lots); tree saturation of credits: Pfister and Norton,
// IEEE ToC 1985. Cost: a solve and a pass over all hops a round; a few rounds.
LosslessRates lossless_rates(std::span<const double> capacities, std::span<const LosslessFlow> flows, const LosslessOptions& options);

struct LosslessRun {
  std::size_t flows = 0, victims = 0, unserved = 0;  // demands
  std::size_t paused_links = 0;                      // when all run at once
  struct {
    Bandwidth mean, min;
  } fair, real, victim_rate;                       // of demands; victim_rate.min: the worst victim
  Seconds completion_fair, completion;             // mean over demands
  Seconds finish_fair, finish;                     // last demand complete; with what pausing or convergence adds
  Bytes lost_to_convergence;                       // DCQCN: bytes that could have been sent while rates came back
  std::vector<std::string> paused, victims_named;  // the first few of each
};

// The demands of a traffic, all together, under a lossless network: as run_traffic, beside what pausing does to it. Demands are cut into
// run.queue_pairs as there; queue pairs take the lanes in turn. Finish: shares are worked out anew whenever a demand
// ends (those within 1 % of the time so far end together). DCQCN adds, each time a share rises, the time to come back to it
// (dcqcn_recovery). Starts other than 0 are not modelled: all demands start together. Cost: O(distinct finishes × rounds × solve); for up
// to some 10⁴ flows.
LosslessRun run_lossless(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& run, const LosslessOptions& options);

// How long DCQCN takes from rate `from` (just after a rival left) to `to`, and what is not sent meanwhile, ∫(to − r)dt. The rate was cut
// from `from` last: each timer first halves the gap to the goal `recovery` times, then the goal rises by `additive`. Ignores: the byte
// counter (timer and counter each drive half of the increases in the paper), hyper increase, marks on the way up.
struct Recovery {
  Seconds time;
  Bytes lost;
};
Recovery dcqcn_recovery(Bandwidth from, Bandwidth to, Bandwidth line, const Dcqcn& dcqcn);

// What a port has to take in after it has asked for silence: what is on the wire both ways, and a packet that each end had begun.
//   2 · rate · wire + 2 · packet        Ignores: the time the other end takes to react (add it to `wire`).
Bytes pause_headroom(Bandwidth rate, Seconds wire, Bytes packet);

// A link with credits: no more than the buffer of the far end per round trip, min(line, buffer / round trip).
Bandwidth credit_rate(Bandwidth line, Bytes buffer, Seconds round_trip);

}  // namespace trunkline::network
