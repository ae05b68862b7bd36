// What the fabric between the nodes leaves of a job's NICs: every flow of every group on its own path, all kinds of traffic together.
#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "timeline/group_time.hpp"
#include "timeline/step.hpp"

namespace trunkline::predict {

// One kind of traffic that leaves NVLink domains.
struct KindUse {
  std::string name;       // "data-parallel"
  std::size_t flows = 0;  // between two NICs, before they are cut into queue pairs
  double busy = 0;        // share of the step in which a GPU's exchanges of this kind run
  double share = 1;       // of the rate of its NICs, what the slowest group keeps: what the step is timed with
  double alone = 1;       // the same if no other kind were active
  double mean = 1;        // of all groups, this kind alone
  std::string hottest;    // link between switches of which this kind alone asks most; empty = none crossed
  double asked = 0;       // of it, in parts of what it carries
};

struct FabricUse {
  std::string fabric;   // in words
  int queue_pairs = 0;  // of one flow
  std::vector<KindUse> kinds;
  std::size_t flows = 0;
  std::size_t unserved = 0;  // flows without a way
  std::size_t solves = 0;    // sets of active kinds looked at
  double nic_step_s = 0;     // the step if the NICs alone limited it, without data and checkpoints
  double step_s = 0;         // with the fabric, likewise
};

class PlatformModel;

// Times the step and tells each kind's seconds of it.
struct FabricInput {
  const PlatformModel& platform;
  const workload::Job& job;  // settled
  const workload::StepWork& work;
  std::function<timeline::StepResult(const timeline::Domains&)> time_step;
  std::function<timeline::GroupTimes(const timeline::Domains&)> group_times;
};

// Lowers the network rates of `domains` to what the fabric leaves each group, and says why.
//
// Model: share of kind k = Σ over sets A of the other kinds of P(A) · share(k | k and A active), where each other kind is active at random
// for the part of the step that its exchanges take; share(k | set) is what the slowest group keeps in the max-min solution of all flows of
// those kinds (network::Contention; each set is solved once). Lower shares lengthen exchanges, which raises P: iterated from the shares of
// each kind alone to the least fixed point, so that nothing faster makes a step slower. Tensor-parallel traffic inside NVLink domains stays
// with the collective model; latencies too. The switches' hashes and the places of the nodes are drawn by the platform's seed. Ignores:
// which kinds really coincide (gradients meet the last backward only); trees (every collective counts as rings); lossless effects. Cost:
// kinds that leave NVLink domains, n ≤ 4 as a rule: up to 2^n − 1 solves (0.3 µs a link that a queue pair crosses), n · 10 step times.
Result<FabricUse> limit_by_fabric(const FabricInput& input, timeline::Domains& domains);

}  // namespace trunkline::predict
