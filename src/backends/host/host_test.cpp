#include "backends/host/host.hpp"

#include <gtest/gtest.h>

#include <atomic>

#include "backends/host/buffer.hpp"
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

TEST_F(Here, probes_answer_with_verified_data_and_no_invented_limit) {
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
      EXPECT_FALSE(m.limit) << m.name;
      EXPECT_EQ(std::get<bool>(*measure::find(m.conditions, measure::condition::kVerified)), true) << m.name;
    }
  }
}

}  // namespace
}  // namespace trunkline::backends::host
