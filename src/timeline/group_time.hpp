// How long a step's exchanges run in each of a GPU's groups, hidden or not: how busy each kind of traffic is.
#pragma once

#include "timeline/step.hpp"

namespace trunkline::timeline {

// Bytes of one parameter on the wire when sharded weights are fetched.
double gathered_bytes(const workload::Job& job, const workload::Behaviour& behaviour);

// Seconds a step, of an average GPU.
struct GroupTimes {
  double tensor = 0, context = 0, expert = 0, expert_tensor = 0, data = 0, expert_data = 0, shard = 0, replica = 0, pipeline = 0;
};

// Σ over the step's exchanges of their time in `input.domains`, each as time_step prices it; layers, and what stands before and behind
// them, are shared out evenly over the pipeline stages. Ignores: buckets (one exchange of all their bytes counts), what overlaps what.
// Cost: that of pricing the operations.
GroupTimes group_times(const StepInput& input);

}  // namespace trunkline::timeline
