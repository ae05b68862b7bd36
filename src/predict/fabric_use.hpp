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
// Model: share of kind k = Σ over sets A of the other kinds of P(A) · share(k | k and A active). Each other kind is active at
// random for the part of the passes that its exchanges take; share(k | set) is what the slowest group keeps in the max-min solution
// of all flows of those kinds (network::Contention; each set is solved once). What the passes do not hide of gradient traffic comes
// after them, with nothing beside it. Lower shares lengthen exchanges, which changes P: iterated until nothing moves.
// Tensor-parallel traffic inside NVLink domains stays with the collective model; latencies too. The switches' hashes and the places
// of the nodes are drawn by the platform's seed.
// Ignores: which exchanges of the passes really coincide (those of one layer never meet on one NIC); trees (every collective counts
// as rings); lossless effects (network/lossless.hpp).
// Cost: n kinds that leave NVLink domains (two to four, as a rule): up to 2^n − 1 solves and some tens of step times. On one core,
// Llama-3.1-405B on 16,384 GPUs: 49,152 flows in 4 queue pairs each, 3 solves, 0.25 s, 110 MB; DeepSeek-V3 on 102,400 GPUs:
// 6.1 million flows, 15 solves, half a minute, 1.8 GB.
Result<FabricUse> limit_by_fabric(const FabricInput& input, timeline::Domains& domains);

}  // namespace trunkline::predict
