#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>

#include "compare/causes.hpp"
#include "compare/promise.hpp"
#include "compare/ranking.hpp"
#include "compare/trunks.hpp"

namespace trunkline::compare {
namespace {

using measure::Better;
using measure::Measurement;
using measure::Metric;
using measure::Status;

namespace condition = measure::condition;

topology::Platform platform_of(const std::string& text) {
  const auto value = io::parse_yaml(text, "platform.yaml");
  EXPECT_TRUE(value) << value.error().text();
  const auto platform = topology::platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return *platform;
}

Offer stated(const std::string& text) {
  auto offer = offer_of(platform_of(text), {}, calibrate::Store::unsaid);
  EXPECT_TRUE(offer) << offer.error().text();
  return *offer;
}

workload::Job job_of(const std::string& more = "") {
  const auto value = io::parse_yaml(
      "model: llama-2-7b\ntraining: {framework: megatron, recompute: none}\nbatch: {global: 64, micro: 1, sequence: 4096}\n"
      "parallelism: {tp: 4, dp: auto}\n" +
          more,
      "job.yaml");
  const auto job = workload::job_from(*value, ".");
  EXPECT_TRUE(job) << job.error().text();
  return *job;
}

const char* kFast =
    "name: fast\nnode: {type: hgx-h100, count: 2, local_disk: {write: 6 GB/s, read: 12 GB/s, capacity: 28 TB}}\n"
    "fabric: {kind: infiniband, rate: 400 Gb/s}\nstorage: {volume: {write: 8 GB/s, read: 8 GB/s}}\ningest: {line: 10 Gb/s}\nprice: "
    "{amount: 20 CNY, per: gpu-hour}\n";
const char* kSlowNetwork =
    "name: slow network\nnode: {type: hgx-h100, count: 2, nics: {count: 1, kind: roce, rate: 100 Gb/s, near: socket}, "
    "local_disk: {write: 6 GB/s, read: 12 GB/s, capacity: 28 TB}}\n"
    "storage: {volume: {write: 8 GB/s, read: 8 GB/s}}\ningest: {line: 10 Gb/s}\nprice: {amount: 12 CNY, per: gpu-hour}\n";
const char* kSlowEverything =
    "name: slow everything\nnode: {type: hgx-a100-80, count: 2}\nfabric: {kind: roce, rate: 100 Gb/s}\nstorage: {volume: {write: 2 GB/s, "
    "read: 1 GB/s}}\n"
    "ingest: {line: 1 Gb/s}\n";

double step(const calibrate::Applied& a) {
  return predict::predict(job_of(), predict::PlatformModel(a.platform, a.efficiencies)).value().step_s;
}

double sum(const Gap& gap) {
  return std::accumulate(gap.causes.begin(), gap.causes.end(), 0.0, [](double s, const Cause& c) { return s + c.seconds; });
}

TEST(Causes, one_difference_is_the_whole_gap) {
  const auto gap = causes_of(job_of(), stated(kFast), stated(kSlowNetwork), Quantity::step).value();
  ASSERT_EQ(gap.causes.size(), 1u) << gap.causes[1].trunk;
  EXPECT_EQ(gap.causes[0].trunk, "network");
  EXPECT_DOUBLE_EQ(*gap.causes[0].share, 1);
  EXPECT_NE(gap.causes[0].fact.find("8 x 400 Gb/s infiniband"), std::string::npos) << gap.causes[0].fact;
  EXPECT_NE(gap.causes[0].fact.find("→ 1 x 100 Gb/s roce"), std::string::npos) << gap.causes[0].fact;
  EXPECT_GT(gap.other_s, gap.reference_s);
}

// Two trunks: φ1 = ½·[(T1 − T0) + (T12 − T2)].
TEST(Causes, two_differences_closed_form) {
  Offer a = stated(kFast), b = stated(kFast);
  b.name = "other";
  b.applied.platform.node.nics.efficiency *= 0.2;
  b.applied.platform.node.link_share *= 0.3;
  calibrate::Applied network = a.applied, links = a.applied;
  network.platform.node.nics = b.applied.platform.node.nics;
  links.platform.node.link_share = b.applied.platform.node.link_share;
  const double t0 = step(a.applied), tn = step(network), tl = step(links), both = step(b.applied);
  const auto gap = causes_of(job_of(), a, b, Quantity::step).value();
  ASSERT_EQ(gap.causes.size(), 2u);
  for (const Cause& c : gap.causes) {
    const double expected = c.trunk == "network" ? ((tn - t0) + (both - tl)) / 2 : ((tl - t0) + (both - tn)) / 2;
    EXPECT_NEAR(c.seconds, expected, 1e-9 * t0) << c.trunk;
  }
}

TEST(Causes, add_up_to_the_gap_and_turn_their_sign_with_it) {
  for (const char* other : {kSlowNetwork, kSlowEverything}) {
    const auto there = causes_of(job_of(), stated(kFast), stated(other), Quantity::step).value();
    const auto back = causes_of(job_of(), stated(other), stated(kFast), Quantity::step).value();
    EXPECT_NEAR(sum(there), there.other_s - there.reference_s, 1e-12);
    EXPECT_NEAR(sum(back), -sum(there), 1e-12);
    double shares = 0;
    for (const Cause& c : there.causes) shares += *c.share;
    EXPECT_NEAR(shares, 1, 1e-12);
    for (const Cause& c : there.causes) {
      const auto turned = std::find_if(back.causes.begin(), back.causes.end(), [&](const Cause& o) { return o.trunk == c.trunk; });
      ASSERT_NE(turned, back.causes.end()) << c.trunk;
      EXPECT_NEAR(turned->seconds, -c.seconds, 1e-9) << c.trunk;
    }
  }
}

TEST(Causes, equal_platforms_have_none) {
  const auto gap = causes_of(job_of(), stated(kFast), stated(kFast), Quantity::step).value();
  EXPECT_TRUE(gap.causes.empty());
  EXPECT_EQ(gap.reference_s, gap.other_s);
}

TEST(Causes, of_an_epoch_take_in_what_brings_the_data) {
  const auto job = job_of("data: {samples: 1e6, bytes_per_sample: 200 KB, source: ingest, staging: before}\n");
  const auto gap = causes_of(job, stated(kFast), stated(kSlowEverything), Quantity::epoch).value();
  const auto ingest = std::find_if(gap.causes.begin(), gap.causes.end(), [](const Cause& c) { return c.trunk == "ingest"; });
  ASSERT_NE(ingest, gap.causes.end());
  // 200 GB at 0.94 of 1 Gb/s and of 10 Gb/s; both below the disks' rates.
  EXPECT_NEAR(ingest->seconds, 2e11 / (0.94 * 1e9 / 8) - 2e11 / (0.94 * 1e10 / 8), 1e-3);
  EXPECT_FALSE(causes_of(job_of(), stated(kFast), stated(kSlowEverything), Quantity::epoch));
}

// Whatever two platforms differ in, exchanging every trunk of one gives the other: no field is left out. Over all that stand in examples/.
TEST(Trunks, taken_all_together_make_the_other_platform) {
  std::vector<Offer> offers;
  const std::string folder = TRUNKLINE_SOURCE_DIR "/examples/";
  for (const char* file : {"platforms/provider-a.yaml", "platforms/provider-b.yaml", "platforms/provider-c.yaml",
                           "platforms/provider-c-l40s.yaml", "llama2-70b-finetune/network-only.yaml",
                           "llama2-70b-finetune/nvlink-ib400.yaml", "llama2-70b-finetune/pcie-nodes.yaml", "memory-wall/rtx4090.yaml"}) {
    const auto platform = topology::read_platform(folder + file);
    ASSERT_TRUE(platform) << platform.error().text();
    offers.push_back(offer_of(*platform, {}, calibrate::Store::unsaid).value());
  }
  const auto job =
      workload::job_from(io::parse_yaml("model: gpt2-xl\nbatch: {global: 512, sequence: 1024}\n", "job.yaml").value(), ".").value();
  for (const Offer& a : offers) {
    for (const Offer& b : offers) {
      calibrate::Applied mixed = a.applied;
      for (const Trunk& t : differing(a.applied, b.applied)) t.take(mixed, b.applied);
      const auto one = predict::predict(job, predict::PlatformModel(mixed.platform, mixed.efficiencies));
      const auto two = predict::predict(job, predict::PlatformModel(b.applied.platform, b.applied.efficiencies));
      ASSERT_EQ(bool(one), bool(two)) << a.name << ", " << b.name;
      if (one) EXPECT_EQ(one->step_s, two->step_s) << a.name << ", " << b.name;
    }
  }
}

// --- what was measured moves the causes

Measurement with_network(double share_of_line) {
  Measurement m;
  m.file = "measured.json";
  m.context.host = "node00";
  Metric rate{"bandwidth@64MiB", "B/s", Better::higher, std::vector<double>(9, 50e9 * share_of_line)};
  rate.conditions = {{condition::kSize, std::int64_t(64) << 20}, {condition::kEngine, std::string("verbs")}};
  m.probes.push_back({"network.bandwidth", Status::ok, {}, {rate}});
  return m;
}

TEST(Offer, measured_values_enter_and_are_named_as_the_cause) {
  const Offer a = stated(kFast);
  const Offer b = offer_of(platform_of(kFast), with_network(0.4), calibrate::Store::unsaid).value();
  EXPECT_NEAR(b.applied.platform.node.nics.efficiency, 0.4, 1e-6);
  const auto gap = causes_of(job_of(), a, b, Quantity::step).value();
  ASSERT_EQ(gap.causes.size(), 1u);
  EXPECT_EQ(gap.causes[0].trunk, "network");
  EXPECT_NE(gap.causes[0].fact.find("measured: nics.efficiency 0.4"), std::string::npos) << gap.causes[0].fact;
}

TEST(Ranking, by_the_time_of_a_step_with_what_was_measured) {
  const auto ranks = ranking_of(job_of(), {stated(kSlowEverything), stated(kFast),
                                           offer_of(platform_of(kFast), with_network(0.1), calibrate::Store::unsaid).value()})
                         .value();
  ASSERT_EQ(ranks.size(), 3u);
  EXPECT_EQ(ranks[0].platform, "fast");
  EXPECT_EQ(ranks[0].rank, 1);
  EXPECT_LT(ranks[0].step_s, ranks[1].step_s);
  EXPECT_LE(ranks[1].step_s, ranks[2].step_s);
  for (const Rank& r : ranks) {
    EXPECT_DOUBLE_EQ(r.steps_per_hour, 3600 / r.step_s);
    EXPECT_NEAR(r.efficiency, r.speedup * r.baseline_gpus / r.gpus, 1e-12);
    EXPECT_FALSE(r.bandwidth->measured);
  }
  EXPECT_DOUBLE_EQ(ranks[0].per_1000_steps->amount, 20.0 * 16 * 1000 / ranks[0].steps_per_hour);
}

// --- promises

TEST(Promise, pass_shortfall_and_undecided) {
  const calibrate::Machine machine(platform_of(kFast));
  const double promised =
      std::min(machine.platform.node.nics.rate * machine.platform.node.nics.efficiency, machine.platform.node.nics.slot).si();
  const auto kept = [&](std::vector<double> shares) {
    Measurement m = with_network(1);
    for (double& s : shares) s *= promised;
    m.probes[0].metrics[0].samples = shares;
    return check_promise(m, machine).rows.at(0);
  };
  EXPECT_EQ(kept({0.96, 0.95, 0.97, 0.96, 0.95, 0.97}).kept, Kept::pass);
  EXPECT_EQ(kept({0.80, 0.81, 0.79, 0.80, 0.81, 0.80}).kept, Kept::shortfall);
  EXPECT_EQ(kept({0.85, 0.95, 0.86, 0.94, 0.87, 0.93}).kept, Kept::undecided);
  EXPECT_EQ(kept({0.95}).kept, Kept::pass);  // one repetition: its value alone
  EXPECT_EQ(kept({0.85}).kept, Kept::shortfall);
  EXPECT_FALSE(kept({0.85}).low);
  EXPECT_NEAR(*kept({0.85}).share, 0.85, 1e-12);
}

TEST(Promise, times_count_the_other_way_round) {
  const calibrate::Machine machine(platform_of(kFast));
  Metric time{"time@1GiB", "s", Better::lower, {}};
  time.conditions = {
      {condition::kSize, std::int64_t(1) << 30}, {condition::kRanks, std::int64_t(16)}, {condition::kNodes, std::int64_t(2)}};
  const double promised = calibrate::expected(machine, "collective.all_reduce", time)->value;
  Measurement m;
  time.samples = {promised * 2};
  m.probes.push_back({"collective.all_reduce", Status::ok, {}, {time}});
  const auto check = check_promise(m, machine);
  EXPECT_NEAR(*check.rows.at(0).share, 0.5, 1e-12);
  EXPECT_TRUE(check.shortfall());
}

TEST(Promise, a_failed_probe_falls_short_and_a_waived_one_does_not) {
  Measurement m;
  m.probes = {{"storage.write", Status::failed, "No space left on device"}, {"gpu.gemm", Status::waived, "no GPU"}};
  const auto check = check_promise(m, calibrate::Machine(platform_of(kFast)));
  ASSERT_EQ(check.rows.size(), 1u);
  EXPECT_TRUE(check.shortfall());
  EXPECT_EQ(check.rows[0].reason, "failed: No space left on device");
}

TEST(Promise, what_no_platform_file_states_is_listed_apart) {
  Measurement m;
  Metric p50{"p50@8B", "s", Better::lower, {3e-6}};
  m.probes.push_back({"network.latency", Status::ok, {}, {p50}});
  const auto check = check_promise(m, calibrate::Machine(platform_of(kFast)));
  EXPECT_TRUE(check.rows.empty());
  ASSERT_EQ(check.unpromised.size(), 1u);
  EXPECT_FALSE(check.shortfall());
}

}  // namespace
}  // namespace trunkline::compare
