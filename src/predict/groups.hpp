// Which ranks form a job's groups: rank order is tensor, context, data (expert groups inside data), pipeline, fastest first.
#pragma once

#include "workload/job.hpp"

namespace trunkline::predict {

// Groups of `size` ranks that stand `stride` apart; stride · size ranks in a row hold `stride` of them.
struct GroupShape {
  int stride = 1, size = 1;
};

struct JobGroups {
  GroupShape tensor, context, data, expert_tensor, expert, expert_data, shard, replica, pipeline;
};

// `per_node`: GPUs of a node, which one copy of sharded weights spans where the job states no other number.
JobGroups groups_of(const workload::Parallelism& parallelism, int per_node);

}  // namespace trunkline::predict
