// Flow simulation against a plain one that shares anew after every event.
#include <gtest/gtest.h>

#include <cmath>

#include "network/flow_sim.hpp"
#include "network_reference.hpp"

namespace trunkline::network {
namespace {

struct Job {
  reference::Flow flow;
  double bytes = 0, start = 0;
};

struct Problem {
  std::vector<double> capacities;
  std::vector<Job> jobs;
};

// Rates in bytes per second near 10⁹, sizes near 10⁶: times in milliseconds, a picosecond is 10⁻⁹ of them.
Problem any_problem(std::uint64_t seed) {
  Rng rng(seed);
  auto shape = reference::any_shape(rng);
  Problem problem;
  problem.capacities = reference::any_capacities(rng, shape);
  std::vector<reference::Flow> flows;
  const bool together = rng.below(3) == 0, alike = rng.below(3) == 0;
  for (std::size_t i = 0; i < shape.flows; ++i) {
    flows.push_back(reference::any_flow(rng, shape, flows));
    Job job{flows.back(), alike ? 1e6 : double(1 + rng.below(2'000'000)), together ? 0 : std::floor(rng.uniform() * 3e9) * 1e-12};
    job.flow.cap *= 1e9;
    problem.jobs.push_back(job);
  }
  for (double& capacity : problem.capacities) capacity *= 1e9;
  return problem;
}

// Completion by job; infinite for what never ends.
std::vector<double> plain_simulation(const Problem& problem) {
  std::vector<reference::Flow> flows;
  std::vector<double> left, done(problem.jobs.size(), kUnlimited);
  for (const Job& job : problem.jobs) {
    flows.push_back(job.flow);
    flows.back().alive = false;
    left.push_back(job.bytes);
  }
  double now = 0;
  std::vector<bool> started(flows.size(), false);
  for (;;) {
    const auto rates = reference::rates(problem.capacities, flows);
    double next = kUnlimited;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!started[f]) next = std::min(next, problem.jobs[f].start);
      if (flows[f].alive && rates[f] > 0) next = std::min(next, now + left[f] / rates[f]);
    }
    if (next == kUnlimited) return done;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!flows[f].alive) continue;
      left[f] -= rates[f] * (next - now);
      if (left[f] <= rates[f] * 1e-13 + problem.jobs[f].bytes * 1e-12) {
        done[f] = next;
        flows[f].alive = false;
      }
    }
    now = next;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (!started[f] && problem.jobs[f].start <= now) started[f] = flows[f].alive = true;
    }
  }
}

std::vector<double> simulated(const Problem& problem, double tolerance) {
  FlowSim sim(problem.capacities, FlowSim::Options{tolerance});
  for (const Job& job : problem.jobs) {
    FlowOptions options;
    options.weight = job.flow.weight;
    options.cap = byte_per_s(job.flow.cap);
    sim.add(job.flow.path, Bytes(std::int64_t(job.bytes)), picoseconds(seconds(job.start)), options);
  }
  sim.run();
  std::vector<double> out;
  for (FlowId f = 0; f < sim.flows(); ++f) {
    const auto done = sim.completion(f);
    out.push_back(done ? to_seconds(*done).si() : kUnlimited);
  }
  return out;
}

TEST(FlowSimProperty, EqualsSharingAnewAfterEveryEvent) {
  for (std::uint64_t seed = 0; seed < 1500; ++seed) {
    const Problem problem = any_problem(seed);
    const auto expected = plain_simulation(problem), got = simulated(problem, 0);
    for (std::size_t f = 0; f < got.size(); ++f) {
      if (got[f] == expected[f]) continue;
      // Each event may be a picosecond off by rounding, and a flow sees at most all of them.
      ASSERT_NEAR(got[f], expected[f], 1e-12 * double(4 * got.size()) + 1e-9 * expected[f]) << "case " << seed << ", flow " << f;
    }
  }
}

// Measured against the longest flow, as the windows are: on average within the tolerance, the worst within a few.
TEST(FlowSimProperty, ToleranceKeepsCompletionsNear) {
  constexpr double kTolerance = 1e-3;
  double worst = 0, sum = 0;
  std::size_t count = 0;
  for (std::uint64_t seed = 5000; seed < 6000; ++seed) {
    const Problem problem = any_problem(seed);
    const auto exact = simulated(problem, 0), near = simulated(problem, kTolerance);
    double longest = 0;
    for (std::size_t f = 0; f < exact.size(); ++f) {
      ASSERT_EQ(exact[f] == kUnlimited, near[f] == kUnlimited);
      if (exact[f] < kUnlimited) longest = std::max(longest, exact[f] - problem.jobs[f].start);
    }
    for (std::size_t f = 0; f < exact.size(); ++f) {
      if (exact[f] == kUnlimited) continue;
      const double error = std::abs(near[f] - exact[f]) / longest;
      worst = std::max(worst, error);
      sum += error;
      ++count;
    }
  }
  RecordProperty("worst", std::to_string(worst));
  RecordProperty("mean", std::to_string(sum / double(count)));
  EXPECT_LT(sum / double(count), kTolerance);
  EXPECT_LT(worst, 10 * kTolerance);
}

}  // namespace
}  // namespace trunkline::network
