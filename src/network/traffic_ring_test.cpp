#include "network/traffic_ring.hpp"

#include <gtest/gtest.h>

namespace trunkline::network {
namespace {

Clos star(int hosts, Bandwidth rate, Seconds wire) {
  ClosSpec spec;
  spec.tiers = 1;
  spec.hosts = spec.hosts_per_leaf = hosts;
  spec.host_rate = rate;
  spec.wire = wire;
  return *Clos::build(spec);
}

ClosFabric fabric_of(Clos clos) { return ClosFabric(std::make_shared<const Clos>(std::move(clos))); }

// 2(n − 1) steps of size/n, each with the latency of the way: 126 · (2^24 B / 50 GB/s + 1 us) = 42.4046 ms.
TEST(Ring, ClosedForm) {
  const auto fabric = fabric_of(star(64, gbyte_per_s(50), microseconds(0.5)));
  for (const RingSteps steps : {RingSteps::every, RingSteps::folded}) {
    const auto run = run_ring(fabric, 64, Bytes(1 << 30), {}, steps);
    EXPECT_NEAR(as_milliseconds(run.finish), 126 * ((1 << 24) / 50e9 + 1e-6) * 1e3, 1e-6);
    EXPECT_NEAR(as_milliseconds(run.ideal), 126 * ((1 << 24) / 50e9) * 1e3, 1e-9);
    EXPECT_EQ(run.flows, 64U * 126U);
    EXPECT_EQ(run.folded, steps == RingSteps::folded);
    EXPECT_NEAR(as_microseconds(run.completion.max), (1 << 24) / 50e3 + 1, 1e-4);
  }
}

// Ways of different latency: both ways of solving agree to the picosecond.
TEST(Ring, FoldedIsExactOverUnequalWays) {
  for (const int hosts : {2, 3, 24, 100, 128}) {
    ClosSpec spec = *clos_for({128, 3, 8, 1, 1, gbit_per_s(400)});
    spec.wire = microseconds(0.7);
    spec.switching = microseconds(0.3);
    const auto fabric = fabric_of(*Clos::build(spec));
    RunOptions options;
    options.routing.policy = topology::Routing::ideal;
    const auto every = run_ring(fabric, hosts, Bytes(10'000'000), options, RingSteps::every);
    const auto folded = run_ring(fabric, hosts, Bytes(10'000'000), options, RingSteps::folded);
    ASSERT_TRUE(folded.folded) << hosts;
    EXPECT_EQ(every.finish.si(), folded.finish.si()) << hosts;
    EXPECT_EQ(every.completion.max.si(), folded.completion.max.si());
    EXPECT_EQ(every.flows, folded.flows);
  }
}

// Two hops over one uplink of half their sum: their sends slow each other, so nothing is folded, and the ring is slower.
TEST(Ring, ContentionIsNotFolded) {
  ClosSpec spec;
  spec.hosts = 8;
  spec.hosts_per_leaf = 1;  // every hop goes over a spine
  spec.spines = 1;
  spec.host_rate = gbyte_per_s(10);
  spec.leaf_rate = gbyte_per_s(5);
  const auto narrow = fabric_of(*Clos::build(spec));
  const auto slow = run_ring(narrow, 8, Bytes(8'000'000), {}, RingSteps::folded);
  EXPECT_TRUE(slow.folded);  // slower, but nobody slows another
  EXPECT_NEAR(slow.finish / slow.ideal, 2, 1e-9);
  spec.hosts_per_leaf = 2;
  spec.hosts = 8;
  spec.rails = 2;  // hosts 0, 2, 4, … and 1, 3, 5, … on leaves of their own: all hops leave their leaf, two at a time
  const auto shared = fabric_of(*Clos::build(spec));
  const auto run = run_ring(shared, 8, Bytes(8'000'000), {}, RingSteps::folded);
  EXPECT_FALSE(run.folded);
  EXPECT_NEAR(run.finish / run.ideal, 4, 1e-6);
}

TEST(Ring, QueuePairsSendTogether) {
  const auto fabric = fabric_of(star(8, gbyte_per_s(50), microseconds(1)));
  RunOptions options;
  options.queue_pairs = 4;
  const auto one = run_ring(fabric, 8, Bytes(8'000'000), {}, RingSteps::every);
  for (const RingSteps steps : {RingSteps::every, RingSteps::folded}) {
    const auto four = run_ring(fabric, 8, Bytes(8'000'000), options, steps);
    EXPECT_NEAR(four.finish / one.finish, 1, 1e-9);
    EXPECT_EQ(four.flows, 4 * one.flows);
  }
}

TEST(Ring, WithoutAWay) {
  Clos clos = star(8, gbyte_per_s(50), microseconds(1));
  clos.scale(clos.host_link(3, Direction::down), 0);
  EXPECT_FALSE(run_ring(fabric_of(clos), 8, Bytes(8'000'000), {}, RingSteps::every).served);
}

}  // namespace
}  // namespace trunkline::network
