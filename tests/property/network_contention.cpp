// The shares of a job's kinds of traffic against plain progressive filling of the same flows.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "network/contention.hpp"
#include "network/placement.hpp"
#include "network_reference.hpp"
#include "predict/job_flows.hpp"

namespace trunkline::network {
namespace {

using predict::GroupShape;
using topology::Placement;
using topology::Routing;

struct Case {
  std::shared_ptr<const Clos> clos;
  RoutingOptions routing;
  std::vector<TrafficKind> kinds;
};

// Groups of a random job on 4 to 16 nodes of one to four GPUs, placed and routed at random, links slowed here and there.
Case any_case(std::uint64_t seed) {
  Rng rng(seed);
  Case c;
  topology::NodeType node;
  node.gpus = 1 << rng.below(3);
  node.nics.count = std::max(1, node.gpus >> rng.below(2));
  const int nodes = 4 << rng.below(3), ranks = nodes * node.gpus;
  if (rng.below(4) == 0) node.link_domain = 2 * node.gpus;
  ClosNeed need;
  need.hosts = nodes * node.nics.count;
  need.tiers = 2 + int(rng.below(2));
  need.ports = 16;
  need.oversubscription = rng.below(3) == 0 ? 3 : 1;
  need.rails = rng.below(3) == 0 ? node.nics.count : 1;
  need.rate = byte_per_s(1e9);
  Clos clos = *Clos::build(*clos_for(need));
  for (int i = 0; i < 3 && rng.below(2) == 0; ++i) clos.scale(LinkId(rng.below(clos.wires())), 0.3 + 0.5 * rng.uniform());
  c.clos = std::make_shared<const Clos>(std::move(clos));
  constexpr Routing kPolicies[] = {Routing::ecmp, Routing::pinned, Routing::spray, Routing::adaptive, Routing::flowlet};
  c.routing.policy = kPolicies[rng.below(5)];
  c.routing.seed = seed;
  c.routing.rail_local = need.rails > 1;
  constexpr Placement kPlacements[] = {Placement::packed, Placement::scattered, Placement::fragmented};
  const predict::JobFlows flows(node, ranks, place_nodes({kPlacements[rng.below(3)], nodes, node.link_domain > 0 ? 2 : 1, 4, seed}));
  const int inner = 1 << rng.below(2), pairs = 1 + int(rng.below(3));
  c.kinds.push_back(flows.rings("data-parallel", {inner, ranks / inner / 2}, pairs));
  c.kinds.push_back(flows.pipelines("pipeline", {ranks / 2, 2}, rng.below(2) == 0, pairs));
  c.kinds.push_back(flows.exchanges("expert-parallel", {1, std::min(ranks, 8)}));
  return c;
}

// Time of a kind's last chain with all flows of the kinds at once; every flow cut and routed here once more.
std::vector<double> plain_times(const Case& c, std::uint32_t active, bool hosts_only) {
  std::vector<reference::Flow> flows;
  struct Item {
    std::size_t kind;
    std::uint32_t chain;
    double work;
  };
  std::vector<Item> items;
  const Router router(*c.clos, c.routing);
  for (std::size_t k = 0; k < c.kinds.size(); ++k) {
    if (!(active >> k & 1)) continue;
    c.kinds[k].each([&](const Strand& strand) {
      reference::Flow flow;
      flow.weight = strand.weight;
      std::vector<Hop> way;
      for (const HostPair& pair : strand.flows) {
        const int parts = hosts_only ? 1 : c.kinds[k].queue_pairs;
        for (int q = 0; q < parts; ++q) {
          ASSERT_TRUE(router.route({pair.from, pair.to, queue_pair_index(int(k), strand.chain, parts, q)}, way));
          if (way.empty()) continue;
          if (hosts_only) way = {way.front(), way.back()};
          for (const Hop& hop : way) flow.path.push_back({hop.link, hop.share / parts});
        }
      }
      if (flow.path.empty()) return;
      flows.push_back(flow);
      items.push_back({k, strand.chain, strand.work});
    });
  }
  const std::vector<double> capacities(c.clos->capacities().begin(), c.clos->capacities().end());
  const auto rates = reference::rates(capacities, flows);
  std::map<std::pair<std::size_t, std::uint32_t>, double> chains;
  for (std::size_t i = 0; i < items.size(); ++i) chains[{items[i].kind, items[i].chain}] += items[i].work / rates[i];
  std::vector<double> times(c.kinds.size(), 0);
  for (const auto& [key, time] : chains) times[key.first] = std::max(times[key.first], time);
  return times;
}

}  // namespace

TEST(ContentionProperty, EqualsProgressiveFillingOfEveryFlow) {
  int compared = 0, slowed = 0;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    const Case c = any_case(seed);
    const ClosFabric fabric(c.clos);
    Contention contention(fabric, c.routing);
    for (const auto& kind : c.kinds) contention.add(kind);
    for (const std::uint32_t active : {1U, 2U, 3U, 5U, 7U}) {
      const auto& shares = contention.shares(active);
      const auto times = plain_times(c, active, false);
      for (std::size_t k = 0; k < c.kinds.size(); ++k) {
        if (!(active >> k & 1) || !(times[k] > 0)) continue;
        const double expected = std::min(1.0, plain_times(c, 1U << k, true)[k] / times[k]);
        ASSERT_NEAR(shares[k].slowest, expected, 1e-9) << "case " << seed << ", kinds " << active << ", " << c.kinds[k].name;
        ++compared;
        slowed += expected < 0.95;
      }
    }
  }
  EXPECT_GT(compared, 10'000);
  EXPECT_GT(slowed, compared / 3);
}

}  // namespace trunkline::network
