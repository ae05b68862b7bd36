#include "network/lossless.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace trunkline::network {
namespace {

constexpr double kRate = 10e9;  // of every link

// Two leaves of eight hosts (0 … 7, 8 … 15) and one spine.
ClosFabric fabric_of(int spines = 1) {
  ClosSpec spec;
  spec.hosts = 16;
  spec.hosts_per_leaf = 8;
  spec.spines = spines;
  spec.host_rate = spec.leaf_rate = byte_per_s(kRate);
  return ClosFabric(std::make_shared<const Clos>(*Clos::build(spec)));
}

// Hosts 0 (over the spine), 9, 10 and 11 send to host 8; host 1 sends to host 12 over the same spine, and has nothing to do with that.
std::vector<Demand> incast_and_a_bystander(std::int64_t bytes = 100'000'000) {
  return {
      {0, 8, Bytes(bytes), {}}, {9, 8, Bytes(bytes), {}}, {10, 8, Bytes(bytes), {}}, {11, 8, Bytes(bytes), {}}, {1, 12, Bytes(bytes), {}}};
}

LosslessOptions kind(Lossless kind, int lanes = 1) {
  LosslessOptions options;
  options.kind = kind;
  options.lanes = lanes;
  return options;
}

std::vector<double> rates(Lossless lossless, const std::vector<Demand>& demands, int lanes = 1, LosslessRates* all = nullptr) {
  const ClosFabric fabric = fabric_of();
  std::vector<LosslessFlow> flows;
  for (const Demand& demand : demands) {
    LosslessFlow flow;
    EXPECT_TRUE(fabric.route({demand.source, demand.destination, 0}, {}, flow.path));
    flow.size = demand.size;
    flow.lane = int(flows.size());
    flows.push_back(flow);
  }
  auto out = lossless_rates(fabric.capacities(), flows, kind(lossless, lanes));
  if (all) *all = out;
  return out.real;
}

// k to 1 gives each a k-th on every kind of network: the last link is full whatever happens before it.
TEST(Lossless, IncastGivesEachAKth) {
  std::vector<Demand> demands;
  for (int i = 1; i <= 12; ++i) demands.push_back({i, 0, Bytes(100'000'000), {}});
  for (const auto lossless : {Lossless::fair, Lossless::credits, Lossless::pfc, Lossless::pfc_dcqcn}) {
    for (const double rate : rates(lossless, demands)) EXPECT_NEAR(rate, kRate / 12, 1) << name_of(lossless);
  }
}

// Fair shares leave the bystander three quarters of the spine. Where ports pause ports, the spine's port into the leaf waits for host 8
// with both flows behind it, then the leaf's port to the spine, and the bystander has what the flow beside it has: a quarter.
TEST(Lossless, PausesMakeVictims) {
  EXPECT_NEAR(rates(Lossless::fair, incast_and_a_bystander())[4], kRate * 3 / 4, 1);
  EXPECT_NEAR(rates(Lossless::pfc_dcqcn, incast_and_a_bystander())[4], kRate * 3 / 4, 1);
  for (const auto lossless : {Lossless::credits, Lossless::pfc}) {
    LosslessRates all;
    EXPECT_NEAR(rates(lossless, incast_and_a_bystander(), 1, &all)[4], kRate / 4, 1);
    EXPECT_EQ(all.victim, (std::vector<bool>{false, false, false, false, true}));
    EXPECT_NEAR(all.fair[4], kRate * 3 / 4, 1);
    const ClosFabric fabric = fabric_of();
    const Clos& clos = fabric.clos();
    EXPECT_TRUE(std::count(all.paused.begin(), all.paused.end(), clos.leaf_link(1, 0, 0, Direction::down)));
    EXPECT_TRUE(std::count(all.paused.begin(), all.paused.end(), clos.leaf_link(0, 0, 0, Direction::up)));
    EXPECT_TRUE(std::count(all.paused.begin(), all.paused.end(), clos.host_link(0, Direction::up)));
    EXPECT_FALSE(std::count(all.paused.begin(), all.paused.end(), clos.host_link(12, Direction::down)));
  }
}

// The bystander is the fifth flow: lane 4 mod lanes. In the lane of the flow from host 0 with one or two lanes, not with three.
TEST(Lossless, LanesKeepFlowsApart) {
  EXPECT_NEAR(rates(Lossless::credits, incast_and_a_bystander(), 2)[4], kRate / 4, 1);
  EXPECT_NEAR(rates(Lossless::credits, incast_and_a_bystander(), 3)[4], kRate * 3 / 4, 1);
}

// A burst that the buffers take in pauses nobody: the three quarters of each flow that do not get through at once, four of them, against 1
// MiB.
TEST(Lossless, BuffersTakeInShortBursts) {
  EXPECT_NEAR(rates(Lossless::pfc, incast_and_a_bystander(300'000))[4], kRate * 3 / 4, 1);
  EXPECT_NEAR(rates(Lossless::pfc, incast_and_a_bystander(400'000))[4], kRate / 4, 1);
}

// PFC silences the whole port of a sender: its other flow waits as well.
TEST(Lossless, OtherFlowsOfASenderWait) {
  std::vector<Demand> demands = incast_and_a_bystander();
  demands[4] = {9, 13, Bytes(100'000'000), {}};
  EXPECT_NEAR(rates(Lossless::fair, demands)[4], kRate * 3 / 4, 1);
  EXPECT_NEAR(rates(Lossless::pfc, demands)[4], kRate / 4, 1);
}

// Nothing is ever faster for being paused, and no link is overfull.
TEST(Lossless, PausesOnlyTakeFromTheLowest) {
  const ClosFabric fabric = fabric_of(4);
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    std::vector<LosslessFlow> flows;
    RoutingOptions ecmp;
    ecmp.seed = seed;
    for (const Demand& demand : random_pairs(16, 40, Bytes(10'000'000), seed)) {
      LosslessFlow flow;
      ASSERT_TRUE(fabric.route({demand.source, demand.destination, 0}, ecmp, flow.path));
      flow.size = demand.size;
      flows.push_back(flow);
    }
    const auto out = lossless_rates(fabric.capacities(), flows, kind(Lossless::pfc));
    std::vector<double> load(fabric.capacities().size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      for (const Hop& hop : flows[f].path) load[hop.link] += out.real[f] * hop.share;
    }
    for (const double sum : load) ASSERT_LE(sum, kRate * (1 + 1e-9));
    EXPECT_NEAR(*std::min_element(out.real.begin(), out.real.end()) / *std::min_element(out.fair.begin(), out.fair.end()), 1, 1e-6);
  }
}

TEST(LosslessRun, NamesVictimsAndWhatTheyLose) {
  const ClosFabric fabric = fabric_of();
  const auto demands = incast_and_a_bystander();
  const auto paused = run_lossless(fabric, demands, {}, kind(Lossless::pfc));
  EXPECT_EQ(paused.victims, 1U);
  EXPECT_EQ(paused.victims_named.front(), "host 1 → host 12");
  EXPECT_NEAR(paused.victim_rate.min.si(), kRate / 4, 1);
  EXPECT_NEAR(paused.fair.mean.si(), (4 * kRate / 4 + kRate * 3 / 4) / 5, 1);
  // All five end together at a quarter of the rate; by fair shares too the incast takes 4 · 100 MB / 10 GB/s.
  EXPECT_NEAR(as_milliseconds(paused.finish), 40, 1e-3);
  EXPECT_NEAR(as_milliseconds(paused.finish_fair), 40, 1e-3);
  EXPECT_EQ(run_lossless(fabric, demands, {}, kind(Lossless::fair)).victims, 0U);
}

// Two senders of 10 and 20 MB share a port. When the short one is done the other has the port for itself, but with DCQCN only little by
// little.
TEST(LosslessRun, ConvergenceCostsWhatIsNotSentMeanwhile) {
  const ClosFabric fabric = fabric_of();
  const std::vector<Demand> demands = {{1, 0, Bytes(10'000'000), {}}, {2, 0, Bytes(20'000'000), {}}};
  LosslessOptions options = kind(Lossless::pfc_dcqcn);
  options.dcqcn.additive = 0.1;
  const auto run = run_lossless(fabric, demands, {}, options);
  EXPECT_NEAR(as_milliseconds(run.finish_fair), 3, 1e-3);
  const auto recovery = dcqcn_recovery(byte_per_s(kRate / 2), byte_per_s(kRate), byte_per_s(kRate), options.dcqcn);
  EXPECT_EQ(run.lost_to_convergence, recovery.lost);
  EXPECT_NEAR(run.finish.si(), 3e-3 + double(recovery.lost.count()) / kRate, 1e-6);
  options.kind = Lossless::pfc;
  EXPECT_NEAR(as_milliseconds(run_lossless(fabric, demands, {}, options).finish), 3, 1e-3);
}

// The goal rises by `additive` every timer, the rate follows half the gap behind: (to − from) / additive timers, and the triangle above it.
TEST(Dcqcn, ComesBackLinearly) {
  Dcqcn dcqcn;
  dcqcn.recovery = 0;
  const auto recovery = dcqcn_recovery(gbit_per_s(20), gbit_per_s(40), gbit_per_s(40), dcqcn);
  EXPECT_NEAR(recovery.time.si(), 20 / 0.04 * 55e-6, 0.5e-3);
  EXPECT_NEAR(double(recovery.lost.count()), 0.5 * 20e9 / 8 * 20 / 0.04 * 55e-6, 0.02 * 0.5 * 20e9 / 8 * 0.0275);
  EXPECT_EQ(dcqcn_recovery(gbit_per_s(40), gbit_per_s(40), gbit_per_s(40), dcqcn).lost.count(), 0);
}

TEST(LosslessLinks, HeadroomAndCredits) {
  // 400 Gb/s, 100 m of fibre (0.5 µs): 2 · 25 kB on the wire and two packets.
  EXPECT_EQ(pause_headroom(gbit_per_s(400), microseconds(0.5), Bytes(4096)).count(), 50'000 + 8192);
  EXPECT_NEAR(as_gbyte_per_s(credit_rate(gbyte_per_s(50), Bytes(40'000), microseconds(2))), 20, 1e-9);
  EXPECT_NEAR(as_gbyte_per_s(credit_rate(gbyte_per_s(50), Bytes(200'000), microseconds(2))), 50, 1e-9);
}

}  // namespace
}  // namespace trunkline::network
