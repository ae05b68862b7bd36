#include "network/clos.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace trunkline::network {
namespace {

ClosSpec two_tiers(int hosts, int hosts_per_leaf, int spines) {
  ClosSpec spec;
  spec.hosts = hosts;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.spines = spines;
  spec.host_rate = spec.leaf_rate = spec.spine_rate = gbit_per_s(400);
  spec.wire = microseconds(0.1);
  spec.switching = microseconds(0.5);
  return spec;
}

ClosSpec three_tiers(int pods, int leaves_per_pod, int hosts_per_leaf, int spines, int cores) {
  ClosSpec spec = two_tiers(pods * leaves_per_pod * hosts_per_leaf, hosts_per_leaf, spines);
  spec.tiers = 3;
  spec.leaves_per_pod = leaves_per_pod;
  spec.cores = cores;
  return spec;
}

Clos built(const ClosSpec& spec) { return *Clos::build(spec); }

ClosNeed need_of(int hosts, int tiers, int ports, double oversubscription = 1, int rails = 1) {
  return {hosts, tiers, ports, oversubscription, rails, gbit_per_s(400)};
}

TEST(Clos, CountsItsLinks) {
  const Clos leaf_spine = built(two_tiers(512, 32, 32));
  EXPECT_EQ(leaf_spine.leaves(), 16);
  EXPECT_EQ(leaf_spine.wires(), 2U * (512 + 16 * 32));
  // The fat tree of 16-port switches: 1,024 hosts, as many wires in each of its three tiers.
  const Clos fat_tree = built(three_tiers(16, 8, 8, 8, 8));
  EXPECT_EQ(fat_tree.hosts(), 1024);
  EXPECT_EQ(fat_tree.wires(), 2U * 3 * 1024);
  EXPECT_DOUBLE_EQ(fat_tree.oversubscription(1), 1);
  EXPECT_DOUBLE_EQ(fat_tree.oversubscription(2), 1);
}

TEST(Clos, SwitchesOnTheWay) {
  const Clos leaf_spine = built(two_tiers(512, 32, 32));
  EXPECT_EQ(leaf_spine.switches(0, 0), 0);
  EXPECT_EQ(leaf_spine.switches(0, 31), 1);
  EXPECT_EQ(leaf_spine.switches(0, 32), 3);
  const Clos fat_tree = built(three_tiers(16, 8, 8, 8, 8));
  EXPECT_EQ(fat_tree.switches(0, 7), 1);
  EXPECT_EQ(fat_tree.switches(0, 8), 3);
  EXPECT_EQ(fat_tree.switches(0, 64), 5);
  EXPECT_NEAR(as_microseconds(fat_tree.latency(0, 64)), 6 * 0.1 + 5 * 0.5, 1e-9);
  EXPECT_EQ(fat_tree.latency(3, 3).si(), 0);
}

// A rail-optimised leaf holds the same NIC of each of its nodes: same rail 1 switch, another rail 3.
TEST(Clos, RailsShareALeaf) {
  ClosSpec spec = two_tiers(64 * 8, 32, 32);
  spec.rails = 8;
  const Clos clos = built(spec);
  EXPECT_EQ(clos.leaves(), 16);  // 2 groups of 32 nodes × 8 rails
  const auto nic = [](int node, int rail) { return node * 8 + rail; };
  EXPECT_EQ(clos.switches(nic(0, 3), nic(31, 3)), 1);
  EXPECT_EQ(clos.switches(nic(0, 3), nic(1, 4)), 3);
  EXPECT_EQ(clos.switches(nic(0, 3), nic(0, 4)), 3);   // even inside a node
  EXPECT_EQ(clos.switches(nic(0, 3), nic(32, 3)), 3);  // the next group
  std::set<int> leaves;
  for (int rail = 0; rail < 8; ++rail) leaves.insert(clos.leaf_of(nic(40, rail)));
  EXPECT_EQ(leaves, (std::set<int>{8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST(Clos, StoreAndForwardAddsAPacketASwitch) {
  ClosSpec spec = two_tiers(64, 32, 32);
  const Clos cut_through = built(spec);
  spec.packet = Bytes(4096);
  const Clos whole_packets = built(spec);
  const double packet_us = 4096 / 50e3;  // at 50 GB/s
  EXPECT_NEAR(as_microseconds(whole_packets.latency(0, 40) - cut_through.latency(0, 40)), 3 * packet_us, 1e-9);
  EXPECT_NEAR(as_microseconds(whole_packets.latency(0, 1) - cut_through.latency(0, 1)), packet_us, 1e-9);
}

// r²/2 hosts on two tiers, r³/4 on three.
TEST(ClosSize, LargestNonBlocking) {
  EXPECT_EQ(most_hosts(2, 64), 2048);
  EXPECT_EQ(most_hosts(2, 144), 10'368);
  EXPECT_EQ(most_hosts(3, 16), 1024);
  EXPECT_EQ(most_hosts(3, 64), 65'536);
  for (const auto& [tiers, ports] : {std::pair{2, 64}, {2, 144}, {3, 16}, {3, 64}}) {
    const int most = int(most_hosts(tiers, ports));
    const auto full = clos_for(need_of(most, tiers, ports));
    ASSERT_TRUE(full);
    const Clos clos = built(*full);
    EXPECT_DOUBLE_EQ(clos.oversubscription(1), 1);
    EXPECT_EQ(clos.wires(), std::size_t(2 * tiers * most));
    const auto more = clos_for(need_of(most + 1, tiers, ports));
    ASSERT_FALSE(more);
    EXPECT_NE(more.error().message.find(std::to_string(most)), std::string::npos) << more.error().message;
  }
}

TEST(ClosSize, NoSwitchHasMoreLinksThanPorts) {
  for (const int tiers : {2, 3}) {
    for (const int ports : {8, 32, 64, 144}) {
      for (const double oversubscription : {1.0, 2.0, 3.0}) {
        const int most = int(most_hosts(tiers, ports, oversubscription));
        for (const int hosts : {1, 5, ports, most / 3 + 1, most}) {
          const auto spec = clos_for(need_of(hosts, tiers, ports, oversubscription));
          ASSERT_TRUE(spec) << hosts << " on " << ports << ": " << spec.error().message;
          const Clos clos = built(*spec);
          EXPECT_LE(spec->hosts_per_leaf + spec->spines * spec->leaf_links, ports);
          EXPECT_NEAR(clos.oversubscription(1), oversubscription, 1e-12);
          if (tiers == 2) {
            EXPECT_LE(clos.leaves() * spec->leaf_links, ports);
          } else {
            EXPECT_LE(spec->leaves_per_pod * spec->leaf_links + spec->cores * spec->spine_links, ports);
            EXPECT_LE(clos.pods() * spec->spine_links, ports);
            EXPECT_LE(clos.oversubscription(2), 1);
          }
        }
      }
    }
  }
}

TEST(ClosSize, OneSwitch) {
  const auto spec = clos_for(need_of(64, 1, 64));
  ASSERT_TRUE(spec);
  EXPECT_EQ(built(*spec).switches(0, 63), 1);
  EXPECT_FALSE(clos_for(need_of(65, 1, 64)));
}

TEST(Clos, EveryPathIsAWayFromHostToHost) {
  ClosSpec spec = three_tiers(4, 2, 3, 2, 3);
  spec.leaf_links = 2;
  spec.spine_links = 2;
  const Clos clos = built(spec);
  EXPECT_EQ(clos.path_count(0, 0), 0);
  EXPECT_EQ(clos.path_count(0, 1), 1);
  EXPECT_EQ(clos.path_count(0, 3), 2 * 2 * 2);              // spines × parallel wires up and down
  EXPECT_EQ(clos.path_count(0, 6), 2 * 2 * 2 * 3 * 2 * 2);  // × cores × parallel wires up and down
  for (const int to : {1, 3, 6, 23}) {
    const auto paths = clos.paths(0, to);
    EXPECT_EQ(std::int64_t(paths.size()), clos.path_count(0, to));
    EXPECT_EQ(std::set<std::vector<LinkId>>(paths.begin(), paths.end()).size(), paths.size());
    for (const auto& path : paths) {
      EXPECT_EQ(int(path.size()), clos.switches(0, to) + 1);
      std::string at = "host 0";  // each link starts where the one before it ended
      for (const LinkId link : path) {
        const std::string name = clos.name(link), arrow = " → ";
        EXPECT_EQ(name.substr(0, name.find(arrow)), at);
        at = name.substr(name.find(arrow) + arrow.size());
        at = at.substr(0, at.find(" ("));
      }
      EXPECT_EQ(at, "host " + std::to_string(to));
    }
  }
}

TEST(Clos, EveryLinkHasAName) {
  const Clos clos = built(three_tiers(2, 2, 2, 2, 2));
  std::set<std::string> names;
  for (LinkId link = 0; link < clos.links(); ++link) names.insert(clos.name(link));
  EXPECT_EQ(names.size(), clos.links());
  EXPECT_EQ(clos.name(clos.leaf_link(3, 1, 0, Direction::up)), "leaf 3 → spine 3");
  EXPECT_EQ(clos.name(clos.spine_link(1, 1, 0, 0, Direction::down)), "core 2 → spine 3");
  EXPECT_EQ(clos.name(clos.host_link(7, Direction::down)), "leaf 3 → host 7");
}

TEST(Clos, PathsLeaveOutWhatIsOutOfService) {
  Clos clos = built(two_tiers(64, 16, 4));
  EXPECT_EQ(clos.path_count(0, 63), 4);
  clos.scale(clos.leaf_link(0, 2, 0, Direction::up), 0);
  EXPECT_EQ(clos.path_count(0, 63), 3);
  clos.scale(clos.leaf_link(3, 1, 0, Direction::down), 0);
  EXPECT_EQ(clos.path_count(0, 63), 2);
  EXPECT_EQ(clos.path_count(63, 0), 4);
  clos.scale(clos.host_link(63, Direction::down), 0);
  EXPECT_EQ(clos.path_count(0, 63), 0);
}

TEST(Clos, GroupsCarryWhatTheirWiresCarry) {
  const Clos clos = built(three_tiers(2, 2, 4, 2, 3));
  EXPECT_DOUBLE_EQ(clos.capacities()[clos.leaf_group(1, Direction::up)], 2 * 50e9);
  EXPECT_DOUBLE_EQ(clos.capacities()[clos.pod_group(1, Direction::down)], 6 * 50e9);
  std::vector<double> loads(clos.links(), 0);
  loads[clos.leaf_group(1, Direction::up)] = 10;
  loads[clos.pod_group(0, Direction::down)] = 12;
  clos.spread_groups(loads);
  EXPECT_DOUBLE_EQ(loads[clos.leaf_link(1, 1, 0, Direction::up)], 5);
  EXPECT_DOUBLE_EQ(loads[clos.leaf_link(0, 1, 0, Direction::up)], 0);
  EXPECT_DOUBLE_EQ(loads[clos.spine_link(0, 1, 2, 0, Direction::down)], 2);
  EXPECT_DOUBLE_EQ(loads[clos.spine_link(1, 1, 2, 0, Direction::down)], 0);
}

TEST(Clos, WrongDescriptionsSayWhatToDo) {
  const auto message = [](const ClosSpec& spec) {
    const auto clos = Clos::build(spec);
    return clos ? std::string() : clos.error().message + " / " + clos.error().hint;
  };
  ClosSpec spec = two_tiers(64, 16, 4);
  spec.tiers = 4;
  EXPECT_NE(message(spec).find("4 tiers"), std::string::npos);
  spec = two_tiers(0, 16, 4);
  EXPECT_NE(message(spec).find("at least 1"), std::string::npos);
  spec = two_tiers(64, 16, 0);
  EXPECT_NE(message(spec).find("spines"), std::string::npos);
  spec = three_tiers(2, 3, 4, 2, 2);
  spec.rails = 2;
  EXPECT_NE(message(spec).find("multiple of the rails"), std::string::npos);
  spec = two_tiers(1 << 30, 1, 1);
  EXPECT_NE(message(spec).find("at most"), std::string::npos);
  EXPECT_FALSE(clos_for(need_of(2'000'000'000, 3, 64)));
  EXPECT_FALSE(clos_for(need_of(64, 2, 1)));
  EXPECT_FALSE(clos_for(need_of(64, 2, 64, 0)));
  EXPECT_FALSE(clos_for(need_of(64, 2, 64, 1, 0)));
  EXPECT_FALSE(clos_for(need_of(64, 4, 64)));
  EXPECT_FALSE(clos_for(need_of(64, 2, 1'000'000)));
  const auto rails = clos_for(need_of(8 * 8 * 32 * 8 + 1, 3, 16, 1, 8));
  EXPECT_FALSE(rails);
}

}  // namespace
}  // namespace trunkline::network
