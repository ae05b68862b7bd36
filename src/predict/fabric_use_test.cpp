// predict with Network::flow: equal to the NICs alone where the fabric limits nothing, slower where it does, never slower with more of it.
#include "predict/fabric_use.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/rng.hpp"
#include "predict/prediction.hpp"

namespace trunkline::predict {
namespace {

using topology::Placement;
using topology::Routing;
using workload::Job;
using workload::Sharding;

topology::Platform platform_of(int nodes, Routing routing = Routing::ecmp, Placement placement = Placement::packed,
                               const char* type = "hgx-h100") {
  topology::Platform p;
  p.name = type;
  p.file = "platform.yaml";
  p.node = *topology::node_type(type);
  p.nodes = nodes;
  p.fabric.present = nodes > 1;
  p.fabric.tiers = nodes > 256 ? 3 : 2;
  p.fabric.ports = 64;
  p.fabric.routing = routing;
  p.fabric.placement = placement;
  return p;
}

Job job_of(int tp, int pp, int cp, int dp, Sharding sharding = Sharding::zero1, const char* model = "llama-2-70b") {
  Job job;
  job.file = "job.yaml";
  job.model = *workload::builtin_model(model);
  job.framework = workload::Framework::megatron;
  job.recompute = workload::Recompute::full;
  job.batch = {std::int64_t(dp) * pp * 2, 1, 4096};
  job.parallelism.tp = tp;
  job.parallelism.pp = pp;
  job.parallelism.cp = cp;
  job.parallelism.dp = dp;
  job.parallelism.sharding = sharding;
  return job;
}

Prediction predicted(const Job& job, const topology::Platform& platform, Network network = Network::flow) {
  Options options;
  options.network = network;
  auto p = predict::predict(job, platform, options);
  EXPECT_TRUE(p) << (p ? "" : p.error().text());
  return p ? *std::move(p) : Prediction{};
}

const KindUse* kind_of(const Prediction& p, const std::string& name) {
  if (!p.fabric) return nullptr;
  const auto& kinds = p.fabric->kinds;
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const KindUse& kind) { return kind.name == name; });
  return found == kinds.end() ? nullptr : &*found;
}

// Jobs on 64 nodes whose traffic leaves the nodes in different ways.
std::vector<Job> jobs() {
  Job experts = job_of(1, 4, 1, 128, Sharding::zero1, "qwen3-30b-a3b");
  experts.parallelism.ep = 32;
  Job interleaved = job_of(8, 4, 1, 16);
  interleaved.parallelism.vpp = 2;
  return {job_of(8, 1, 1, 64),
          job_of(8, 4, 1, 16),
          job_of(8, 2, 4, 8),
          job_of(1, 1, 1, 512, Sharding::zero3),
          job_of(2, 2, 1, 128),
          interleaved,
          experts};
}

}  // namespace

// Where switches spread everything evenly and carry what the NICs bring, a kind alone keeps its NICs; the little that is lost are moments
// in which kinds share a NIC.
TEST(FabricUse, AnIdealFabricLeavesWhatTheNicsGive) {
  for (const auto routing : {Routing::ideal, Routing::spray, Routing::adaptive}) {
    for (const Job& job : jobs()) {
      const auto platform = platform_of(64, routing);
      const Prediction nic = predicted(job, platform, Network::nic), flow = predicted(job, platform);
      EXPECT_FALSE(nic.fabric);
      ASSERT_TRUE(flow.fabric);
      EXPECT_NEAR(flow.fabric->nic_step_s,
                  nic.breakdown.compute_s + nic.breakdown.exposed_comm_s + nic.breakdown.bubble_s + nic.breakdown.other_s, 1e-11);
      EXPECT_GE(flow.step_s, nic.step_s);
      EXPECT_LE(flow.step_s, nic.step_s * 1.01) << flow.fabric->fabric;
      for (const auto& kind : flow.fabric->kinds) EXPECT_NEAR(kind.alone, 1, 1e-6) << kind.name;
    }
  }
}

// A leaf with a quarter of its bandwidth upwards, everything spread evenly: one flow a ring leaves a leaf of four nodes and has all of it;
// a pipeline of stages a leaf long sends from every NIC at once, there and back, and has a quarter.
TEST(FabricUse, OversubscriptionCostsWhatCrossesIt) {
  auto platform = platform_of(64, Routing::spray);
  platform.fabric.ports = 40;
  platform.fabric.oversubscription = 4;
  const Prediction p = predicted(job_of(8, 16, 1, 4), platform);
  const KindUse *data = kind_of(p, "data-parallel"), *pipeline = kind_of(p, "pipeline");
  ASSERT_TRUE(data && pipeline);
  EXPECT_NEAR(data->alone, 1, 1e-6);
  EXPECT_NEAR(pipeline->alone, 0.25, 1e-6);
  EXPECT_GT(pipeline->asked, 3.99);
  EXPECT_GT(p.step_s, p.fabric->nic_step_s);
}

// Every ring neighbour, every copy between stages: 16 stages · 8 rails · rings of 128, and 15 boundaries (16 interleaved) there and back.
TEST(FabricUse, CountsEveryFlowOfALargeJob) {
  Job job = job_of(8, 16, 1, 128, Sharding::zero1, "llama-3.1-405b");
  job.parallelism.vpp = 2;
  const Prediction p = predicted(job, platform_of(2048));
  ASSERT_TRUE(p.fabric);
  ASSERT_EQ(p.fabric->kinds.size(), 2U);
  EXPECT_EQ(kind_of(p, "data-parallel")->flows, 16'384U);
  EXPECT_EQ(kind_of(p, "pipeline")->flows, 2U * 16 * 1024);
  EXPECT_EQ(p.fabric->solves, 3U);
  EXPECT_EQ(p.fabric->unserved, 0U);
  EXPECT_GT(p.step_s, p.fabric->nic_step_s);
}

TEST(FabricUse, ScatteredNodesCollideMore) {
  const Job job = job_of(8, 1, 1, 64);
  const double packed = kind_of(predicted(job, platform_of(64)), "data-parallel")->share;
  const double fragmented = kind_of(predicted(job, platform_of(64, Routing::ecmp, Placement::fragmented)), "data-parallel")->share;
  const double scattered = kind_of(predicted(job, platform_of(64, Routing::ecmp, Placement::scattered)), "data-parallel")->share;
  EXPECT_LT(scattered, fragmented);
  EXPECT_LT(fragmented, packed);
  EXPECT_LT(packed, 1);
}

TEST(FabricUse, FollowsTheSeedAlone) {
  const Job job = job_of(8, 4, 1, 16);
  auto platform = platform_of(64);
  const Prediction a = predicted(job, platform), b = predicted(job, platform);
  EXPECT_EQ(a.step_s, b.step_s);
  platform.fabric.seed = 7;
  EXPECT_NE(predicted(job, platform).fabric->kinds.front().mean, a.fabric->kinds.front().mean);
}

// Twice the queue pairs of everything: a split closer to even.
TEST(FabricUse, MoreQueuePairsHelp) {
  const Job job = job_of(8, 1, 1, 64);
  auto platform = platform_of(64, Routing::ecmp, Placement::scattered);
  double before = 0;
  for (const int pairs : {1, 4, 16, 64}) {
    platform.fabric.queue_pairs = pairs;
    const double share = kind_of(predicted(job, platform), "data-parallel")->share;
    EXPECT_GT(share, before) << pairs;
    before = share;
  }
}

// Whatever gets faster between the nodes, no step takes longer.
TEST(FabricUse, MoreBandwidthNeverSlowsAStep) {
  Rng rng(5);
  const auto all = jobs();
  for (int i = 0; i < 40; ++i) {
    const Job& job = all[rng.below(all.size())];
    constexpr Routing kRoutings[] = {Routing::ideal, Routing::ecmp, Routing::pinned, Routing::spray, Routing::adaptive};
    constexpr Placement kPlacements[] = {Placement::packed, Placement::scattered, Placement::fragmented};
    auto platform = platform_of(64, kRoutings[rng.below(5)], kPlacements[rng.below(3)]);
    platform.fabric.seed = rng.next() % 1000;
    const Prediction slow = predicted(job, platform);
    platform.node.nics.rate = platform.node.nics.rate * (1 + 2 * rng.uniform());
    platform.node.nics.slot = platform.node.nics.slot * 3;
    EXPECT_LE(predicted(job, platform).step_s, slow.step_s * (1 + 1e-9)) << i;
  }
}

TEST(FabricUse, NothingLeavesOneNode) {
  const Prediction p = predicted(job_of(8, 1, 1, 1, Sharding::none, "llama-2-7b"), platform_of(1));
  EXPECT_FALSE(p.fabric);
}

// Rails that nothing joins: rings and stages stay on their rails and are served like those of a rail-optimised fabric.
TEST(FabricUse, RailOnlyServesWhatStaysOnItsRail) {
  auto platform = platform_of(64, Routing::spray);
  platform.fabric.rail_optimised = platform.fabric.rail_only = true;
  const Prediction p = predicted(job_of(8, 4, 1, 16), platform);
  ASSERT_TRUE(p.fabric);
  EXPECT_EQ(p.fabric->unserved, 0U);
  for (const auto& kind : p.fabric->kinds) EXPECT_NEAR(kind.alone, 1, 1e-6) << kind.name;
}

// Racks of 18 nodes of four GPUs in one NVLink domain: data parallelism of a rack stays inside it.
TEST(FabricUse, NvlinkDomainsKeepTheirTraffic) {
  const auto platform = platform_of(36, Routing::ecmp, Placement::scattered, "gb200-nvl72");
  const Prediction inside = predicted(job_of(1, 2, 1, 72), platform);
  ASSERT_TRUE(inside.fabric);
  EXPECT_EQ(kind_of(inside, "data-parallel"), nullptr);
  ASSERT_NE(kind_of(inside, "pipeline"), nullptr);
  EXPECT_EQ(kind_of(inside, "pipeline")->flows, 2U * 72);
}

// 32,768 ranks in all-to-alls of 1,024: 33 million flows.
TEST(FabricUse, MoreFlowsThanCanBeFollowedIsAnError) {
  Job job = job_of(1, 1, 1, 32768, Sharding::zero1, "deepseek-v3");
  job.parallelism.ep = 1024;
  job.model.towers.front().experts.count = 1024;
  auto platform = platform_of(4096);
  platform.fabric.ports = 128;
  Options options;
  options.network = Network::flow;
  const auto p = predict::predict(job, platform, options);
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().text().find("33521664 flows"), std::string::npos) << p.error().text();
}

TEST(FabricUse, AFabricThatIsTooSmallIsAnError) {
  auto platform = platform_of(64);
  platform.fabric.ports = 8;
  Options options;
  options.network = Network::flow;
  const auto p = predict::predict(job_of(8, 1, 1, 64), platform, options);
  ASSERT_FALSE(p);
  EXPECT_NE(p.error().text().find("platform.yaml"), std::string::npos);
}

}  // namespace trunkline::predict
