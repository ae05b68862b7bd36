#include "backends/host/host.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>

#include "backends/host/buffer.hpp"
#include "backends/host/memory_probes.hpp"
#include "backends/host/team.hpp"
#include "measure/clock.hpp"

namespace trunkline::backends::host {
namespace {

TEST(Sum, is_what_the_fill_adds_up_to_also_beyond_64_bits) {
  for (const std::size_t count : {0u, 1u, 7u, 8u, 9u, 1000u, 1001u}) {
    for (const std::uint64_t first : {std::uint64_t(0), std::uint64_t(1) << 40, ~std::uint64_t(0) - 3}) {
      std::vector<std::uint64_t> words(count);
      fill(words, first);
      std::uint64_t plain = 0;
      for (const auto w : words) plain += w;
      EXPECT_EQ(sum(words), plain);
      EXPECT_EQ(sum_of_fill(count, first), plain);
    }
  }
}

TEST(Placements, one_node_has_no_matrix) {
  const auto all = placements_of({{0, {0, 1}, gib(8)}});
  ASSERT_EQ(all.size(), 2u);
  EXPECT_EQ(all[0].metric, "bandwidth");
  EXPECT_EQ(all[0].cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(all[1].metric, "bandwidth@one_thread");
  EXPECT_EQ(placements_of({{0, {3}, gib(8)}}).size(), 1u);  // one core: alone and all are the same
}

TEST(Placements, several_nodes_have_a_row_for_each_with_cores_and_a_column_for_each_with_memory) {
  // Two sockets and a node that is memory only (CXL, HBM).
  const auto all = placements_of({{0, {0, 1}, gib(8)}, {1, {2, 3}, gib(8)}, {2, {}, gib(64)}});
  std::string names;
  for (const auto& p : all) {
    names += p.metric + " ";
    EXPECT_EQ(p.cpus.size(), p.nodes.size());
  }
  EXPECT_EQ(names,
            "bandwidth bandwidth@one_thread bandwidth@node0_memory0 bandwidth@node0_memory1 bandwidth@node0_memory2 "
            "bandwidth@node1_memory0 bandwidth@node1_memory1 bandwidth@node1_memory2 ");
  EXPECT_EQ(all[0].nodes, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(all[4].cpus, (std::vector<int>{0, 1}));
  EXPECT_EQ(all[4].nodes, (std::vector<int>{2, 2}));
}

// hwloc plays a machine: two nodes of four cores with two hardware threads each.
TEST(Places, one_cpu_a_core_on_every_node) {
  if (hwloc_version().empty()) GTEST_SKIP() << "built without hwloc";
  ::setenv("HWLOC_SYNTHETIC", "pack:2 numa:1 l3:1(size=33554432) core:4 pu:2", 1);
  const auto found = places();
  ::unsetenv("HWLOC_SYNTHETIC");
  ASSERT_TRUE(found) << found.error().text();
  ASSERT_EQ((*found)->nodes().size(), 2u);
  EXPECT_EQ((*found)->nodes()[0].cpus, (std::vector<int>{0, 2, 4, 6}));
  EXPECT_EQ((*found)->nodes()[1].cpus, (std::vector<int>{8, 10, 12, 14}));
  EXPECT_EQ((*found)->last_level_cache(), mib(64));
}

class Here : public testing::Test {
 protected:
  void SetUp() override {
    auto found = places();
    if (!found) GTEST_SKIP() << found.error().text();
    places_ = std::move(*found);
    for (const Node& node : places_->nodes()) cpus_.insert(cpus_.end(), node.cpus.begin(), node.cpus.end());
  }
  std::unique_ptr<Places> places_;
  std::vector<int> cpus_;
};

TEST_F(Here, a_team_has_every_member_do_its_part_each_time) {
  const auto team = Team::make(*places_, cpus_);
  ASSERT_TRUE(team) << team.error().text();
  std::vector<std::atomic<int>> done(cpus_.size());
  for (int round = 0; round < 50; ++round) (*team)->run([&](int i) { ++done[std::size_t(i)]; });
  for (const auto& count : done) EXPECT_EQ(count, 50);
}

TEST_F(Here, pinning_to_a_cpu_that_does_not_exist_is_an_error_not_a_hang) {
  const auto team = Team::make(*places_, std::vector<int>{cpus_[0], 100000});
  ASSERT_FALSE(team);
  EXPECT_NE(team.error().message.find("CPU 100000"), std::string::npos);
}

TEST_F(Here, memory_is_where_it_was_asked_for) {
  const int node = places_->nodes()[0].index;
  const auto buffer = Buffer::on(*places_, node, 4 << 20);
  ASSERT_TRUE(buffer);
  fill(buffer->words(), 1);
  EXPECT_TRUE(places_->lies_on(buffer->start(), buffer->size(), node));
}

TEST_F(Here, probes_answer_with_verified_data_and_say_where_a_limit_is_from) {
  for (const auto& probe : backend().probes()) {
    measure::SteadyClock clock;
    measure::SamplerOptions options;
    options.budget = milliseconds(1);  // one repetition of everything
    measure::Sampler sampler(clock, options);
    const auto done = probe->run({}, sampler);
    if (!done && done.error().kind == ErrorKind::missing) GTEST_SKIP() << done.error().text();
    ASSERT_TRUE(done) << done.error().text();
    ASSERT_FALSE(sampler.metrics().empty());
    for (const auto& m : sampler.metrics()) {
      EXPECT_GT(*m.median(), 0) << m.name;
      EXPECT_EQ(m.limit.has_value(), !m.limit_source.empty()) << m.name;
      EXPECT_EQ(std::get<bool>(*measure::find(m.conditions, measure::condition::kVerified)), true) << m.name;
    }
  }
}

}  // namespace
}  // namespace trunkline::backends::host
