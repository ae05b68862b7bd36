#include "collectives/collective.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/rng.hpp"
#include "collectives/constants.hpp"
#include "collectives/hierarchical.hpp"

namespace trunkline::collectives {
namespace {

constexpr Collective kAll[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                               Collective::reduce,     Collective::all_to_all, Collective::send_recv};

topology::Platform platform_of(const std::string& node, int nodes) {
  topology::Platform platform;
  platform.node = topology::node_type(node).value();
  platform.nodes = nodes;
  return platform;
}

Domain domain_on(const std::string& node, int ranks, int nodes, int sharing = 1) {
  return domain_of(platform_of(node, nodes), {ranks, nodes, sharing});
}

double busbw(const Domain& d, Collective c, double size, const Options& options = {}) {
  return size * bus_factor(c, d.ranks()) / time_of(d, c, Bytes(std::int64_t(size)), options).time.si() * 1e-9;
}

Options forced(Algorithm algorithm, Protocol protocol = Protocol::simple) {
  Options options;
  options.algorithm = algorithm;
  options.protocol = protocol;
  return options;
}

TEST(BusFactor, IsWhatNcclTestsPrints) {
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_reduce, 2), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_gather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::reduce_scatter, 16), 15.0 / 16);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::all_to_all, 4), 0.75);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::broadcast, 8), 1);
  EXPECT_DOUBLE_EQ(bus_factor(Collective::send_recv, 8), 1);
}

TEST(Domain, SharesTheNicsOfANode) {
  const Domain whole = domain_on("hgx-h100", 8, 4), eighth = domain_on("hgx-h100", 1, 4, 8), alone = domain_on("hgx-h100", 1, 4);
  EXPECT_EQ(whole.nics, 8);
  EXPECT_NEAR(eighth.network / whole.network, 1.0 / 8, 1e-9);
  // One GPU of a node that has the node to itself still reaches only the NIC beside it.
  EXPECT_NEAR(alone.network / whole.network, 1.0 / 8, 1e-9);
  EXPECT_EQ(eighth.nics, 1);
}

TEST(Domain, ARackOfNvlinkIsOneNode) {
  const Domain rack = domain_on("gb200-nvl72", 4, 18);
  EXPECT_EQ(rack.nodes, 1);
  EXPECT_EQ(rack.ranks_per_node, 72);
  const Domain two = domain_on("gb200-nvl72", 4, 20);  // spread over two racks: ten trays in each
  EXPECT_EQ(two.nodes, 2);
  EXPECT_EQ(two.ranks(), 80);
}

TEST(Domain, WithoutPeerAccessDataGoesThroughHostMemory) {
  const Domain cards = domain_on("pcie-4x4090", 2, 1);
  EXPECT_FALSE(cards.links);
  EXPECT_LT(as_gbyte_per_s(cards.ring), 8);
  EXPECT_GT(as_gbyte_per_s(cards.ring), 1);
}

// 12 links of 25 GB/s, of which NCCL counts 20: the ring of eight A100 tends to 240 GB/s, less what is lost at the turn of a loop.
TEST(Ring, TendsToTheLinks) {
  const Domain d = domain_on("hgx-a100-80", 8, 1);
  const double limit = busbw(d, Collective::all_reduce, 1e13, forced(Algorithm::ring));
  EXPECT_NEAR(limit, 240 / (1 + builtin_constants().ampere.turn / 14), 0.5);
  EXPECT_NEAR(busbw(d, Collective::all_gather, 1e13, forced(Algorithm::ring)), 240 / (1 + builtin_constants().ampere.turn / 7), 0.5);
}

// A message of one byte costs the base and the hops: 14 of them in an all-reduce of eight, 7 in an all-gather.
TEST(Ring, SmallMessagesCostTheirHops) {
  const Domain d = domain_on("hgx-a100-80", 8, 1);
  const auto& k = builtin_constants();
  EXPECT_NEAR(time_of(d, Collective::all_reduce, Bytes(1), forced(Algorithm::ring, Protocol::ll)).time.si(),
              k.base.ll + 14 * k.ampere.hop.ll, 1e-8);
  EXPECT_NEAR(time_of(d, Collective::all_gather, Bytes(1), forced(Algorithm::ring, Protocol::ll)).time.si(),
              k.base.ll + 7 * k.ampere.hop.ll, 1e-8);
}

// The switch reads (1 + 1/n) buffers from each GPU, so that bus bandwidth grows with n by 2(n−1)/(n+1).
TEST(Nvls, GrowsWithTheRanksAsTheSwitchSendsEachBufferOnce) {
  const double four = busbw(domain_on("hgx-h100", 4, 1), Collective::all_reduce, 1e13, forced(Algorithm::nvls));
  const double eight = busbw(domain_on("hgx-h100", 8, 1), Collective::all_reduce, 1e13, forced(Algorithm::nvls));
  EXPECT_NEAR(eight / four, (14.0 / 9) / (6.0 / 5), 1e-3);
}

TEST(Choice, FollowsTheHardwareAndTheVersion) {
  const Domain h100 = domain_on("hgx-h100", 8, 1), a100 = domain_on("hgx-a100-80", 8, 1);
  EXPECT_EQ(time_of(h100, Collective::all_reduce, gib(1)).algorithm, Algorithm::nvls);
  EXPECT_EQ(time_of(a100, Collective::all_reduce, gib(1)).algorithm, Algorithm::ring);
  EXPECT_EQ(
      time_of(h100, Collective::all_reduce, gib(1), {.nccl_version = "2.16.2", .nvls = true, .algorithm = {}, .protocol = {}}).algorithm,
      Algorithm::ring);
  EXPECT_EQ(
      time_of(h100, Collective::all_reduce, gib(1), {.nccl_version = "2.21", .nvls = false, .algorithm = {}, .protocol = {}}).algorithm,
      Algorithm::ring);
  EXPECT_EQ(time_of(domain_on("hgx-h100", 8, 2), Collective::all_reduce, gib(4)).algorithm, Algorithm::nvls_tree);
  EXPECT_EQ(time_of(a100, Collective::all_reduce, Bytes(64)).protocol, Protocol::ll);
  EXPECT_EQ(time_of(a100, Collective::all_reduce, gib(8)).protocol, Protocol::simple);
}

// What cannot be done falls back to a ring, as NCCL does; a forced protocol is obeyed.
TEST(Choice, ForcedSettings) {
  const Domain a100 = domain_on("hgx-a100-80", 8, 1);
  EXPECT_EQ(time_of(a100, Collective::all_gather, mib(64), forced(Algorithm::tree)).algorithm, Algorithm::ring);
  EXPECT_EQ(time_of(a100, Collective::all_reduce, mib(64), forced(Algorithm::ring, Protocol::ll)).protocol, Protocol::ll);
  EXPECT_GT(time_of(a100, Collective::all_reduce, gib(1), forced(Algorithm::ring, Protocol::ll)).time,
            time_of(a100, Collective::all_reduce, gib(1)).time);
}

// Two nodes exchange the buffer once each way: bus bandwidth exceeds what the NICs carry.
TEST(Tree, TwoNodesBeatTheirNics) {
  topology::Platform p = platform_of("hgx-h100", 2);
  p.node.nics.count = 4;
  const Domain d = domain_of(p, {8, 2, 1});
  EXPECT_GT(busbw(d, Collective::all_reduce, 1e11), as_gbyte_per_s(d.network));
  p.nodes = 8;
  const Domain more = domain_of(p, {8, 8, 1});
  EXPECT_LT(busbw(more, Collective::all_reduce, 1e11), as_gbyte_per_s(more.network));
}

// 8 ranks on each of 4 nodes send 7/8 of what a rank sends … to 24 of 32 peers over the NICs.
TEST(AllToAll, IsBoundByWhatLeavesTheNode) {
  const Domain d = domain_on("hgx-h100", 8, 4);
  const double size = 1e12;
  const double expected = 8 * size * 24 / 32 / (d.network.si() * builtin_constants().pair_share);
  EXPECT_NEAR(time_of(d, Collective::all_to_all, Bytes(std::int64_t(size))).time.si() / expected, 1, 0.02);
}

TEST(Cost, OfNothingIsNothing) {
  const Domain d = domain_on("hgx-h100", 8, 1);
  for (const Collective c : kAll) EXPECT_EQ(time_of(d, c, Bytes(0)).time.si(), 0);
  EXPECT_EQ(time_of(domain_on("hgx-h100", 1, 1), Collective::all_reduce, gib(1)).time.si(), 0);
}

// Closed form of the three steps at large sizes, for rings everywhere.
TEST(Hierarchical, TendsToTheSumOfItsSteps) {
  const Domain d = domain_on("hgx-a100-80", 8, 16);
  const Options ring = forced(Algorithm::ring);
  const double size = 1e13;
  const HierarchicalCost cost = hierarchical_all_reduce(d, Bytes(std::int64_t(size)), ring);
  const double inside = d.ring.si() / (1 + builtin_constants().ampere.turn / 7);
  EXPECT_NEAR(cost.reduce_scatter.si() / (size * 7 / 8 / inside), 1, 0.001);
  EXPECT_NEAR(cost.across.si() / (2.0 * 15 / 16 * size / d.network.si()), 1, 0.001);
  EXPECT_NEAR(cost.time.si(), (cost.reduce_scatter + cost.across + cost.all_gather).si(), 1e-12);
}

TEST(Hierarchical, SavesLatencyAgainstAFlatRing) {
  const Domain d = domain_on("hgx-a100-80", 8, 32);
  const Options ring = forced(Algorithm::ring);
  EXPECT_LT(hierarchical_all_reduce(d, mib(16), ring).time, time_of(d, Collective::all_reduce, mib(16), ring).time);
}

// Without links inside the nodes every hop crosses a NIC: 2(n−1)/n·size through an eighth of the NICs.
TEST(Hierarchical, NetworkOnlyPaysEveryHopOnTheNics) {
  const Domain d = domain_on("hgx-a100-80", 8, 4);
  const double size = 1e13;
  const double expected = 2.0 * 31 / 32 * size * 8 / d.network.si();
  EXPECT_NEAR(network_only_all_reduce(d, Bytes(std::int64_t(size)), forced(Algorithm::ring)).time.si() / expected, 1, 0.001);
  EXPECT_GT(network_only_all_reduce(d, gib(1)).time, hierarchical_all_reduce(d, gib(1)).time);
}

// Random domains: more bandwidth, less latency or a smaller message never makes anything slower.
class Properties : public testing::Test {
 protected:
  Domain random_domain() {
    static constexpr catalog::Generation generations[] = {catalog::Generation::volta,  catalog::Generation::ampere,
                                                          catalog::Generation::hopper, catalog::Generation::blackwell,
                                                          catalog::Generation::cdna3,  catalog::Generation::ada};
    static constexpr catalog::NicKind fabrics[] = {catalog::NicKind::infiniband, catalog::NicKind::roce, catalog::NicKind::efa,
                                                   catalog::NicKind::ethernet};
    Domain d;
    d.ranks_per_node = 1 + int(rng_.below(8));
    d.nodes = 1 << rng_.below(8);
    d.generation = generations[rng_.below(6)];
    d.links = d.generation != catalog::Generation::ada;
    d.switched = d.links && rng_.below(2) == 0;
    d.ring = gbyte_per_s(std::exp(rng_.uniform() * 6 + 1));
    d.pair = d.ring;
    d.network = gbyte_per_s(std::exp(rng_.uniform() * 6));
    d.network_latency = microseconds(std::exp(rng_.uniform() * 4));
    d.nics = 1 + int(rng_.below(16));
    d.fabric = fabrics[rng_.below(4)];
    return d;
  }

  Bytes random_size() { return Bytes(std::int64_t(std::exp(rng_.uniform() * 24))); }

  void check(const std::function<void(Domain&, Bytes&)>& improve) {
    for (int i = 0; i < 3000; ++i) {
      Domain d = random_domain();
      Bytes size = random_size();
      const Collective c = kAll[rng_.below(std::size(kAll))];
      const Seconds before = time_of(d, c, size).time;
      improve(d, size);
      const Seconds after = time_of(d, c, size).time;
      ASSERT_TRUE(std::isfinite(before.si()));
      ASSERT_GE(before.si(), 0);
      ASSERT_LE(after.si(), before.si() * (1 + 1e-12))
          << name_of(c) << " of " << size.count() << " on " << d.nodes << " x " << d.ranks_per_node;
    }
  }

  Rng rng_{7};
};

TEST_F(Properties, MoreLinkBandwidthNeverSlows) {
  check([](Domain& d, Bytes&) { d.ring = d.ring * 1.3, d.pair = d.pair * 1.3; });
}
TEST_F(Properties, MoreNetworkBandwidthNeverSlows) {
  check([](Domain& d, Bytes&) { d.network = d.network * 1.3; });
}
TEST_F(Properties, LessLatencyNeverSlows) {
  check([](Domain& d, Bytes&) { d.network_latency = d.network_latency * 0.5; });
}
TEST_F(Properties, SmallerMessagesNeverTakeLonger) {
  check([](Domain&, Bytes& size) { size = scaled(size, 0.7); });
}

TEST_F(Properties, NoPortCarriesMoreThanItsRate) {
  for (int i = 0; i < 3000; ++i) {
    const Domain d = random_domain();
    const Bytes size = random_size();
    if (d.ranks() < 2) continue;
    // What a node must send at least: in an all-gather, all other nodes' parts come in.
    const double least = d.nodes > 1 ? double(size.count()) * (d.nodes - 1) / d.nodes / d.network.si()
                                     : double(size.count()) * bus_factor(Collective::all_gather, d.ranks()) / d.ring.si();
    EXPECT_GE(time_of(d, Collective::all_gather, size).time.si(), least * (1 - 1e-12));
  }
}

TEST_F(Properties, ChannelsAreWithinWhatNcclUses) {
  for (int i = 0; i < 1000; ++i) {
    const Domain d = random_domain();
    const Cost cost = time_of(d, kAll[rng_.below(std::size(kAll))], random_size());
    EXPECT_LE(cost.channels, 32);
    EXPECT_GE(cost.channels, d.ranks() > 1 ? 1 : 0);
  }
}

// A message takes one card: more of them than ranks, behind the same slots, never slow it.
TEST(SendReceive, more_cards_never_slow_a_message) {
  for (const char* gpu_node : {"hgx-a100-80", "hgx-h100"}) {
    double before = 1e9;
    for (const int cards : {1, 2, 4, 8, 16, 32}) {
      topology::Platform p = *topology::platform_from(*io::parse_yaml(
          std::string("node: {type: ") + gpu_node + ", count: 4, nics: {part: cx6-hdr, count: " + std::to_string(cards) + "}}", "p.yaml"));
      const Domain d = domain_of(p, {.ranks_per_node = 1, .nodes = 4, .sharing = 8});
      const double s = time_of(d, Collective::send_recv, mib(64)).time.si();
      EXPECT_LE(s, before * (1 + 1e-12)) << gpu_node << ' ' << cards;
      before = s;
    }
  }
}

}  // namespace
}  // namespace trunkline::collectives
