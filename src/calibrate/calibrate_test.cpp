#include <gtest/gtest.h>

#include <cmath>

#include "calibrate/calibration.hpp"
#include "calibrate/values.hpp"
#include "predict/prediction.hpp"

namespace trunkline::calibrate {
namespace {

using measure::Better;
using measure::Measurement;
using measure::Metric;
using measure::Status;

namespace condition = measure::condition;

topology::Platform platform_of(const std::string& text) {
  const auto value = io::parse_yaml(text, "platform.yaml");
  EXPECT_TRUE(value);
  const auto platform = topology::platform_from(*value);
  EXPECT_TRUE(platform) << platform.error().text();
  return *platform;
}

const char* kCluster =
    "name: two nodes\n"
    "node: {type: hgx-h100, count: 2, local_disk: {write: 6 GB/s, read: 12 GB/s, capacity: 28 TB, iops: 1e6}}\n"
    "fabric: {kind: infiniband, rate: 400 Gb/s}\n"
    "storage: {volume: {write: 8 GB/s, read: 8 GB/s, iops: 120000}}\n"
    "ingest: {line: 10 Gb/s}\n";

// Metrics without samples; what they would be on `truth` is put in by measured_on().
Metric metric(const char* name, const char* unit, Better better, measure::Conditions conditions = {}) {
  Metric m{name, unit, better, {}};
  m.conditions = std::move(conditions);
  return m;
}

measure::Conditions product(std::int64_t m, std::int64_t n, std::int64_t k) {
  return {{"m", m}, {"n", n}, {"k", k}, {"precision", std::string("bf16")}};
}
measure::Conditions message(std::int64_t size, int ranks, int nodes) {
  return {{condition::kSize, size},
          {condition::kRanks, std::int64_t(ranks)},
          {condition::kNodes, std::int64_t(nodes)},
          {condition::kEngine, std::string("nccl")}};
}

std::vector<measure::ProbeResult> all_probes() {
  const std::int64_t mib = 1 << 20;
  std::vector<measure::ProbeResult> out = {
      {"gpu.gemm",
       Status::ok,
       {},
       {metric("rate@bf16", "FLOP/s", Better::higher, product(8192, 8192, 8192)),
        metric("rate@bf16_4096x4096x4096", "FLOP/s", Better::higher, product(4096, 4096, 4096))}},
      {"gpu.memory_copy", Status::ok, {}, {metric("traffic", "B/s", Better::higher, {{condition::kSize, 4096 * mib}})}},
      {"gpu.memory_bound", Status::ok, {}, {metric("traffic@rms_norm", "B/s", Better::higher, {{condition::kSize, 1024 * mib}})}},
      {"gpu.host_copy", Status::ok, {}, {metric("bandwidth@to_gpu", "B/s", Better::higher)}},
      {"gpu.peer_copy", Status::ok, {}, {metric("bandwidth", "B/s", Better::higher)}},
      {"collective.all_reduce",
       Status::ok,
       {},
       {metric("busbw@8B", "B/s", Better::higher, message(8, 8, 1)),
        metric("busbw@256MiB", "B/s", Better::higher, message(256 * mib, 8, 1)),
        metric("busbw@4GiB", "B/s", Better::higher, message(4096 * mib, 8, 1))}},
      {"network.bandwidth",
       Status::ok,
       {},
       {metric("bandwidth@64MiB", "B/s", Better::higher, {{condition::kSize, 64 * mib}, {condition::kEngine, std::string("verbs")}})}},
      {"storage.write",
       Status::ok,
       {},
       {metric("bandwidth", "B/s", Better::higher, {{condition::kFsync, true}, {condition::kCache, std::string("direct")}})}},
      {"storage.read", Status::ok, {}, {metric("bandwidth@direct", "B/s", Better::higher, {{condition::kCache, std::string("direct")}})}},
      {"storage.random_read", Status::ok, {}, {metric("rate", "1/s", Better::higher, {{condition::kCache, std::string("direct")}})}},
      {"ingest.download", Status::ok, {}, {metric("bandwidth", "B/s", Better::higher)}},
  };
  return out;
}

Measurement measured_on(const Applied& truth, Store store = Store::volume) {
  const Machine machine(truth.platform, truth.efficiencies, store);
  Measurement out;
  out.file = "result.json";
  out.context.host = "node00";
  out.probes = all_probes();
  for (auto& p : out.probes) {
    for (auto& m : p.metrics) {
      const auto e = expected(machine, p.name, m);
      EXPECT_TRUE(e) << p.name << " " << m.name << ": " << e.error().message;
      if (e) m.samples = std::vector<double>(9, e->value);
    }
  }
  return out;
}

Applied as_stated(const topology::Platform& platform) { return {platform, kernels::Efficiencies::default_for(platform.node.gpu)}; }

// A machine that differs from what its platform file says, in known ways: calibrate must find exactly these.
TEST(Calibrate, finds_the_shares_that_the_samples_were_made_with) {
  const auto platform = platform_of(kCluster);
  Applied truth = as_stated(platform);
  const std::vector<std::pair<std::string, double>> changes = {{"kernels.matrix.bf16", 0.61},
                                                               {"kernels.memory.copy", 0.88},
                                                               {"kernels.memory.norm_forward", 0.55},
                                                               {"links.share", 0.7},
                                                               {"links.copy_share", 0.75},
                                                               {"pcie.bandwidth", 31e9},
                                                               {"nics.efficiency", 0.83},
                                                               {"storage.volume.write", 3.3e9},
                                                               {"storage.volume.read", 5e9},
                                                               {"storage.volume.iops", 80'000.0},
                                                               {"ingest.rate", 0.9e9}};
  for (const auto& [key, value] : changes) kind_of(key)->put(truth, value);
  const auto c = calibrate({measured_on(truth)}, platform, Store::volume);
  ASSERT_TRUE(c) << c.error().text();
  EXPECT_EQ(c->values.size(), changes.size());
  for (const auto& [key, value] : changes) {
    const Measured* m = c->find(key);
    ASSERT_TRUE(m) << key;
    EXPECT_NEAR(m->value / value, 1, 1e-6) << key;
    EXPECT_GT(m->n, 0u);
    EXPECT_NE(m->from.find("node00"), std::string::npos);
  }
  EXPECT_EQ(c->find("kernels.matrix.bf16")->n, 18u);  // two shapes of nine repetitions
}

TEST(Calibrate, small_messages_say_nothing_about_links_and_that_is_said) {
  const auto platform = platform_of(kCluster);
  const auto c = calibrate({measured_on(as_stated(platform))}, platform, Store::volume).value();
  ASSERT_EQ(c.unused.size(), 1u);
  EXPECT_EQ(c.unused[0].metric, "collective.all_reduce busbw@8B");
  EXPECT_NE(c.unused[0].reason.find("of its time depends on it"), std::string::npos);
}

TEST(Calibrate, several_nodes_say_something_about_cards_where_nothing_measures_them_alone) {
  const auto platform = platform_of(kCluster);
  Applied truth = as_stated(platform);
  truth.platform.node.nics.efficiency = 0.5;
  Measurement m = measured_on(as_stated(platform));
  std::erase_if(m.probes, [](const auto& p) { return p.name == "network.bandwidth" || p.name == "collective.all_reduce"; });
  Metric across = metric("busbw@4GiB", "B/s", Better::higher, message(4LL << 30, 16, 2));
  across.samples = {expected(Machine(truth.platform, truth.efficiencies, Store::volume), "collective.all_reduce", across)->value};
  m.probes.push_back({"collective.all_reduce", Status::ok, {}, {across}});
  const auto c = calibrate({m}, platform, Store::volume).value();
  ASSERT_TRUE(c.find("nics.efficiency"));
  EXPECT_NEAR(c.find("nics.efficiency")->value, 0.5, 0.01);
}

TEST(Calibrate, what_is_not_comparable_is_not_used) {
  const auto platform = platform_of(kCluster);
  Measurement m = measured_on(as_stated(platform));
  for (auto& p : m.probes) {
    if (p.name == "storage.write") measure::set(p.metrics[0].conditions, condition::kFsync, false);
    if (p.name == "network.bandwidth") measure::set(p.metrics[0].conditions, condition::kEngine, std::string("sockets TCP"));
    if (p.name == "collective.all_reduce") {
      for (auto& metric : p.metrics) measure::set(metric.conditions, condition::kEngine, std::string("mpi"));
    }
  }
  const auto c = calibrate({m}, platform, Store::volume).value();
  EXPECT_FALSE(c.find("storage.volume.write"));
  EXPECT_FALSE(c.find("nics.efficiency"));
  EXPECT_FALSE(c.find("links.share"));
  EXPECT_GE(c.unused.size(), 3u);
}

TEST(Calibrate, which_store_was_measured_must_be_said_where_there_are_two) {
  const auto platform = platform_of(kCluster);
  const auto m = measured_on(as_stated(platform));
  const auto unsaid = calibrate({m}, platform, Store::unsaid).value();
  EXPECT_FALSE(unsaid.find("storage.volume.write"));
  EXPECT_TRUE(std::any_of(unsaid.unused.begin(), unsaid.unused.end(),
                          [](const Unused& u) { return u.reason.find("--storage") != std::string::npos; }));
  const auto disk = calibrate({m}, platform, Store::local_disk).value();
  EXPECT_NEAR(disk.find("storage.local_disk.write")->value, 8e9, 1);  // the samples are those of the volume
}

TEST(Calibrate, results_that_say_nothing_are_an_error_with_the_reasons) {
  const auto platform = platform_of("name: one\nnode: {type: hgx-h100, count: 1}\n");
  Measurement m;
  m.file = "host.json";
  Metric copy = metric("bandwidth", "B/s", Better::higher);
  copy.samples = {1e11};
  m.probes.push_back({"host.memory_copy", Status::ok, {}, {copy}});
  const auto c = calibrate({m}, platform, Store::unsaid);
  ASSERT_FALSE(c);
  EXPECT_EQ(c.error().kind, ErrorKind::bad_input);
  EXPECT_EQ(c.error().where.file, "host.json");
}

TEST(CalibrationFile, says_the_same_after_writing_and_reading) {
  const auto platform = platform_of(kCluster);
  Applied truth = as_stated(platform);
  kind_of("links.share")->put(truth, 0.7);
  const auto c = calibrate({measured_on(truth)}, platform, Store::volume).value();
  const auto value = io::parse_yaml(to_yaml(c), "efficiencies.yaml");
  ASSERT_TRUE(value) << value.error().text() << to_yaml(c);
  const auto again = calibration_from(*value);
  ASSERT_TRUE(again) << again.error().text() << to_yaml(c);
  EXPECT_EQ(again->gpu, c.gpu);
  EXPECT_EQ(again->nic, c.nic);
  EXPECT_EQ(again->results, c.results);
  ASSERT_EQ(again->values.size(), c.values.size());
  for (std::size_t i = 0; i < c.values.size(); ++i) {
    EXPECT_EQ(again->values[i].key, c.values[i].key);
    EXPECT_NEAR(again->values[i].value / c.values[i].value, 1, 1e-5);
    EXPECT_EQ(again->values[i].n, c.values[i].n);
    EXPECT_EQ(again->values[i].from, c.values[i].from);
  }
}

TEST(CalibrationFile, a_wrong_key_or_unit_names_its_line) {
  const auto error = [](const char* text) {
    const auto value = io::parse_yaml(text, "efficiencies.yaml").value();
    const auto read = calibration_from(value);
    EXPECT_FALSE(read);
    return read ? std::string() : read.error().text();
  };
  EXPECT_NE(error("gpu: h100-sxm\nlinks: {shares: 0.8}\n").find("efficiencies.yaml:2"), std::string::npos);
  EXPECT_NE(error("links: {shares: 0.8}\n").find("share"), std::string::npos);
  EXPECT_NE(error("storage: {volume: {write: 8}}\n").find("8"), std::string::npos);
  EXPECT_NE(error("gpu: h100-sxm\n").find("no measured value"), std::string::npos);
  EXPECT_NE(error("kernels: {matrix: {bf17: 0.8}}\n").find("bf16"), std::string::npos);
}

// Every value that the file can hold reaches the platform it is put on.
TEST(Apply, every_kind_of_value_arrives) {
  const auto platform = platform_of(kCluster);
  for (const ValueKind& kind : value_kinds()) {
    if (!has_place(platform, kind)) continue;
    const double before = kind.get(as_stated(platform));
    Calibration c;
    const double value = before > 0 ? before * 0.9 : kind.form == Form::power ? 0.5e12 : 0.5;
    c.values = {{kind.key, value, {}, 0, {}, {}}};
    const auto file = io::parse_yaml(to_yaml(c), "x.yaml").value();
    const auto read = calibration_from(file);
    ASSERT_TRUE(read) << kind.key << read.error().text();
    const auto applied = apply(*read, platform);
    ASSERT_TRUE(applied);
    EXPECT_NEAR(kind.get(*applied) / value, 1, 1e-5) << kind.key;
  }
}

TEST(Apply, says_what_was_measured_what_was_kept_and_what_does_not_belong_here) {
  const auto platform = platform_of(kCluster);
  const auto c = calibrate({measured_on(as_stated(platform))}, platform, Store::volume).value();
  const auto text_of = [](const Applied& a) {
    std::string out;
    for (const auto& [key, value] : a.platform.assumed) out += key + ": " + value + "\n";
    return out;
  };
  Calibration links = c;
  std::erase_if(links.values, [](const Measured& m) { return !m.key.starts_with("links.share"); });
  links.kernels.reset();
  const std::string some = text_of(apply(links, platform).value());
  EXPECT_NE(some.find("links.share: 0."), std::string::npos) << some;
  EXPECT_NE(some.find("n 18"), std::string::npos) << some;
  EXPECT_NE(some.find("nothing measured of kernels, pcie, nics, storage, ingest: catalogued values"), std::string::npos) << some;
  const auto other = platform_of("name: a\nnode: {type: hgx-a100-80, count: 2}\nfabric: {kind: roce, rate: 100 Gb/s}\n");
  const Applied elsewhere = apply(c, other).value();
  EXPECT_EQ(elsewhere.platform.node.link_share, other.node.link_share);
  EXPECT_EQ(elsewhere.efficiencies.matrix, kernels::Efficiencies::default_for(other.node.gpu).matrix);
  EXPECT_EQ(elsewhere.platform.node.nics.efficiency, other.node.nics.efficiency);
  EXPECT_NE(text_of(elsewhere).find("links.share is not used: measured on h100"), std::string::npos) << text_of(elsewhere);
}

// Property: a machine that gives less of anything is never predicted faster.
TEST(Apply, measured_losses_slow_a_job_down) {
  const auto platform = platform_of(kCluster);
  const auto job =
      workload::job_from(io::parse_yaml("model: llama-2-7b\nbatch: {global: 64, micro: 1, sequence: 4096}\nparallelism: {tp: 8, dp: auto}\n"
                                        "training: {framework: megatron, recompute: none}\n",
                                        "job.yaml")
                             .value(),
                         ".")
          .value();
  const double stated = predict::predict(job, predict::PlatformModel(platform)).value().step_s;
  for (const char* key : {"kernels.matrix.bf16", "kernels.memory.elementwise", "links.share", "nics.efficiency"}) {
    Applied slow = as_stated(platform);
    const ValueKind& kind = *kind_of(key);
    kind.put(slow, kind.get(slow) * 0.7);
    const double step = predict::predict(job, predict::PlatformModel(slow.platform, slow.efficiencies)).value().step_s;
    EXPECT_GT(step, stated) << key;
  }
}

TEST(Expected, says_why_nothing_is_promised) {
  const Machine machine(platform_of(kCluster), Store::volume);
  const auto why = [&](const char* probe, const Metric& m) {
    const auto e = expected(machine, probe, m);
    EXPECT_FALSE(e);
    return e ? std::string() : e.error().message;
  };
  EXPECT_NE(why("network.latency", metric("p50@8B", "s", Better::lower)).find("platform file"), std::string::npos);
  EXPECT_NE(why("collective.all_reduce", metric("busbw@1MiB", "B/s", Better::higher, message(1 << 20, 64, 8)))
                .find("8 nodes; the platform has 2"),
            std::string::npos);
  EXPECT_NE(
      why("storage.read", metric("bandwidth@cached", "B/s", Better::higher, {{condition::kCache, std::string("cached")}})).find("memory"),
      std::string::npos);
  EXPECT_NE(why("gpu.gemm", metric("rate@bf16", "FLOP/s", Better::higher)).find("shape"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::calibrate
