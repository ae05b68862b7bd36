#include "network/platform_fabric.hpp"

#include <gtest/gtest.h>

#include "network/fabric_run.hpp"

namespace trunkline::network {
namespace {

topology::Platform sixteen_nodes() {
  topology::Platform platform;
  platform.name = "p";
  platform.file = "p.yaml";
  platform.nodes = 16;
  platform.node.nics.count = 8;
  platform.node.nics.rate = gbit_per_s(400);
  platform.node.nics.efficiency = 0.9;
  platform.node.nics.latency = microseconds(1);
  platform.fabric.present = true;
  platform.fabric.tiers = 2;
  platform.fabric.ports = 32;
  return platform;
}

TEST(PlatformFabric, OneHostANic) {
  const auto spec = clos_of(sixteen_nodes());
  ASSERT_TRUE(spec);
  const Clos clos = *Clos::build(*spec);
  EXPECT_EQ(clos.hosts(), 128);
  EXPECT_EQ(clos.leaves(), 8);
  EXPECT_NEAR(as_gbyte_per_s(clos.spec().host_rate), 45, 1e-9);
  EXPECT_NEAR(as_microseconds(clos.latency(0, 127)), 2, 1e-9);
}

// A ring over the nodes on every rail: one switch on rails, three where a leaf holds whole nodes and the ring leaves it.
TEST(PlatformFabric, RailsFollowTheFile) {
  auto platform = sixteen_nodes();
  platform.fabric.rail_optimised = true;
  const Clos clos = *Clos::build(*clos_of(platform));
  const auto options = routing_of(platform.fabric);
  EXPECT_TRUE(options.rail_local);
  std::vector<Demand> demands;
  for (int i = 0; i < 128; ++i) demands.push_back({i, (i + 8) % 128, Bytes(1'000'000), {}});
  RunOptions run;
  run.routing = options;
  EXPECT_EQ(run_traffic(clos, demands, run).max_hops, 1);
}

TEST(PlatformFabric, ErrorsNameTheFile) {
  auto platform = sixteen_nodes();
  platform.nodes = 1000;
  const auto large = clos_of(platform);
  ASSERT_FALSE(large);
  EXPECT_NE(large.error().text().find("p.yaml: 8000 hosts on 2 tiers of 32-port switches, which carry 512"), std::string::npos)
      << large.error().text();
  platform.fabric.present = false;
  EXPECT_FALSE(clos_of(platform));
}

}  // namespace
}  // namespace trunkline::network
