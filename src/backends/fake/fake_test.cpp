#include "backends/fake/fake.hpp"

#include <gtest/gtest.h>

#include "measure/runner.hpp"

namespace trunkline::backends::fake {
namespace {

using measure::Measurement;
using measure::Status;

topology::Platform two_nodes() {
  const auto value = io::parse_yaml(
      "name: two nodes\n"
      "node: {type: hgx-a100-80, count: 2, local_disk: {write: 6 GB/s, read: 12 GB/s, capacity: 28 TB, iops: 1e6}}\n"
      "fabric: {kind: infiniband, rate: 400 Gb/s}\n"
      "ingest: {line: 10 Gb/s}\n",
      "platform.yaml");
  EXPECT_TRUE(value);
  const auto platform = topology::platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return *platform;
}

Measurement measured(std::uint64_t seed, std::optional<Fault> fault = {}, std::vector<std::pair<std::string, std::string>> set = {}) {
  Machine m = machine(two_nodes(), fault);
  measure::Settings settings;
  settings.seed = seed;
  for (const auto& [name, text] : set) settings.put(name, text);
  std::vector<measure::Probe*> probes;
  for (const auto& p : m.probes) probes.push_back(p.get());
  measure::Observer observer;
  measure::RunOptions options;
  options.per_probe = seconds(300);  // enough for several checkpoints of 30 GB
  return measure::run(*m.environment, probes, settings, options, observer, [](const Measurement&) {}, {});
}

double median(const Measurement& m, const std::string& probe, const std::string& metric) {
  const auto* p = m.find(probe);
  const auto* found = p ? p->find(metric) : nullptr;
  EXPECT_TRUE(found && found->median()) << probe << " " << metric;
  return found && found->median() ? *found->median() : 0;
}

TEST(Fake, same_seed_same_bytes_other_seed_other_samples) {
  EXPECT_EQ(to_json(measured(1)), to_json(measured(1)));
  const auto a = measured(1), b = measured(2);
  EXPECT_NE(a.probes[0].metrics[0].samples, b.probes[0].metrics[0].samples);
  EXPECT_NEAR(median(a, "storage.write", "bandwidth") / median(b, "storage.write", "bandwidth"), 1, 0.02);
}

TEST(Fake, every_probe_of_a_whole_platform_answers_below_its_limit) {
  const auto m = measured(3);
  EXPECT_GE(m.probes.size(), 18u);
  for (const auto& p : m.probes) {
    EXPECT_EQ(p.status, Status::ok) << p.name << ": " << p.reason;
    EXPECT_FALSE(p.metrics.empty()) << p.name;
    for (const auto& metric : p.metrics) {
      EXPECT_GE(metric.samples.size(), 6u) << p.name << " " << metric.name;
      if (const auto share = metric.share_of_limit()) EXPECT_LE(*share, 1) << p.name << " " << metric.name;
    }
  }
}

TEST(Fake, busbw_and_time_of_a_collective_tell_the_same_story) {
  // busbw = size/time · 2(n−1)/n for an all-reduce of n ranks; noise slows both alike.
  const auto m = measured(4);
  const double time = median(m, "collective.all_reduce", "time@256MiB"), busbw = median(m, "collective.all_reduce", "busbw@256MiB");
  EXPECT_NEAR(busbw * time / (double(mib(256).count()) * 2 * 15 / 16), 1, 0.01);
}

TEST(Fake, a_slow_link_slows_the_network_and_what_uses_it_and_nothing_else) {
  const auto sound = measured(5), slow = measured(5, Fault{FaultKind::slow_link, 0.5});
  const auto ratio = [&](const char* probe, const char* metric) { return median(slow, probe, metric) / median(sound, probe, metric); };
  EXPECT_NEAR(ratio("network.bandwidth", "bandwidth@64MiB"), 0.5, 0.02);
  // Eight NICs of 400 Gb/s carry more than the ring inside; at half their rate they no longer do.
  EXPECT_LT(ratio("collective.all_reduce", "busbw@1GiB"), 0.9);
  EXPECT_NEAR(ratio("storage.write", "bandwidth"), 1, 0.001);
  EXPECT_NEAR(ratio("gpu.p2p.write", "bandwidth@gpu0_gpu1"), 1, 0.001);
}

TEST(Fake, a_dying_rank_fails_every_collective_and_keeps_the_samples) {
  const auto m = measured(6, Fault{FaultKind::dying_rank, 0});
  const auto* p = m.find("collective.all_reduce");
  EXPECT_EQ(p->status, Status::failed);
  EXPECT_NE(p->reason.find("signal 9"), std::string::npos);
  EXPECT_FALSE(p->metrics[0].samples.empty());
  EXPECT_EQ(m.find("storage.read")->status, Status::ok);
  EXPECT_TRUE(m.complete);
}

TEST(Fake, a_full_disk_fails_writes_but_not_reads) {
  const auto m = measured(7, Fault{FaultKind::full_disk, 0});
  EXPECT_EQ(m.find("storage.write")->status, Status::failed);
  EXPECT_NE(m.find("storage.write")->reason.find("No space left"), std::string::npos);
  EXPECT_EQ(m.find("storage.checkpoint")->status, Status::failed);
  EXPECT_EQ(m.find("storage.read")->status, Status::ok);
}

TEST(Fake, a_wrong_numa_binding_is_slower_and_recorded) {
  const auto sound = measured(8), wrong = measured(8, Fault{FaultKind::wrong_numa, 0});
  EXPECT_LT(median(wrong, "host.memory_read", "bandwidth"), 0.8 * median(sound, "host.memory_read", "bandwidth"));
  const auto* binding = measure::find(wrong.find("host.memory_read")->metrics[0].conditions, "memory_node");
  ASSERT_TRUE(binding);
  EXPECT_EQ(std::get<std::string>(*binding), "remote");
}

TEST(Fake, a_busy_machine_is_noticed) {
  const auto m = measured(9, Fault{FaultKind::busy_machine, 0.35});
  EXPECT_TRUE(m.probes[0].contention.noticed);
  EXPECT_NE(m.probes[0].warnings.at(0).find("35 %"), std::string::npos);
  EXPECT_FALSE(measured(9).probes[0].contention.noticed);
}

TEST(Fake, conditions_follow_the_options) {
  const auto m = measured(10, {}, {{"no-fsync", ""}, {"depth", "4"}});
  const auto& conditions = m.find("storage.write")->metrics[0].conditions;
  EXPECT_EQ(std::get<bool>(*measure::find(conditions, "fsync")), false);
  EXPECT_EQ(std::get<std::int64_t>(*measure::find(conditions, "depth")), 4);
}

TEST(Fault, text_with_and_without_a_share) {
  EXPECT_EQ(fault_from("slow-link=0.95")->left, 0.95);
  EXPECT_EQ(fault_from("full-disk")->kind, FaultKind::full_disk);
  EXPECT_NE(fault_from("slow-lnk").error().hint.find("slow-link"), std::string::npos);
  EXPECT_FALSE(fault_from("slow-link=2"));
  EXPECT_FALSE(fault_from("slow-link=x"));
}

}  // namespace
}  // namespace trunkline::backends::fake
