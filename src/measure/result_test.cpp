#include "measure/result.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace trunkline::measure {
namespace {

Measurement sample() {
  Measurement m;
  m.context.tool_version = "0.1.0";
  m.context.command_line = "trunkline measure storage";
  m.context.host = "node-1";
  m.context.cpus = 96;
  m.context.memory_bytes = 1'099'511'627'776;
  m.context.numa = {{0, "0-47", 549'755'813'888}, {1, "48-95", 549'755'813'888}};
  m.context.clock_before_hz = 2.4e9;
  m.context.environment = {{"NCCL_DEBUG", "INFO"}};
  m.context.seed = std::numeric_limits<std::uint64_t>::max();
  GpuState gpu{0, "NVIDIA H200", "GPU-1", "0000:18:00.0", 150'754'820'096, 5, 16, 1.98e9, 700, true, 18, {}, {}};
  gpu.after = {1.4e9, 3.2e9, 690.5, 61, 5, 16, {"power cap"}};
  m.context.gpus = {gpu};
  m.complete = true;
  ProbeResult p;
  p.name = "storage.write";
  p.duration_s = 12.5;
  p.contention = {0.01, 0.3, 4.0, true};
  p.warnings = {"other processes used 30 % of the CPU time"};
  Metric bandwidth{"bandwidth", "B/s", Better::higher, {1e9, 1.1e9, 0.1, 1.0 / 3}, {5e8}, 2e9, "PCIe 4.0 x4", {}, "time"};
  set(bandwidth.conditions, condition::kFsync, true);
  set(bandwidth.conditions, condition::kCache, std::string("direct"));
  set(bandwidth.conditions, condition::kBlock, std::int64_t(1) << 20);
  set(bandwidth.conditions, condition::kDeviceShare, 1.0);
  p.metrics = {bandwidth, {"latency", "s", Better::lower, {}}};
  m.probes = {p, {"storage.read", Status::waived, "no io_uring here"}};
  return m;
}

TEST(ResultFile, comes_back_as_it_was_written) {
  const Measurement before = sample();
  const auto after = measurement_from(to_json(before), "r.json");
  ASSERT_TRUE(after) << after.error().text();
  EXPECT_EQ(after->context, before.context);
  EXPECT_TRUE(after->complete);
  ASSERT_EQ(after->probes.size(), 2u);
  const ProbeResult &p = after->probes[0], &q = before.probes[0];
  EXPECT_EQ(p.name, q.name);
  EXPECT_EQ(p.contention, q.contention);
  EXPECT_EQ(p.warnings, q.warnings);
  EXPECT_EQ(p.metrics[0].samples, q.metrics[0].samples);  // bit for bit: 0.1 and 1/3 too
  EXPECT_EQ(p.metrics[0].warmup, q.metrics[0].warmup);
  EXPECT_EQ(p.metrics[0].conditions, q.metrics[0].conditions);
  EXPECT_EQ(p.metrics[0].limit, q.metrics[0].limit);
  EXPECT_EQ(p.metrics[0].stopped, "time");
  EXPECT_EQ(p.metrics[1].better, Better::lower);
  EXPECT_EQ(after->probes[1].status, Status::waived);
  EXPECT_EQ(after->probes[1].reason, "no io_uring here");
  EXPECT_EQ(to_json(*after), to_json(before));
}

TEST(ResultFile, what_is_absent_is_null_and_never_zero) {
  const std::string text = to_json(sample());
  for (const char* key : {"\"sockets\": null", "\"driver\": null", "\"after_hz\": null", "\"median\": null", "\"limit\": null"}) {
    EXPECT_NE(text.find(key), std::string::npos) << key;
  }
  const auto read = measurement_from(text, "r.json");
  ASSERT_TRUE(read);
  EXPECT_FALSE(read->context.sockets);
  EXPECT_FALSE(read->probes[0].metrics[1].median());
}

TEST(ResultFile, unknown_keys_are_passed_over_so_that_newer_files_can_be_read) {
  std::string text = to_json(sample());
  text.insert(text.find("\"complete\""), "\"added_later\": {\"x\": [1]}, ");
  EXPECT_TRUE(measurement_from(text, "r.json"));
}

TEST(ResultFile, errors_say_where_and_what) {
  const auto error = [](const std::string& text) {
    const auto read = measurement_from(text, "r.json");
    return read ? std::string("read") : read.error().text();
  };
  EXPECT_NE(error("{}").find("no result file"), std::string::npos);
  EXPECT_NE(error("[]").find("no result file"), std::string::npos);
  EXPECT_NE(error(R"({"context": {"schema_version": 99}, "probes": []})").find("schema version 99"), std::string::npos);
  EXPECT_NE(error(R"({"context": {"schema_version": 1}, "probes": [{"name": "a", "status": "fine"}]})").find("ok, waived or failed"),
            std::string::npos);
  EXPECT_NE(error(R"({"context": {"schema_version": 1}, "probes": [
    {"name": "a", "status": "ok", "metrics": [{"name": "b", "unit": "s", "samples": [1, "x"]}]}]})")
                .find("r.json:2: samples: found \"x\", expected a number"),
            std::string::npos);
  EXPECT_NE(error(R"({"context": {"schema_version": 1}, "probes": [{"name": "a", "status": "ok"}, {"name": "a", "status": "ok"}]})")
                .find("twice"),
            std::string::npos);
}

TEST(Metric, share_of_limit_is_at_most_one_in_both_directions) {
  Metric bandwidth{"bandwidth", "B/s", Better::higher, {8, 9, 10}};
  EXPECT_FALSE(bandwidth.share_of_limit());  // nothing known, nothing claimed
  bandwidth.limit = 12;
  EXPECT_DOUBLE_EQ(*bandwidth.share_of_limit(), 9.0 / 12);
  Metric latency{"latency", "s", Better::lower, {2e-6}, {}, 1e-6};
  EXPECT_DOUBLE_EQ(*latency.share_of_limit(), 0.5);
}

}  // namespace
}  // namespace trunkline::measure
