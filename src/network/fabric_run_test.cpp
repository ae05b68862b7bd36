#include "network/fabric_run.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "network/clos_testing.hpp"

namespace trunkline::network {
namespace {

using testing_clos::leaf_spine;
using topology::Routing;

RunOptions routed_by(Routing policy) {
  RunOptions options;
  options.routing.policy = policy;
  return options;
}

// A mean over seeds, and how far such a mean of four runs may lie from it by chance (two standard errors).
struct Statistic {
  double sum = 0, squares = 0;
  int n = 0;
  void add(double x) {
    sum += x;
    squares += x * x;
    ++n;
  }
  double mean() const { return sum / n; }
  double chance() const { return 2 * std::sqrt(std::max(0.0, squares / n - mean() * mean()) / 4); }
};

// The fullest of 1,024 leaf–spine links, each chosen by any of n queue pairs with chance 1/32, sets the completion: with k on it
// everything takes k/queue pairs times as long as alone, over uplinks that are u times faster k/(queue pairs · u), never less than 1.
double fullest_link(int queue_pairs, double uplinks) {
  const int n = 32 * queue_pairs;
  double chance = std::pow(31.0 / 32, n), up_to = 0, all_up_to = 0, mean = 0;  // Binomial(n, 1/32), links taken as independent
  for (int k = 0; k <= n; ++k) {
    up_to = std::min(1.0, up_to + chance);
    const double all = std::pow(up_to, 1024);
    mean += std::max(1.0, k / (queue_pairs * uplinks)) * (all - all_up_to);
    all_up_to = all;
    chance *= double(n - k) / (k + 1) / 31;
  }
  return mean;
}

// The permutation experiment: 512 hosts, 32 a leaf, 32 spines, every host to one in another leaf over ECMP. Expected are the
// printed figures of an independent fluid simulation, averages over a few seeds: what differs by more than 3 % and the chance of
// four seeds (and the rounding of the last digit) is a fault of the model. The closed form above has no such chance.
TEST(Permutation, EcmpCollisionsAsPublished) {
  struct Row {
    int queue_pairs;
    double uplinks, mean, worst, completion;
  };
  const Row rows[] = {{1, 1, 0.50, 0.19, 5.25}, {4, 1, 0.80, 0.42, 2.91}, {16, 1, 0.95, 0.77, 1.81},
                      {1, 2, 0.84, 0, 2.62},    {4, 2, 1.00, 0, 1.45},    {16, 2, 1.00, 0, 1.00}};
  const Bandwidth rate = gbyte_per_s(50);
  const Bytes size(16'000'000);
  const Seconds alone = size / rate;
  for (const Row& row : rows) {
    ClosSpec spec = leaf_spine(512, 32, 32, rate);
    spec.leaf_rate = rate * row.uplinks;
    const Clos clos = *Clos::build(spec);
    Statistic mean, worst, completion;
    for (std::uint64_t seed = 0; seed < 40; ++seed) {
      RunOptions options = routed_by(Routing::ecmp);
      options.routing.seed = seed;
      options.queue_pairs = row.queue_pairs;
      options.hottest = 0;
      const auto result = run_traffic(clos, permutation(clos, size, seed), options);
      mean.add(result.rate.mean / rate);
      worst.add(result.rate.min / rate);
      completion.add(result.completion.max / alone);
    }
    const std::string what = std::to_string(row.queue_pairs) + " queue pairs, uplinks x" + std::to_string(int(row.uplinks));
    EXPECT_NEAR(mean.mean(), row.mean, 0.03 * row.mean) << what;
    if (row.worst > 0) {
      EXPECT_NEAR(worst.mean(), row.worst, 0.03 * row.worst + 0.005 + worst.chance()) << what;
    }
    EXPECT_NEAR(completion.mean(), fullest_link(row.queue_pairs, row.uplinks), 0.03 * completion.mean()) << what;
    EXPECT_NEAR(completion.mean(), row.completion, 0.03 * row.completion + 0.005 + completion.chance()) << what;
  }
}

// The same permutation with every packet on its own way: nobody waits.
TEST(Permutation, SprayingHasNoCollisions) {
  const Clos clos = *Clos::build(leaf_spine(512, 32, 32, gbyte_per_s(50)));
  const auto demands = permutation(clos, Bytes(50'000'000), 1);
  for (const auto policy : {Routing::spray, Routing::adaptive, Routing::ideal}) {
    const auto result = run_traffic(clos, demands, routed_by(policy));
    EXPECT_NEAR(as_gbyte_per_s(result.rate.min), 50, 1e-6);
    EXPECT_NEAR(as_milliseconds(result.completion.max), 1, 1e-9);
    EXPECT_NEAR(as_milliseconds(result.ideal), 1, 1e-9);
    EXPECT_NEAR(result.max_utilisation, 1, 1e-9);
    EXPECT_NEAR(result.mean_utilisation, 1, 1e-9);
  }
  auto lossy = routed_by(Routing::spray);
  lossy.routing.efficiency = 0.9;
  EXPECT_NEAR(as_gbyte_per_s(run_traffic(clos, demands, lossy).rate.mean), 45, 1e-6);
}

// k senders get C/k each, whatever the fabric above does: the last hop is the limit.
TEST(Incast, EachGetsAKth) {
  const Clos clos = *Clos::build(leaf_spine(512, 32, 32, gbit_per_s(100)));
  for (const auto policy : {Routing::ecmp, Routing::pinned, Routing::spray, Routing::adaptive}) {
    const auto result = run_traffic(clos, incast(128, Bytes(2'000'000)), routed_by(policy));
    EXPECT_NEAR(result.rate.min.si(), 12.5e9 / 128, 1);
    EXPECT_NEAR(result.rate.mean.si(), 12.5e9 / 128, 1);
    EXPECT_NEAR(as_milliseconds(result.completion.max), 20.48, 1e-9);
    EXPECT_EQ(result.hottest.front().name, "leaf 0 → host 0");
  }
}

// Random pairs on the fat tree of 16-port switches (1,024 hosts, 100 Gb/s and 1 µs a link), forwarding by destination, shares by
// 1/latency: what SimGrid 3.32 (CM02, no cross traffic, its own fat tree) printed for the same flows. All at once, 1 MB each:
// mean 990, 99 % 1606, last 1764 µs; 10 MB each with starts over 10 ms: mean 4555, last 12373 µs.
TEST(RandomPairs, CompletionAsSimGrid) {
  ClosSpec spec = *clos_for({1024, 3, 16, 1, 1, gbit_per_s(100)});
  spec.wire = microseconds(1);
  const Clos clos = *Clos::build(spec);
  auto demands = *read_flows(TRUNKLINE_SOURCE_DIR "/src/network/testdata/random_pairs.flows", 1024);
  RunOptions options = routed_by(Routing::pinned);
  options.sharing = Sharing::inverse_latency;
  const auto spread = run_traffic(clos, demands, options);
  EXPECT_NEAR(as_microseconds(spread.completion.mean), 4555, 0.5);
  EXPECT_NEAR(as_microseconds(spread.completion.max), 12'373, 0.5);
  for (auto& demand : demands) {
    demand.size = Bytes(1'000'000);
    demand.start = seconds(0);
  }
  for (const double tolerance : {0.0, 0.001}) {
    options.tolerance = tolerance;
    const auto at_once = run_traffic(clos, demands, options);
    EXPECT_NEAR(as_microseconds(at_once.completion.mean), 990, 0.005 * 990);
    EXPECT_NEAR(as_microseconds(at_once.completion.p99), 1606, 0.005 * 1606);
    EXPECT_NEAR(as_microseconds(at_once.completion.max), 1764, 0.005 * 1764);
  }
}

// All-to-all of 1 GiB buffers over 64 ports of 50 GB/s: 63/64 of the buffer through each port, 21.14 ms.
TEST(AllToAll, TakesThePortTime) {
  const Clos clos = *Clos::build(leaf_spine(64, 64, 1, gbyte_per_s(50)));
  const auto result = run_traffic(clos, all_to_all(64, Bytes((1 << 30) / 64)), routed_by(Routing::ecmp));
  EXPECT_NEAR(as_milliseconds(result.completion.max), 63.0 / 64 * double(1 << 30) / 50e9 * 1e3, 1e-6);
  EXPECT_EQ(result.flows, 64U * 63U);
  EXPECT_EQ(result.max_hops, 1);
}

// Traffic that leaves its leaf gets 1/oversubscription of the port; what stays inside is not held up.
TEST(Oversubscription, TakesItsShare) {
  for (const double oversubscription : {1.0, 2.0, 3.0}) {
    const auto spec = clos_for({384, 2, 32, oversubscription, 1, gbit_per_s(400)});
    ASSERT_TRUE(spec);
    const Clos clos = *Clos::build(*spec);
    std::vector<Demand> demands;
    const int shift = spec->hosts_per_leaf;
    for (int i = 0; i < clos.hosts() / shift * shift; ++i)
      demands.push_back({i, (i + shift) % (clos.hosts() / shift * shift), Bytes(1'000'000), {}});
    const auto result = run_traffic(clos, demands, routed_by(Routing::ideal));
    EXPECT_NEAR(as_gbyte_per_s(result.rate.mean), 50 / oversubscription, 1e-6);
    EXPECT_NEAR(result.completion.max / result.ideal, oversubscription, 1e-6);
  }
}

// Rails: a ring over the same NIC of all nodes stays below its leaf; the same ring over leaves of whole nodes crosses the spines.
TEST(Rails, SameRailTrafficStaysInItsLeaf) {
  ClosSpec spec = leaf_spine(32 * 8, 32, 32, gbit_per_s(400));
  std::vector<Demand> demands;
  for (int node = 0; node < 32; ++node) {
    for (int rail = 0; rail < 8; ++rail) demands.push_back({node * 8 + rail, (node + 1) % 32 * 8 + rail, Bytes(1'000'000), {}});
  }
  const auto plain = run_traffic(*Clos::build(spec), demands);
  EXPECT_GT(plain.mean_hops, 1.4);  // every fourth node's neighbour is in the next leaf
  EXPECT_LT(plain.rate.min.si(), 49e9);
  spec.rails = 8;
  const auto rails = run_traffic(*Clos::build(spec), demands);
  EXPECT_EQ(rails.max_hops, 1);
  EXPECT_NEAR(rails.rate.min.si(), 50e9, 1);
}

TEST(Faults, FailedUplinkTakesItsShareAndNoFlow) {
  Clos clos = *Clos::build(leaf_spine(64, 16, 16, gbit_per_s(400)));
  const auto demands = permutation(clos, Bytes(1'000'000), 5);
  clos.scale(clos.leaf_link(0, 3, 0, Direction::up), 0);
  const auto result = run_traffic(clos, demands, routed_by(Routing::adaptive));
  EXPECT_EQ(result.unserved, 0U);
  // Where no other leaf is short, leaf 0 has 15 links for 16 flows; the permutation decides how far the receivers share that loss.
  EXPECT_LE(result.rate.min.si(), 50e9 * 15 / 16 * 1.0001);
  EXPECT_GT(result.rate.min.si(), 50e9 * 0.8);
  clos.scale(clos.host_link(9, Direction::up), 0);
  EXPECT_EQ(run_traffic(clos, demands, routed_by(Routing::ecmp)).unserved, 1U);
}

TEST(Run, QueuePairsCutADemandWithoutRest) {
  const Clos clos = *Clos::build(leaf_spine(4, 4, 1, gbyte_per_s(1)));
  RunOptions options;
  options.queue_pairs = 3;
  const auto result = run_traffic(clos, std::vector<Demand>{{0, 1, Bytes(1'000'001), {}}}, options);
  EXPECT_NEAR(as_microseconds(result.completion.max), 1000.001, 1e-6);
  options.flow_cap = gbyte_per_s(0.1);
  EXPECT_NEAR(as_gbyte_per_s(run_traffic(clos, std::vector<Demand>{{0, 1, Bytes(1000), {}}}, options).rate.mean), 0.3, 1e-9);
}

TEST(Run, ADemandToItselfTakesNoTime) {
  const Clos clos = *Clos::build(leaf_spine(4, 4, 1, gbyte_per_s(1)));
  const auto result = run_traffic(clos, std::vector<Demand>{{2, 2, Bytes(1'000'000), {}}, {0, 1, Bytes(1'000'000), {}}});
  EXPECT_EQ(result.unserved, 0U);
  EXPECT_NEAR(as_microseconds(result.completion.max), 1000, 1e-6);
  EXPECT_EQ(result.completion.p50.si(), 0);
  EXPECT_NEAR(as_gbyte_per_s(result.rate.min), 1, 1e-9);
  EXPECT_DOUBLE_EQ(result.mean_hops, 0.5);
}

TEST(Run, IdealCountsTheHostsLinksAlone) {
  const Clos clos = *Clos::build(leaf_spine(4, 4, 1, gbyte_per_s(1)));
  // Port 0 sends 1 MB, rests, sends 1 MB at 5 ms: 6 ms at the earliest.
  const std::vector<Demand> demands{{0, 1, Bytes(1'000'000), {}}, {0, 2, Bytes(1'000'000), milliseconds(5)}};
  const auto result = run_traffic(clos, demands);
  EXPECT_NEAR(as_milliseconds(result.ideal), 6, 1e-9);
  EXPECT_NEAR(as_milliseconds(result.finish), 6, 1e-9);
}

}  // namespace
}  // namespace trunkline::network
