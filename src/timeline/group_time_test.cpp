#include "timeline/group_time.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace trunkline::timeline {
namespace {

using collectives::Collective;
using workload::Job;
using workload::Sharding;

// A small Llama on H100s of which nothing is hidden: what groups take is then what the step shows.
struct Setting {
  Job job;
  workload::Behaviour behaviour;
  topology::Platform platform;
  Domains domains;
  Effects effects;

  Setting() {
    workload::Tower t;
    t.layers = 8, t.hidden = 2048, t.heads = 16, t.kv_heads = 16, t.head_dim = 128, t.ffn = 5632, t.gated = true, t.vocab = 32000;
    job.model.towers = {t};
    job.batch = {32, 1, 2048};
    platform.node = *topology::node_type("hgx-h100");
    platform.nodes = 4;
    effects.overlap = false;
    behaviour.bucket = gib(100);  // one bucket
  }

  template <class Act>
  auto with(Act act) const {
    const workload::StepWork work = workload::operations_of(job, behaviour);
    const kernels::Kernels kernels(platform.node.gpu);
    return act(StepInput{job, work, behaviour, platform.node.gpu, kernels, domains, effects, {}});
  }
  GroupTimes times() const {
    return with([](const StepInput& in) { return group_times(in); });
  }
  StepDetail detail() const {
    return with([](const StepInput& in) { return time_step(in).detail; });
  }
};

TEST(GroupTimes, TensorParallelIsWhatTheStepExposes) {
  Setting s;
  s.job.parallelism.tp = 8;
  s.domains.tensor = collectives::domain_of(s.platform, {8, 1, 1});
  EXPECT_GT(s.times().tensor, 0);
  EXPECT_NEAR(s.times().tensor, s.detail().tensor_s, 1e-9 * s.detail().tensor_s);
  EXPECT_EQ(s.times().data, 0);
  EXPECT_EQ(s.times().pipeline, 0);
}

TEST(GroupTimes, GradientsAreWhatTheStepExposes) {
  for (const auto sharding : {Sharding::none, Sharding::zero1}) {
    Setting s;
    s.job.parallelism.dp = 32;
    s.job.parallelism.sharding = sharding;
    s.domains.data = s.domains.shard = s.domains.expert_data = collectives::domain_of(s.platform, {8, 4, 1});
    EXPECT_NEAR(s.times().data, s.detail().data_s, 0.02 * s.detail().data_s) << workload::name_of(sharding);
  }
}

TEST(GroupTimes, ShardedWeightsAreWhatTheStepExposes) {
  Setting s;
  s.job.parallelism.dp = 32;
  s.job.parallelism.sharding = Sharding::zero3;
  s.domains.data = s.domains.shard = s.domains.expert_data = collectives::domain_of(s.platform, {8, 4, 1});
  EXPECT_NEAR(s.times().shard, s.detail().shard_s, 1e-6 * s.detail().shard_s);
  EXPECT_EQ(s.times().data, 0);
}

// Every micro-batch is copied on, and its gradient back, once a chunk.
TEST(GroupTimes, PipelinesCopyThereAndBack) {
  Setting s;
  s.job.parallelism.pp = 4;
  s.job.parallelism.vpp = 2;
  s.domains.pipeline = collectives::domain_of(s.platform, {1, 2, 8});
  const double copy = s.with([](const StepInput& in) {
    return time_of(in.domains.pipeline, Collective::send_recv, scaled(Bytes(1), in.work.towers[0].boundary_bytes), {}).time.si();
  });
  EXPECT_NEAR(s.times().pipeline, 2 * 32 * 2 * copy, 1e-12);
}

}  // namespace
}  // namespace trunkline::timeline
