#include "compare/comparison.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <functional>
#include <numbers>

#include "base/rng.hpp"
#include "stats/summary.hpp"

namespace trunkline::compare {
namespace {

using measure::Better;
using measure::Measurement;
using measure::Metric;
using measure::ProbeResult;
using measure::Status;

namespace condition = measure::condition;

double normal(Rng& rng) { return std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * std::numbers::pi * rng.uniform()); }

// How much slower than the truth one repetition is.
using Noise = std::function<double(Rng&)>;
struct NamedNoise {
  const char* name;
  Noise slower;
};

// Run times: close to their best most of the time, now and then disturbed.
const NamedNoise kNoises[] = {
    {"half-normal 1 %, 4 % disturbed",
     [](Rng& r) { return 1 + 0.01 * std::abs(normal(r)) + (r.uniform() < 0.04 ? 0.15 * r.uniform() : 0); }},
    {"normal 3 %", [](Rng& r) { return 1 + 0.03 * normal(r); }},
    {"log-normal 5 %", [](Rng& r) { return std::exp(0.05 * normal(r)); }},
    {"two modes 4 % apart", [](Rng& r) { return 1 + 0.003 * normal(r) + (r.uniform() < 0.3 ? 0.04 : 0); }},
    {"one in ten three times as slow", [](Rng& r) { return 1 + 0.02 * std::abs(normal(r)) + (r.uniform() < 0.1 ? 2.0 : 0); }},
};

struct Thing {
  const char* probe;
  const char* metric;
  const char* unit;
  Better better;
  double truth;
};
const Thing kThings[] = {{"storage.write", "bandwidth", "B/s", Better::higher, 4e9},
                         {"storage.random_read", "rate", "1/s", Better::higher, 2e5},
                         {"network.latency", "p50@8B", "s", Better::lower, 3e-6},
                         {"collective.all_reduce", "busbw@1MiB", "B/s", Better::higher, 9e10},
                         {"collective.all_reduce", "busbw@64MiB", "B/s", Better::higher, 2e11}};

constexpr std::size_t kAll = std::size(kThings);

// `loss` slows all things alike; `seed` is the run's own; `only` = one of the things.
Measurement synthesised(std::uint64_t seed, std::size_t n, const Noise& slower, double loss = 0, std::size_t only = kAll) {
  Rng rng(seed);
  Measurement out;
  out.complete = true;
  for (const Thing& thing : kThings) {
    if (only != kAll && &thing != &kThings[only]) continue;
    if (!out.find(thing.probe)) out.probes.push_back({thing.probe, Status::ok, {}});
    Metric m{thing.metric, thing.unit, thing.better, {}};
    for (std::size_t i = 0; i < n; ++i) {
      const double factor = slower(rng) / (1 - loss);
      m.samples.push_back(thing.better == Better::higher ? thing.truth / factor : thing.truth * factor);
    }
    m.conditions = {{condition::kSize, std::int64_t(1) << 20},
                    {condition::kRanks, std::int64_t(8)},
                    {condition::kFsync, true},
                    {condition::kCache, std::string("direct")}};
    out.probes.back().metrics.push_back(std::move(m));
  }
  return out;
}

bool called_different(const Comparison& c) {
  return std::any_of(c.rows.begin(), c.rows.end(),
                     [](const Row& r) { return r.verdict == Verdict::better || r.verdict == Verdict::worse; });
}

constexpr int kRuns = 100;

Rules quick_rules() {
  Rules rules;
  rules.resamples = 400;  // tests of a thousand comparisons; the width of an interval hardly depends on it
  return rules;
}

class Gate : public testing::TestWithParam<std::size_t> {};

TEST_P(Gate, two_runs_of_the_same_thing_are_called_different_in_at_most_5_of_100) {
  const NamedNoise& noise = kNoises[GetParam()];
  for (const std::size_t n : {10u, 40u}) {
    int wrong = 0;
    for (int i = 0; i < kRuns; ++i) {
      const auto a = synthesised(1000 + 2 * std::uint64_t(i), n, noise.slower),
                 b = synthesised(1001 + 2 * std::uint64_t(i), n, noise.slower);
      wrong += called_different(compare({a, b}, quick_rules()));
    }
    EXPECT_LE(wrong, 5) << noise.name << ", " << n << " repetitions";
    std::printf("%s: different in %d of %d at %zu repetitions\n", noise.name, wrong, kRuns, n);
  }
}

TEST_P(Gate, a_loss_of_5_percent_is_worse_in_95_of_100_at_the_repetitions_it_asked_for) {
  const NamedNoise& noise = kNoises[GetParam()];
  std::vector<int> found(std::size(kThings), 0);
  std::vector<double> asked;
  for (int i = 0; i < kRuns; ++i) {
    const auto run = [&](std::uint64_t seed, std::size_t n, std::size_t thing) {
      return compare({synthesised(seed, n, noise.slower, 0, thing), synthesised(seed + 1, n, noise.slower, 0.05, thing)}, quick_rules());
    };
    const Comparison pilot = run(5000 + 4 * std::uint64_t(i), 12, kAll);
    for (std::size_t k = 0; k < pilot.rows.size(); ++k) {
      const auto more = pilot.rows[k].repetitions;  // absent: decided already, and counted as it was
      if (more) asked.push_back(double(*more));
      found[k] += (more ? run(5002 + 4 * std::uint64_t(i), std::size_t(*more), k).rows.at(0) : pilot.rows[k]).verdict == Verdict::worse;
    }
  }
  for (std::size_t k = 0; k < found.size(); ++k) EXPECT_GE(found[k], 95) << noise.name << ", " << kThings[k].metric;
  std::printf("%s: worse in %d to %d of %d; asked %zu times for more, median %.0f\n", noise.name,
              *std::min_element(found.begin(), found.end()), *std::max_element(found.begin(), found.end()), kRuns, asked.size(),
              asked.empty() ? 0 : stats::median(asked));
}

INSTANTIATE_TEST_SUITE_P(Noise, Gate, testing::Range(std::size_t(0), std::size(kNoises)));

TEST(Compare, equal_things_are_called_the_same_at_the_repetitions_it_asked_for) {
  int same = 0, rows = 0;
  for (int i = 0; i < 30; ++i) {
    const auto run = [&](std::uint64_t seed, std::size_t n) {
      return compare({synthesised(seed, n, kNoises[1].slower), synthesised(seed + 1, n, kNoises[1].slower)}, quick_rules());
    };
    std::size_t asked = 12;
    for (const Row& row : run(9000 + 4 * std::uint64_t(i), 12).rows) asked = std::max(asked, std::size_t(row.repetitions.value_or(0)));
    for (const Row& row : run(9002 + 4 * std::uint64_t(i), asked).rows) same += row.verdict == Verdict::same, ++rows;
  }
  EXPECT_GE(same, rows * 9 / 10);
}

// --- what may not be compared

Measurement plain(std::uint64_t seed) { return synthesised(seed, 20, kNoises[0].slower); }

Metric& metric(Measurement& m, const char* probe, const char* name) {
  for (auto& p : m.probes) {
    for (auto& metric : p.metrics) {
      if (p.name == probe && metric.name == name) return metric;
    }
  }
  std::abort();
}

class Refused : public testing::TestWithParam<std::pair<const char*, measure::Fact>> {};

TEST_P(Refused, pairs_that_differ_in_what_decides) {
  const auto& [field, value] = GetParam();
  auto a = plain(1), b = plain(2);
  measure::set(metric(b, "storage.write", "bandwidth").conditions, field, value);
  const auto c = compare({a, b});
  EXPECT_FALSE(c.comparable);
  EXPECT_NE(c.reason.find(field), std::string::npos) << c.reason;
  ASSERT_FALSE(c.differences.empty());
  EXPECT_EQ(c.differences[0].field, field);
  EXPECT_TRUE(c.differences[0].decisive);
  EXPECT_EQ(c.differences[0].where, std::vector<std::string>{"storage.write"});
  EXPECT_FALSE(c.rows[0].verdict);
  EXPECT_FALSE(c.rows[0].evidence.ratio);
  EXPECT_TRUE(c.rows[0].values[1]);
  for (std::size_t i = 1; i < c.rows.size(); ++i) EXPECT_TRUE(c.rows[i].verdict) << "other metrics are judged all the same";
}

INSTANTIATE_TEST_SUITE_P(Conditions, Refused,
                         testing::Values(std::pair{condition::kFsync, measure::Fact(false)},
                                         std::pair{condition::kCache, measure::Fact(std::string("cached"))},
                                         std::pair{condition::kRanks, measure::Fact(std::int64_t(4))},
                                         std::pair{condition::kSize, measure::Fact(std::int64_t(4096))}));

TEST(Compare, what_is_compared_on_purpose_does_not_refuse) {
  auto a = plain(1), b = plain(2);
  a.context.cpu = "AMD EPYC 9654", b.context.cpu = "Intel Xeon 8480+";
  a.context.tool_version = "0.1.0", b.context.tool_version = "0.2.0";
  a.context.environment = {{"NCCL_ALGO", "Ring"}};
  for (auto& p : a.probes) {
    for (auto& m : p.metrics) measure::set(m.conditions, "algorithm", std::string("ring"));
  }
  for (auto& p : b.probes) {
    for (auto& m : p.metrics) measure::set(m.conditions, "algorithm", std::string("hierarchical"));
  }
  const auto c = compare({a, b});
  EXPECT_TRUE(c.comparable) << c.reason;
  std::vector<std::string> fields;
  for (const auto& d : c.differences) fields.push_back(d.field);
  EXPECT_EQ(fields, (std::vector<std::string>{"tool_version", "cpu", "environment NCCL_ALGO", "algorithm"}));
  EXPECT_EQ(c.differences[2].values, (std::vector<std::string>{"Ring", ""}));
}

TEST(Compare, what_one_side_does_not_record_is_said_and_does_not_refuse) {
  auto a = plain(1), b = plain(2);
  std::erase_if(metric(b, "storage.write", "bandwidth").conditions, [](const auto& c) { return c.name == condition::kFsync; });
  const auto c = compare({a, b});
  EXPECT_TRUE(c.comparable);
  ASSERT_EQ(c.differences.size(), 1u);
  EXPECT_EQ(c.differences[0].values, (std::vector<std::string>{"yes", ""}));
  EXPECT_NE(c.differences[0].reason.find("cannot be checked"), std::string::npos);
}

TEST(Compare, a_cache_that_answered_on_one_side_decides) {
  auto a = plain(1), b = plain(2);
  measure::set(metric(a, "storage.random_read", "rate").conditions, condition::kDeviceShare, 1.0);
  measure::set(metric(b, "storage.random_read", "rate").conditions, condition::kDeviceShare, 0.97);
  EXPECT_TRUE(compare({a, b}).differences.empty());
  measure::set(metric(b, "storage.random_read", "rate").conditions, condition::kDeviceShare, 0.2);
  EXPECT_FALSE(compare({a, b}).comparable);
}

TEST(Compare, a_mean_without_warm_up_is_another_thing) {
  auto a = plain(1), b = plain(2);
  measure::set(metric(a, "storage.write", "bandwidth").conditions, "warmup_iterations", std::int64_t(5));
  measure::set(metric(b, "storage.write", "bandwidth").conditions, "warmup_iterations", std::int64_t(1));
  EXPECT_TRUE(compare({a, b}).comparable);
  measure::set(metric(b, "storage.write", "bandwidth").conditions, "warmup_iterations", std::int64_t(0));
  EXPECT_FALSE(compare({a, b}).comparable);
}

TEST(Compare, simulated_against_measured_is_refused_as_a_whole) {
  auto a = plain(1), b = plain(2);
  a.context.backend = "fake", b.context.backend = "machine";
  const auto c = compare({a, b});
  EXPECT_FALSE(c.comparable);
  for (const Row& row : c.rows) EXPECT_FALSE(row.verdict);
  b.context.backend = "fake";
  EXPECT_TRUE(compare({a, b}).comparable);
}

TEST(Compare, sizes_without_a_common_one_are_refused_others_compare_what_both_have) {
  auto a = plain(1), b = plain(2);
  metric(b, "collective.all_reduce", "busbw@1MiB").name = "busbw@2MiB";
  const auto part = compare({a, b});
  EXPECT_TRUE(part.comparable);
  ASSERT_EQ(part.differences.size(), 1u);
  EXPECT_EQ(part.differences[0].values, (std::vector<std::string>{"1MiB, 64MiB", "2MiB, 64MiB"}));
  EXPECT_EQ(part.rows.size(), std::size(kThings) - 1);
  metric(b, "collective.all_reduce", "busbw@64MiB").name = "busbw@32MiB";
  EXPECT_FALSE(compare({a, b}).comparable);
}

TEST(Compare, no_verdict_against_a_busy_machine) {
  const auto a = plain(1);
  auto b = synthesised(2, 20, kNoises[0].slower, 0.2);
  EXPECT_TRUE(compare({a, b}).worse());
  b.probes[0].contention = {{}, 0.35, {}, true};
  const auto c = compare({a, b});
  EXPECT_EQ(c.rows[0].verdict, Verdict::undecided);
  EXPECT_NE(c.rows[0].reason.find("idle"), std::string::npos);
  EXPECT_EQ(c.rows[1].verdict, Verdict::worse);
  // The busy side as the faster one: its lead is real.
  auto busy = a;
  busy.probes[0].contention.noticed = true;
  EXPECT_EQ(compare({synthesised(2, 20, kNoises[0].slower, 0.2), busy}).rows[0].verdict, Verdict::better);
}

TEST(Compare, a_probe_that_no_longer_works_is_a_regression) {
  auto a = plain(1), b = plain(2);
  b.probes[0].status = Status::failed;
  b.probes[0].reason = "No space left on device";
  b.probes[0].metrics[0].samples.clear();
  const auto c = compare({a, b});
  ASSERT_EQ(c.unmatched.size(), 1u);
  EXPECT_EQ(c.unmatched[0].states, (std::vector<std::string>{"ok", "failed: No space left on device"}));
  EXPECT_TRUE(c.worse());
  EXPECT_FALSE(compare({b, a}).worse());
}

TEST(Compare, several_results_are_each_set_against_the_first) {
  const auto a = plain(1), slow = synthesised(2, 40, kNoises[0].slower, 0.1), same = plain(3);
  const auto c = compare({a, same, slow});
  ASSERT_EQ(c.rows.size(), 2 * std::size(kThings));
  for (const Row& row : c.rows) {
    EXPECT_EQ(row.verdict, row.result == 1 ? Verdict::same : Verdict::worse) << row.name();
    EXPECT_EQ(row.values.size(), 3u);
  }
}

TEST(Compare, swapping_the_sides_turns_the_verdict) {
  const auto a = plain(1), b = synthesised(2, 20, kNoises[0].slower, 0.1);
  const auto there = compare({a, b}), back = compare({b, a});
  for (std::size_t i = 0; i < there.rows.size(); ++i) {
    EXPECT_EQ(there.rows[i].verdict, Verdict::worse);
    EXPECT_EQ(back.rows[i].verdict, Verdict::better);
    EXPECT_NEAR(*there.rows[i].evidence.ratio * *back.rows[i].evidence.ratio, 1, 1e-12);
    EXPECT_NEAR(*there.rows[i].p_value, *back.rows[i].p_value, 1e-12);
  }
}

TEST(Compare, the_same_input_gives_the_same_answer) {
  const auto a = plain(1), b = plain(2);
  const auto one = compare({a, b}), two = compare({a, b});
  for (std::size_t i = 0; i < one.rows.size(); ++i) EXPECT_EQ(one.rows[i].evidence.low, two.rows[i].evidence.low);
}

TEST(Joined, repetitions_of_several_runs_stand_one_after_the_other) {
  const auto a = plain(1), b = plain(2);
  const auto all = joined({a, b}).value();
  EXPECT_EQ(all.probes[0].metrics[0].samples.size(), 40u);
  auto other = plain(3);
  measure::set(metric(other, "storage.write", "bandwidth").conditions, condition::kFsync, false);
  const auto refused = joined({a, other});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message.find("fsync"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::compare
