#include "network/flow_sim.hpp"

#include <gtest/gtest.h>

namespace trunkline::network {
namespace {

using Path = std::vector<LinkId>;

constexpr Picoseconds kMicrosecond = 1'000'000;
constexpr double kGigabyte = 1e9;  // per second: 1000 bytes a microsecond

FlowOptions with_weight(double weight) {
  FlowOptions options;
  options.weight = weight;
  return options;
}

FlowOptions with_cap(Bandwidth cap) {
  FlowOptions options;
  options.cap = cap;
  return options;
}

TEST(FlowSim, OneFlowTakesItsSizeOverTheCapacityAndTheLatency) {
  FlowSim sim(std::vector<double>{kGigabyte});
  FlowOptions options;
  options.latency = microseconds(2);
  const auto flow = sim.add(Path{0}, Bytes(10'000), 5 * kMicrosecond, options);
  EXPECT_FALSE(sim.completion(flow));
  EXPECT_TRUE(sim.step());
  EXPECT_EQ(sim.now(), 15 * kMicrosecond);
  EXPECT_EQ(*sim.completion(flow), 17 * kMicrosecond);
  EXPECT_FALSE(sim.step());
}

// Two flows share until the shorter is done: 2·10 µs at half rate, then the longer has 10 kB left at full rate.
TEST(FlowSim, FinishFreesItsShare) {
  FlowSim sim(std::vector<double>{kGigabyte});
  const auto brief = sim.add(Path{0}, Bytes(10'000), 0), longer = sim.add(Path{0}, Bytes(20'000), 0);
  EXPECT_TRUE(sim.step());
  ASSERT_EQ(sim.finished().size(), 1U);
  EXPECT_EQ(sim.finished()[0], brief);
  EXPECT_DOUBLE_EQ(sim.rate(longer).si(), kGigabyte);
  EXPECT_EQ(sim.rate(brief).si(), 0);
  sim.run();
  EXPECT_EQ(*sim.completion(brief), 20 * kMicrosecond);
  EXPECT_EQ(*sim.completion(longer), 30 * kMicrosecond);
}

// A late start halves the rate from then on: 10 kB are sent in 10 µs, the other 10 kB take 20 µs; the late flow, alone after that,
// has sent 10 of its 15 kB.
TEST(FlowSim, StartTakesItsShareAtOnce) {
  FlowSim sim(std::vector<double>{kGigabyte});
  const auto early = sim.add(Path{0}, Bytes(20'000), 0), late = sim.add(Path{0}, Bytes(15'000), 10 * kMicrosecond);
  sim.run();
  EXPECT_EQ(*sim.completion(early), 30 * kMicrosecond);
  EXPECT_EQ(*sim.completion(late), 35 * kMicrosecond);
}

// k senders of equal size into one port get C/k each and end together, in one event.
TEST(FlowSim, IncastEndsTogether) {
  constexpr std::size_t kSenders = 128;
  FlowSim sim(std::vector<double>(kSenders + 1, 12.5e9));
  for (LinkId i = 0; i < kSenders; ++i) sim.add(Path{i, LinkId(kSenders)}, Bytes(2'000'000), 0);
  EXPECT_TRUE(sim.step());
  EXPECT_EQ(sim.finished().size(), kSenders);
  for (FlowId f = 0; f < kSenders; ++f) EXPECT_EQ(*sim.completion(f), 20'480 * kMicrosecond);  // 128 · 2 MB / 12.5 GB/s
  EXPECT_EQ(sim.counts().solves, 2U);
}

TEST(FlowSim, WeightsShareUnequally) {
  FlowSim sim(std::vector<double>{3 * kGigabyte});
  const auto heavy = sim.add(Path{0}, Bytes(20'000), 0, with_weight(2)), light = sim.add(Path{0}, Bytes(20'000), 0);
  sim.run();
  EXPECT_EQ(*sim.completion(heavy), 10 * kMicrosecond);
  EXPECT_EQ(*sim.completion(light), 10 * kMicrosecond + 3'333'333);  // 10 kB left at 3 GB/s
}

// The capped flow keeps its rate when the other ends, the other takes what the cap leaves.
TEST(FlowSim, CapHoldsAlone) {
  FlowSim sim(std::vector<double>{kGigabyte});
  const auto capped = sim.add(Path{0}, Bytes(10'000), 0, with_cap(gbyte_per_s(0.25))), free = sim.add(Path{0}, Bytes(15'000), 0);
  sim.run();
  EXPECT_EQ(*sim.completion(free), 20 * kMicrosecond);
  EXPECT_EQ(*sim.completion(capped), 40 * kMicrosecond);
}

// Flows of one path and cap are one bundle; one that joins later and is shorter overtakes the first.
TEST(FlowSim, ShorterFlowOvertakesInItsBundle) {
  for (const double cap : {0.25, 100.0}) {
    FlowSim sim(std::vector<double>{kGigabyte});
    const auto longer = sim.add(Path{0}, Bytes(20'000), 0, with_cap(gbyte_per_s(cap)));
    const auto shorter = sim.add(Path{0}, Bytes(2'000), 4 * kMicrosecond, with_cap(gbyte_per_s(cap)));
    sim.run();
    if (cap < 1) {
      EXPECT_EQ(*sim.completion(shorter), 12 * kMicrosecond);
      EXPECT_EQ(*sim.completion(longer), 80 * kMicrosecond);
    } else {
      EXPECT_EQ(*sim.completion(shorter), 8 * kMicrosecond);
      EXPECT_EQ(*sim.completion(longer), 22 * kMicrosecond);
    }
  }
}

TEST(FlowSim, NothingToSendTakesTheLatencyOnly) {
  FlowSim sim(std::vector<double>{kGigabyte, kUnlimited});
  FlowOptions options;
  options.latency = microseconds(3);
  const auto empty = sim.add(Path{0}, Bytes(0), kMicrosecond, options), local = sim.add(Path{}, Bytes(1'000'000), kMicrosecond, options);
  const auto over_free_link = sim.add(Path{1}, Bytes(1'000'000), kMicrosecond);
  sim.run();
  EXPECT_EQ(*sim.completion(empty), 4 * kMicrosecond);
  EXPECT_EQ(*sim.completion(local), 4 * kMicrosecond);
  EXPECT_EQ(*sim.completion(over_free_link), kMicrosecond);
}

TEST(FlowSim, FlowOverADeadLinkNeverEnds) {
  FlowSim sim(std::vector<double>{0, kGigabyte});
  const auto dead = sim.add(Path{0, 1}, Bytes(1000), 0), alive = sim.add(Path{1}, Bytes(1000), 0);
  sim.run();
  EXPECT_FALSE(sim.completion(dead));
  EXPECT_EQ(*sim.completion(alive), kMicrosecond);
}

// Steps of a ring that wait for each other: what a caller adds on a finish.
TEST(FlowSim, FlowsMayBeAddedBetweenSteps) {
  constexpr int kHosts = 4, kSteps = 6;
  FlowSim sim(std::vector<double>(kHosts, kGigabyte));
  const auto round = [&] {
    for (LinkId i = 0; i < kHosts; ++i) sim.add(Path{i}, Bytes(1000), sim.now());
  };
  round();
  for (int done = 1; sim.step(); ++done) {
    EXPECT_EQ(sim.finished().size(), std::size_t(kHosts));
    if (done < kSteps) round();
  }
  EXPECT_EQ(sim.now(), kSteps * kMicrosecond);
  EXPECT_EQ(sim.flows(), std::size_t(kHosts * kSteps));
}

TEST(FlowSim, TimesSaturateInsteadOfOverflowing) {
  EXPECT_EQ(picoseconds(seconds(1e9)), kNever);
  EXPECT_EQ(picoseconds(microseconds(1.5)), 1'500'000);
  FlowSim sim(std::vector<double>{1e-3});
  const auto endless = sim.add(Path{0}, Bytes(1'000'000'000'000), 0);
  EXPECT_FALSE(sim.step());
  EXPECT_FALSE(sim.completion(endless));
}

// The window of a tolerance: what ends within it keeps its own time, but leaves in one step.
TEST(FlowSim, ToleranceTakesFinishesTogether) {
  FlowSim sim(std::vector<double>(3, kGigabyte), FlowSim::Options{0.01});
  const auto a = sim.add(Path{0}, Bytes(100'000), 0), b = sim.add(Path{1}, Bytes(100'500), 0), c = sim.add(Path{2}, Bytes(102'000), 0);
  EXPECT_TRUE(sim.step());
  EXPECT_EQ(sim.finished().size(), 2U);
  sim.run();
  EXPECT_EQ(*sim.completion(a), 100 * kMicrosecond);
  EXPECT_EQ(*sim.completion(b), 100 * kMicrosecond + kMicrosecond / 2);
  EXPECT_EQ(*sim.completion(c), 102 * kMicrosecond);
}

}  // namespace
}  // namespace trunkline::network
