#include "measure/sampler.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <map>

#include "base/rng.hpp"

namespace trunkline::measure {
namespace {

// A point whose repetitions take `cost` and yield what `value` says.
Point point(const std::string& name, VirtualClock& clock, Seconds cost, std::function<double()> value) {
  Point p;
  p.metrics = {{name, "B/s", Better::higher, {}}};
  p.repeat = [&clock, cost, value]() -> Result<std::vector<double>> {
    clock.advance(cost);
    return std::vector<double>{value()};
  };
  return p;
}

std::function<double()> noise(double spread, std::uint64_t seed) {
  return [rng = Rng(seed), spread]() mutable { return 100 * (1 + spread * (rng.uniform() - 0.5)); };
}

TEST(Sampler, equal_samples_are_precise_after_six) {
  // Six is the least number with a 95 % interval of the median (1 − 2/2^6 = 0.969).
  VirtualClock clock;
  Sampler sampler(clock, {});
  ASSERT_TRUE(sampler.sample({point("a", clock, milliseconds(1), [] { return 5.0; })}));
  EXPECT_EQ(sampler.metrics()[0].samples.size(), 6u);
  EXPECT_EQ(sampler.metrics()[0].warmup.size(), 1u);
  EXPECT_EQ(sampler.metrics()[0].stopped, "precise");
}

TEST(Sampler, goes_on_until_the_interval_is_within_two_percent) {
  VirtualClock clock;
  Sampler sampler(clock, {});
  ASSERT_TRUE(sampler.sample({point("a", clock, milliseconds(1), noise(0.2, 7))}));
  const Metric& m = sampler.metrics()[0];
  EXPECT_EQ(m.stopped, "precise");
  EXPECT_GT(m.samples.size(), 6u);
  EXPECT_LE(m.interval()->high, 1.02 * *m.median());
  EXPECT_GE(m.interval()->low, 0.98 * *m.median());
  // One sample earlier it was not yet enough.
  Metric before = m;
  before.samples.pop_back();
  EXPECT_TRUE(before.interval()->high > 1.02 * *before.median() || before.interval()->low < 0.98 * *before.median());
}

TEST(Sampler, ends_with_the_time_and_begins_nothing_that_would_not_end_in_time) {
  VirtualClock clock;
  SamplerOptions options;
  options.budget = seconds(10);
  Sampler sampler(clock, options);
  ASSERT_TRUE(sampler.sample({point("a", clock, seconds(3), noise(5, 1))}));
  // Warm-up 3 s, then 2 repetitions; a third would end at 12 s.
  EXPECT_EQ(sampler.metrics()[0].samples.size(), 2u);
  EXPECT_EQ(sampler.metrics()[0].stopped, "time");
  EXPECT_LE(sampler.elapsed(), seconds(10));
}

TEST(Sampler, one_repetition_is_made_even_without_time) {
  VirtualClock clock;
  SamplerOptions options;
  options.budget = milliseconds(1);
  Sampler sampler(clock, options);
  ASSERT_TRUE(sampler.sample({point("a", clock, seconds(3), noise(1, 1)), point("b", clock, seconds(3), noise(1, 2))}));
  for (const Metric& m : sampler.metrics()) EXPECT_EQ(m.samples.size(), 1u);
}

TEST(Sampler, a_number_of_repetitions_that_was_asked_for_is_made_whatever_they_take) {
  VirtualClock clock;
  SamplerOptions options;
  options.exactly = 9;
  options.budget = seconds(1);
  Sampler sampler(clock, options);
  ASSERT_TRUE(sampler.sample({point("a", clock, seconds(3), noise(1, 1)), point("b", clock, seconds(3), [] { return 1.0; })}));
  for (const Metric& m : sampler.metrics()) {
    EXPECT_EQ(m.samples.size(), 9u);
    EXPECT_EQ(m.stopped, "count");
  }
}

TEST(Sampler, points_take_turns_in_an_order_that_the_seed_decides) {
  const auto order_of = [](std::uint64_t seed) {
    VirtualClock clock;
    SamplerOptions options;
    options.seed = seed;
    options.budget = seconds(40);
    std::string order;
    std::vector<Point> points;
    for (const char name : {'a', 'b', 'c', 'd'}) {
      points.push_back(point(std::string(1, name), clock, seconds(1), [&order, name, n = noise(5, name)]() mutable {
        order += name;
        return n();
      }));
    }
    Sampler sampler(clock, options);
    EXPECT_TRUE(sampler.sample(std::move(points)));
    return order.substr(4);  // behind the warm-up
  };
  const std::string order = order_of(3);
  ASSERT_GE(order.size(), 16u);
  std::map<std::string, int> rounds;
  for (std::size_t i = 0; i + 4 <= order.size(); i += 4) {
    std::string round = order.substr(i, 4);
    ++rounds[round];
    std::sort(round.begin(), round.end());
    EXPECT_EQ(round, "abcd");  // everyone once a round
  }
  EXPECT_GT(rounds.size(), 1u);  // not always in the same order
  EXPECT_EQ(order, order_of(3));
  EXPECT_NE(order, order_of(4));
}

TEST(Sampler, keeps_what_was_sampled_before_a_fault) {
  VirtualClock clock;
  Sampler sampler(clock, {});
  int made = 0;
  Point p = point("a", clock, seconds(1), [] { return 1.0; });
  p.repeat = [&]() -> Result<std::vector<double>> {
    if (++made == 4) return fail({ErrorKind::failed, "rank 3 is gone", {}, {}});
    return std::vector<double>{1.0};
  };
  const auto done = sampler.sample({p});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "rank 3 is gone");
  EXPECT_EQ(sampler.metrics()[0].samples.size(), 2u);
  EXPECT_EQ(sampler.metrics()[0].stopped, "failed");
}

TEST(Sampler, what_is_no_number_is_no_sample) {
  VirtualClock clock;
  Sampler sampler(clock, {});
  const auto done = sampler.sample({point("a", clock, seconds(1), [] { return std::numeric_limits<double>::infinity(); })});
  ASSERT_FALSE(done);
  EXPECT_NE(done.error().message.find("no number"), std::string::npos);
  EXPECT_TRUE(sampler.metrics()[0].samples.empty() && sampler.metrics()[0].warmup.empty());
}

TEST(Sampler, a_stop_is_noticed_before_the_next_repetition) {
  VirtualClock clock;
  int made = 0;
  Sampler sampler(clock, {}, [&] { return made >= 3; });
  const auto done = sampler.sample({point("a", clock, seconds(1), [&] { return double(++made); })});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::interrupted);
  EXPECT_EQ(made, 3);
  EXPECT_EQ(sampler.metrics()[0].stopped, "interrupted");
}

TEST(Sampler, processes_that_agree_repeat_the_same_points_equally_often) {
  // Two samplers with different noise; the second follows the decisions of the first.
  const auto run = [](std::uint64_t noise_seed, std::vector<int>& decisions, bool leads) {
    VirtualClock clock;
    SamplerOptions options;
    options.budget = seconds(30);
    Sampler sampler(clock, options);
    std::size_t at = 0;
    sampler.set_agreement([&](int mine) {
      if (leads) decisions.push_back(mine);
      return decisions.at(at++);
    });
    EXPECT_TRUE(
        sampler.sample({point("a", clock, seconds(1), noise(leads ? 0.05 : 3, noise_seed)), point("b", clock, seconds(1), noise(3, 9))}));
    EXPECT_EQ(at, decisions.size());
    return std::pair(sampler.metrics()[0].samples.size(), sampler.metrics()[1].samples.size());
  };
  std::vector<int> decisions;
  const auto first = run(1, decisions, true);
  EXPECT_NE(first.first, first.second);
  EXPECT_EQ(run(2, decisions, false), first);
}

TEST(Drift, a_step_in_the_middle_is_said_and_noise_is_not) {
  Metric m{"bandwidth", "B/s", Better::higher, {}};
  auto draw = noise(0.02, 1);
  for (int i = 0; i < 40; ++i) m.samples.push_back(draw());
  EXPECT_EQ(drift_of(m), "");
  for (int i = 20; i < 40; ++i) m.samples[std::size_t(i)] *= 0.9;
  EXPECT_NE(drift_of(m).find("-10"), std::string::npos) << drift_of(m);
}

}  // namespace
}  // namespace trunkline::measure
