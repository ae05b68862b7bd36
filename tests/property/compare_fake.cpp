// The whole way from a probe to a verdict, on a machine whose truth is known: the fake backend's.
#include <gtest/gtest.h>

#include <algorithm>

#include "backends/fake/fake.hpp"
#include "compare/comparison.hpp"
#include "measure/runner.hpp"

namespace trunkline {
namespace {

topology::Platform two_nodes() {
  const auto value = io::parse_yaml(
      "name: two nodes\nnode: {type: hgx-h100, count: 2, local_disk: {write: 6 GB/s, read: 12 GB/s, capacity: 28 TB}}\n"
      "fabric: {kind: infiniband, rate: 400 Gb/s}\n",
      "platform.yaml");
  return topology::platform_from(*value).value();
}

measure::Measurement measured(std::uint64_t seed, int repetitions, std::optional<backends::fake::Fault> fault = {}, bool fsync = true) {
  auto machine = backends::fake::machine(two_nodes(), fault);
  measure::Settings settings;
  settings.seed = seed;
  settings.repetitions = repetitions;
  if (!fsync) settings.put("no-fsync", "");
  std::vector<measure::Probe*> probes;
  for (const auto& p : machine.probes) {
    if (p->name() == "network.bandwidth" || p->name() == "storage.write") probes.push_back(p.get());
  }
  measure::Observer observer;
  measure::RunOptions options;
  options.backend = "fake";
  return measure::run(*machine.environment, probes, settings, options, observer, [](const measure::Measurement&) {}, {});
}

compare::Rules rules() {
  compare::Rules out;
  out.resamples = 400;
  return out;
}

TEST(CompareFake, two_runs_of_the_same_machine_are_rarely_called_different) {
  int wrong = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto c = compare::compare({measured(2 * i + 1, 12), measured(2 * i + 2, 12)}, rules());
    ASSERT_TRUE(c.comparable) << c.reason;
    wrong += std::any_of(c.rows.begin(), c.rows.end(),
                         [](const auto& r) { return r.verdict == compare::Verdict::better || r.verdict == compare::Verdict::worse; });
  }
  EXPECT_LE(wrong, 5);
}

TEST(CompareFake, a_link_that_lost_5_percent_is_called_worse_at_the_repetitions_that_were_asked_for) {
  const backends::fake::Fault slow{backends::fake::FaultKind::slow_link, 0.95};
  int found = 0;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const auto row_at = [&](int n, std::uint64_t seed) {
      const auto c = compare::compare({measured(seed, n), measured(seed + 1, n, slow)}, rules());
      const auto row = std::find_if(c.rows.begin(), c.rows.end(), [](const auto& r) { return r.metric == "bandwidth@64MiB"; });
      return *row;
    };
    auto row = row_at(12, 4 * i + 1);
    if (row.repetitions) row = row_at(int(*row.repetitions), 4 * i + 3);
    found += row.verdict == compare::Verdict::worse;
  }
  EXPECT_GE(found, 95);
}

TEST(CompareFake, writes_with_and_without_fsync_are_refused) {
  const auto c = compare::compare({measured(1, 12), measured(2, 12, {}, false)}, rules());
  EXPECT_FALSE(c.comparable);
  EXPECT_NE(c.reason.find("fsync"), std::string::npos);
}

}  // namespace
}  // namespace trunkline
