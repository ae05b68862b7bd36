#include "explain/readers/readers.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>

#include "explain/readers/fio.hpp"
#include "explain/readers/nccl_tests.hpp"
#include "explain/readers/perftest.hpp"
#include "explain/readers/ucx_perftest.hpp"
#include "io/files.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Measurement;
using measure::Metric;
using measure::Status;

const std::string kCaptures = TRUNKLINE_SOURCE_DIR "/tests/captures/";

Measurement captured(const std::string& name) {
  auto result = read_result(kCaptures + name);
  EXPECT_TRUE(result) << name << ": " << result.error().text();
  return result ? *result : Measurement{};
}

const Metric& metric(const Measurement& m, const std::string& probe, const std::string& name) {
  static const Metric none;
  const auto* p = m.find(probe);
  EXPECT_TRUE(p) << m.file << ": no probe " << probe;
  const auto* found = p ? p->find(name) : nullptr;
  EXPECT_TRUE(found) << m.file << ": no metric " << name;
  return found ? *found : none;
}

double only(const Measurement& m, const std::string& probe, const std::string& name) {
  const Metric& found = metric(m, probe, name);
  EXPECT_EQ(found.samples.size(), 1u);
  return found.samples.empty() ? 0 : found.samples.front();
}

std::string condition_of(const Metric& m, const char* name) {
  const auto* fact = measure::find(m.conditions, name);
  return fact ? measure::to_text(*fact) : "";
}

TEST(Readers, know_every_capture_from_its_content) {
  const std::map<std::string, std::string> folders = {{"nccl_tests", "nccl-tests"}, {"nvbandwidth", "nvbandwidth"},
                                                      {"fio", "fio JSON"},          {"iperf3", "iperf3 JSON"},
                                                      {"perftest", "perftest"},     {"ucx_perftest", "ucx_perftest"}};
  int read = 0;
  for (const auto& [folder, name] : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(kCaptures + folder)) {
      const auto text = io::read_file(entry.path().string()).value();
      const Reader* reader = reader_for(text);
      if (entry.path().filename() == "meta-gcm-mpirun-noslots.log") {
        EXPECT_FALSE(reader);  // the launcher refused: nothing of nccl-tests is in it
        continue;
      }
      ASSERT_TRUE(reader) << entry.path();
      EXPECT_TRUE(std::string(reader->name).starts_with(name)) << entry.path() << " taken for " << reader->name;
      const auto result = result_from(text, entry.path().filename().string());
      ASSERT_TRUE(result) << result.error().text();
      // What it says can be written as a result and read again.
      const auto again = measure::measurement_from(measure::to_json(*result), "again.json");
      ASSERT_TRUE(again) << again.error().text();
      EXPECT_EQ(again->probes.size(), result->probes.size());
      for (const auto& p : result->probes) {
        if (p.status != Status::ok) EXPECT_FALSE(p.reason.empty()) << entry.path();
        if (p.status == Status::ok) EXPECT_FALSE(p.metrics.empty()) << entry.path();
      }
      ++read;
    }
  }
  EXPECT_GE(read, 35);
}

TEST(Readers, say_which_formats_they_know) {
  const auto result = result_from("hello\n", "x.txt");
  ASSERT_FALSE(result);
  EXPECT_NE(result.error().hint.find("iperf3"), std::string::npos);
}

// --- nccl-tests

TEST(NcclTests, table_settings_devices_and_version) {
  const auto m = captured("nccl_tests/meta-gcm-a100-1node.log");
  const Metric& busbw = metric(m, "collective.all_reduce", "busbw@1GiB");
  // 1073741824 B in 8109.1 us, 8 ranks: 132.41 · 2·7/8 = 231.72 GB/s, as printed.
  EXPECT_NEAR(busbw.samples.at(0), 231.72e9, 0.01e9);
  EXPECT_NEAR(only(m, "collective.all_reduce", "time@1GiB"), 8109.1e-6, 1e-12);
  EXPECT_NEAR(only(m, "collective.all_reduce", "busbw_in_place@64MiB"), 211.17e9, 0.05e9);
  EXPECT_EQ(condition_of(busbw, "ranks"), "8");
  EXPECT_EQ(condition_of(busbw, "warmup_iterations"), "5");
  EXPECT_EQ(condition_of(busbw, "verified"), "yes");
  EXPECT_EQ(m.context.nccl, "2.16.2");
  EXPECT_EQ(m.context.cuda, "11.6");
  EXPECT_TRUE(m.complete);
}

TEST(NcclTests, small_sizes_get_their_bus_bandwidth_from_the_time) {
  const auto m = captured("nccl_tests/superbench-a100-allreduce-oldformat.log");
  // Printed is 0.00; 4 B in 34.73 us with 8 ranks.
  EXPECT_NEAR(only(m, "collective.all_reduce", "busbw@4B"), 4 / 34.73e-6 * 1.75, 1);
}

TEST(NcclTests, ranks_on_several_nodes) {
  const auto m = captured("nccl_tests/google-h200-8node-ok-329.log");
  const Metric& busbw = metric(m, "collective.all_reduce", "busbw@1731821448B");
  EXPECT_EQ(condition_of(busbw, "ranks"), "64");
  EXPECT_EQ(condition_of(busbw, "nodes"), "8");
  EXPECT_EQ(m.context.machine, "64 x NVIDIA H200, nodes: 8");
}

// One rank line of 72 is left: the number of ranks is known by its index, that of nodes is not.
TEST(NcclTests, a_region_of_a_log_says_what_it_shows) {
  const auto m = captured("nccl_tests/coreweave-gb200-72-nvl.log");
  const Metric& busbw = metric(m, "collective.all_reduce", "busbw@8GiB");
  EXPECT_NEAR(busbw.samples.at(0), 834.57e9, 0.1e9);
  EXPECT_EQ(condition_of(busbw, "ranks"), "72");
  EXPECT_EQ(condition_of(busbw, "nodes"), "");
}

TEST(NcclTests, collectives_by_their_columns_and_arithmetic) {
  EXPECT_EQ(captured("nccl_tests/superbench-a100-allgather-oldformat.log").probes[0].name, "collective.all_gather");
  EXPECT_EQ(captured("nccl_tests/superbench-a100-reducescatter-oldformat.log").probes[0].name, "collective.reduce_scatter");
  EXPECT_EQ(captured("nccl_tests/superbench-a100-reduce-oldformat.log").probes[0].name, "collective.reduce");
  EXPECT_EQ(captured("nccl_tests/aws-p5-eks-mpirun-tag.log").probes[0].name, "collective.all_reduce");
  EXPECT_EQ(captured("nccl_tests/supermicro-b200-alltoall-small.log").probes[0].name, "collective.all_to_all");
  // All-to-all without its program's name looks like an all-gather: said, not guessed.
  EXPECT_EQ(captured("nccl_tests/superbench-a100-alltoall-oldformat.log").probes[0].name, "collective.unnamed");
}

TEST(NcclTests, launcher_tags_are_taken_off) {
  const auto m = captured("nccl_tests/aws-p5-eks-mpirun-tag.log");
  EXPECT_NEAR(only(m, "collective.all_reduce", "busbw@2GiB"), 437.79e9, 0.01e9);
}

TEST(NcclTests, contradictions_are_left_out_with_their_line) {
  const auto m = captured("nccl_tests/azure-gb300-inconsistent-row.log");
  const auto& p = m.probes.at(0);
  EXPECT_FALSE(p.find("busbw@16GiB"));
  ASSERT_FALSE(p.warnings.empty());
  bool named = false;
  for (const auto& w : p.warnings) named = named || w.find(":6: left out") != std::string::npos;
  EXPECT_TRUE(named);
}

TEST(NcclTests, what_is_no_number_is_left_out) {
  const auto tests = read_nccl_tests(io::read_file(kCaptures + "nccl_tests/cloudai-bad-number.log").value(), "x.log").value();
  ASSERT_EQ(tests.skipped.size(), 1u);
  EXPECT_EQ(tests.skipped[0].line, 5);
}

TEST(NcclTests, wrong_values_and_aborted_runs_fail) {
  const auto wrong = captured("nccl_tests/dcgm-newformat-wrong-values.log");
  EXPECT_EQ(wrong.probes[0].status, Status::failed);
  EXPECT_NE(wrong.probes[0].reason.find("2 wrong values"), std::string::npos);
  const auto aborted = captured("nccl_tests/genoa-2x5090-unhandled-cuda.log");
  EXPECT_EQ(aborted.probes[0].status, Status::failed);
  EXPECT_NE(aborted.probes[0].reason.find("unhandled cuda error"), std::string::npos);
  const auto hung = captured("nccl_tests/issue-nccl-tests-117-4090-hang.log");
  EXPECT_EQ(hung.probes[0].reason, "no row of results");
  EXPECT_FALSE(hung.complete);
}

TEST(NcclTests, one_rank_is_said_to_measure_nothing) {
  const auto m = captured("nccl_tests/issue-nccl-tests-287-5090-1rank.log");
  EXPECT_NE(m.probes[0].warnings.at(0).find("one rank"), std::string::npos);
}

TEST(NcclTests, json_with_iterations) {
  const auto m = captured("nccl_tests/constructed-2node.json");
  const Metric& time = metric(m, "collective.all_reduce", "time@64MiB");
  EXPECT_EQ(time.samples.size(), 8u);
  EXPECT_NEAR(time.samples[0], 1400e-6, 1e-12);
  EXPECT_EQ(condition_of(time, "statistic"), "");  // single iterations, no mean
  EXPECT_EQ(condition_of(metric(m, "collective.all_reduce", "time@128MiB"), "statistic"), "mean");
  EXPECT_FALSE(m.probes[0].find("time_in_place@128MiB"));  // "nan"
  EXPECT_EQ(m.context.nccl, "2.23.4");
  ASSERT_EQ(m.context.environment.size(), 1u);
  EXPECT_EQ(m.context.environment[0].first, "NCCL_ALGO");
  EXPECT_EQ(condition_of(time, "nodes"), "2");
}

TEST(NcclTests, every_way_to_cut_a_log_short_is_read_or_refused) {
  const auto text = io::read_file(kCaptures + "nccl_tests/meta-gcm-a100-1node.log").value();
  for (std::size_t n = 0; n < text.find("# Avg bus"); n += 7) {
    const auto tests = read_nccl_tests(std::string_view(text).substr(0, n), "cut.log");
    ASSERT_TRUE(tests);
    const auto m = result_of(*tests);
    EXPECT_FALSE(m.complete) << n;
  }
}

// --- nvbandwidth

TEST(Nvbandwidth, text_with_matrices_sums_and_latency) {
  const auto m = captured("nvbandwidth/nvbandwidth-gh200-v0.6.txt");
  EXPECT_NEAR(only(m, "nvbandwidth.host_to_device_memcpy_ce", "bandwidth_min"), 269.33e9, 1);
  EXPECT_NEAR(only(m, "nvbandwidth.host_to_device_memcpy_ce", "bandwidth_sum"), 1985.60e9, 1);
  EXPECT_NEAR(only(m, "nvbandwidth.host_device_latency_sm", "latency_max"), 772.58e-9, 1e-15);
  EXPECT_EQ(m.context.driver, "550.54.15");
  EXPECT_EQ(m.context.machine, "1 x NVIDIA GH200 480GB (00000009:01:00)");
}

TEST(Nvbandwidth, the_diagonal_is_no_bandwidth) {
  const auto m = captured("nvbandwidth/nvbandwidth-8gpu-d2d-readme.txt");
  const Metric& least = metric(m, "nvbandwidth.device_to_device_memcpy_write_ce", "bandwidth_min");
  EXPECT_NEAR(least.samples.at(0), 274.89e9, 1);
  EXPECT_EQ(condition_of(least, "pairs"), "56");
}

TEST(Nvbandwidth, json_with_waived_tests) {
  const auto m = captured("nvbandwidth/nvbandwidth-json-0.json");
  EXPECT_NEAR(only(m, "nvbandwidth.host_to_device_memcpy_ce", "bandwidth_mean"), 12.3964e9, 1);
  EXPECT_EQ(m.find("nvbandwidth.device_to_device_memcpy_read_ce")->status, Status::waived);
  EXPECT_EQ(m.context.driver, "565.02");
}

// --- fio

TEST(Fio, mixed_job_with_options_shared_by_all) {
  const auto m = captured("fio/fio-3.16-randrw.json");
  const Metric& read = metric(m, "storage.mixed", "bandwidth@read");
  EXPECT_EQ(read.samples, std::vector<double>{348743777});
  EXPECT_EQ(condition_of(read, "cache"), "direct");
  EXPECT_EQ(condition_of(read, "block_bytes"), "4096");
  EXPECT_EQ(condition_of(read, "depth"), "64");
  EXPECT_EQ(condition_of(read, "threads"), "4");
  EXPECT_EQ(condition_of(read, "source_tool"), "fio 3.16");
  EXPECT_NEAR(only(m, "storage.mixed", "latency_p99@write"), 2072576e-9, 1e-15);
}

TEST(Fio, writes_say_whether_they_were_synced) {
  const auto m = captured("fio/fio-3.33-write.json");
  const Metric& write = metric(m, "storage.write", "bandwidth");
  EXPECT_EQ(condition_of(write, "fsync"), "yes");
  EXPECT_EQ(condition_of(write, "size_bytes"), "67108864");
  EXPECT_EQ(condition_of(write, "engine"), "libaio");
  const auto random = captured("fio/fio-3.33-randread.json");
  EXPECT_NEAR(only(random, "storage.random_read", "rate"), 162906.062625, 1e-6);
}

TEST(Fio, jobs_of_a_group_add_up_and_others_stand_apart) {
  const char* job =
      R"({"jobname": "%", "groupid": %, "job options": {"rw": "write", "bs": "1M"}, "write": {"io_bytes": 100, "bw_bytes": 1000, "iops": 5}})";
  const auto with = [&](const char* name, const char* group) {
    std::string out = job;
    out.replace(out.find('%'), 1, name);
    out.replace(out.find('%'), 1, group);
    return out;
  };
  const auto m = result_from("{\"fio version\": \"fio-3.33\", \"jobs\": [" + with("a", "0") + "," + with("a", "0") + "]}", "x").value();
  EXPECT_EQ(only(m, "storage.write", "bandwidth"), 2000);
  EXPECT_EQ(condition_of(metric(m, "storage.write", "bandwidth"), "cache"), "buffered");
  EXPECT_EQ(condition_of(metric(m, "storage.write", "bandwidth"), "fsync"), "no");
  const auto apart = result_from("{\"fio version\": \"fio-3.33\", \"jobs\": [" + with("a", "0") + "," + with("a", "1") + "]}", "x").value();
  EXPECT_EQ(metric(apart, "storage.write", "bandwidth").samples, (std::vector<double>{1000, 1000}));  // one after the other: repetitions
}

TEST(Fio, sizes) {
  EXPECT_EQ(fio_size("4096"), 4096);
  EXPECT_EQ(fio_size("4k"), 4096);
  EXPECT_EQ(fio_size("1M"), 1 << 20);
  EXPECT_EQ(fio_size("2MiB"), 2 << 20);
  EXPECT_EQ(fio_size("1g"), 1 << 30);
  EXPECT_EQ(fio_size("4k,8k"), 4096);
  EXPECT_FALSE(fio_size(""));
  EXPECT_FALSE(fio_size("100%"));
  EXPECT_FALSE(fio_size("99999999999t"));
}

// --- iperf3

TEST(Iperf3, intervals_are_repetitions) {
  const auto m = captured("iperf3/iperf3-3.12-loopback-2-streams.json");
  const Metric& rate = metric(m, "network.bandwidth", "bandwidth@stream");
  EXPECT_EQ(rate.samples.size(), 6u);
  EXPECT_EQ(condition_of(rate, "streams"), "2");
  EXPECT_EQ(condition_of(rate, "engine"), "sockets TCP");
  EXPECT_TRUE(m.complete);
}

TEST(Iperf3, a_tiny_transfer_is_no_bandwidth_test) {
  const auto m = captured("iperf3/iperf3-3.6-gcp-tiny-transfer.json");
  EXPECT_NEAR(metric(m, "network.bandwidth", "bandwidth@stream").samples.at(0), 63129686.187 / 8, 1);
  ASSERT_EQ(m.probes[0].warnings.size(), 2u);
  EXPECT_NE(m.probes[0].warnings[0].find("66.2 ms"), std::string::npos);
}

TEST(Iperf3, a_failed_run_says_why) {
  const auto m =
      result_from(R"({"start": {"version": "iperf 3.12"}, "intervals": [], "end": {}, "error": "unable to connect to server"})", "x")
          .value();
  EXPECT_EQ(m.probes[0].status, Status::failed);
  EXPECT_EQ(m.probes[0].reason, "unable to connect to server");
}

// --- perftest

TEST(Perftest, mb_are_mebibytes_and_both_ends_count_once) {
  const auto m = captured("perftest/ib_write_bw-loopback-8M.txt");
  // 0.003007 million messages of 8 MiB are 25.22 decimal GB/s; printed 24056.72.
  const double rate = only(m, "network.bandwidth", "bandwidth@8MiB");
  EXPECT_NEAR(rate, 24056.72 * (1 << 20), 1);
  EXPECT_NEAR(rate / (0.003007e6 * 8388608), 1, 0.001);
}

TEST(Perftest, gigabits_and_facts_of_the_header) {
  const auto m = captured("perftest/ib_write_bw-spark-4qp-111.txt");
  const Metric& rate = metric(m, "network.bandwidth", "bandwidth@64KiB");
  EXPECT_NEAR(rate.samples.at(0), 111.71e9 / 8, 1);
  EXPECT_EQ(condition_of(rate, "queue_pairs"), "4");
  EXPECT_EQ(condition_of(rate, "mtu_bytes"), "1024");
  EXPECT_EQ(condition_of(rate, "device"), "rocep1s0f1");
  EXPECT_EQ(condition_of(metric(captured("perftest/ib_send_bw-9.81.txt"), "network.bandwidth", "bandwidth@64KiB"), "operation"), "send");
  // A run by duration has no peak; its average counts.
  EXPECT_NEAR(only(captured("perftest/ib_write_bw-roce-3qp-363-zero-peak.txt"), "network.bandwidth", "bandwidth@64KiB"), 363.47e9 / 8, 1);
}

TEST(Perftest, latencies_by_their_columns) {
  const auto m = captured("perftest/ib_read_lat-roce-pod-7us.txt");
  EXPECT_NEAR(only(m, "network.latency", "p50@2B"), 7.04e-6, 1e-12);
  EXPECT_NEAR(only(m, "network.latency", "p99.9@2B"), 16.81e-6, 1e-12);
  const auto shorter = captured("perftest/ib_write_lat-short-columns.txt");
  EXPECT_NEAR(only(shorter, "network.latency", "p50@2B"), 2.05e-6, 1e-12);
  EXPECT_FALSE(shorter.probes[0].find("p99@2B"));
  EXPECT_NEAR(only(captured("perftest/raw_ethernet_lat-64B.txt"), "network.latency", "p50@64B"), 0.85e-6, 1e-12);
}

// --- ucx_perftest

TEST(UcxPerftest, reports_are_repetitions_and_the_size_is_worked_out) {
  const auto m = captured("ucx_perftest/ucx-1.13-tag_bw-client.txt");
  const Metric& rate = metric(m, "network.bandwidth", "bandwidth@1MiB");
  EXPECT_EQ(rate.samples.size(), 9u);
  EXPECT_NEAR(rate.samples[0], 1984.99 * (1 << 20), 1);
  const auto latency = captured("ucx_perftest/ucx-1.13-tag_lat-client.txt");
  EXPECT_EQ(metric(latency, "network.latency", "mean@8B").samples.size(), 4u);
}

TEST(UcxPerftest, a_printed_size_and_test) {
  const char* text =
      "| Test:         tag match bandwidth             |\n"
      "| Message size: 1000                            |\n"
      "|    Stage     | # iterations | 50.0%ile | bandwidth (MB/s)  |  message rate (msg/s) |\n"
      "Final:                 20000      0.040   481.543   466.881     1.00    1.00        1049        1049\n";
  const auto m = result_from(text, "x").value();
  EXPECT_EQ(condition_of(metric(m, "network.bandwidth", "bandwidth@1000B"), "operation"), "tag match bandwidth");
}

}  // namespace
}  // namespace trunkline::explain::readers
