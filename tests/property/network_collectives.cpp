// What any collective on any fabric has: terms that add up, no time below the bound, bytes that arrive, no harm from faster links.
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>

#include "network/collective_run.hpp"
#include "network/placement.hpp"
#include "network_reference.hpp"

namespace trunkline::network {
namespace {

using topology::Placement;
using topology::Routing;

struct Case {
  Machines machines;
  ClosNeed need;
  std::vector<CollectiveTask> tasks;
  CollectiveOptions options;
};

// Some of the ranks of random machines in random order of nodes, one to three groups that may overlap.
Case any_case(std::uint64_t seed) {
  Rng rng(seed);
  Case c;
  c.machines.nodes = 2 << rng.below(4);
  c.machines.gpus = 1 << rng.below(4);
  c.machines.nics = std::max(1, c.machines.gpus >> rng.below(2));
  c.machines.island = rng.below(4) == 0 ? 2 : 1;
  c.machines.gpu_links = rng.below(5) == 0 ? byte_per_s(0) : gbyte_per_s(100 + 400 * rng.uniform());
  c.machines.step = microseconds(10 * rng.uniform());
  constexpr Placement kPlacements[] = {Placement::packed, Placement::scattered, Placement::fragmented};
  c.machines.places = place_nodes({kPlacements[rng.below(3)], c.machines.nodes, c.machines.island, 4, seed});
  c.need.hosts = c.machines.nodes * c.machines.nics;
  c.need.tiers = 2 + int(rng.below(2));
  c.need.ports = 32;
  c.need.oversubscription = rng.below(3) == 0 ? 3 : 1;
  c.need.rails = rng.below(2) == 0 ? c.machines.nics : 1;
  c.need.rate = gbyte_per_s(5 + 45 * rng.uniform());
  constexpr Routing kPolicies[] = {Routing::ecmp, Routing::pinned, Routing::spray, Routing::adaptive, Routing::ideal};
  c.options.run.routing.policy = kPolicies[rng.below(5)];
  c.options.run.routing.seed = seed;
  c.options.run.queue_pairs = 1 << rng.below(3);
  const int groups = 1 + int(rng.below(3));
  for (int g = 0; g < groups; ++g) {
    CollectiveTask task;
    task.name = "group " + std::to_string(g);
    task.operation = Operation(rng.below(4));
    const auto some = rng.below(3);
    task.algorithm = task.operation == Operation::all_to_all ? (some == 0 ? Algorithm::direct : Algorithm::pxn)
                     : some == 0                             ? Algorithm::ring
                     : some == 1                             ? Algorithm::hierarchical
                                                             : Algorithm::halving;
    if (task.operation == Operation::all_reduce && rng.below(4) == 0) task.algorithm = Algorithm::tree;
    task.order = rng.below(2) == 0 ? RingOrder::by_rank : RingOrder::by_place;
    const int stride = 1 << rng.below(std::uint64_t(std::bit_width(unsigned(c.machines.ranks())) - 1));
    for (int rank = int(rng.below(std::uint64_t(stride))); rank < c.machines.ranks(); rank += stride) task.ranks.push_back(rank);
    task.size = Bytes(1 + std::int64_t(rng.below(100'000'000)));
    task.pieces = 1 << rng.below(4);
    task.start = rng.below(2) == 0 ? seconds(0) : milliseconds(rng.uniform());
    if (rng.below(3) == 0) task.stragglers = {{task.ranks.back(), milliseconds(rng.uniform())}};
    c.tasks.push_back(std::move(task));
  }
  return c;
}

Result<CollectivesResult> run(const Case& c) {
  TRUNKLINE_ASSIGN(spec, clos_for(c.need));
  TRUNKLINE_ASSIGN(clos, Clos::build(spec));
  return run_collectives(ClosFabric(std::make_shared<const Clos>(std::move(clos))), c.machines, c.tasks, c.options);
}

}  // namespace

TEST(CollectivesProperty, TermsAddUpAndNoneIsNegative) {
  int ran = 0;
  for (std::uint64_t seed = 0; seed < 600; ++seed) {
    const Case c = any_case(seed);
    const auto result = run(c);
    if (!result) {
      ASSERT_NE(result.error().text().find("group"), std::string::npos) << result.error().text();  // halving or islands of different sizes
      continue;
    }
    for (const auto& t : result->groups) {
      ASSERT_NEAR((t.bandwidth + t.fill + t.latency + t.contention + t.waiting).si(), t.time.si(), 1e-12) << seed;
      for (const Seconds term : {t.bandwidth, t.fill, t.latency, t.waiting}) ASSERT_GE(term.si(), 0) << seed;
      ASSERT_GE(t.contention.si(), -1e-9 - 1e-6 * t.time.si()) << "case " << seed << ", " << t.name;
      ++ran;
    }
  }
  EXPECT_GT(ran, 600);
}

// All links twice as fast: what moves takes half as long, latencies stay; so nothing is slower.
TEST(CollectivesProperty, TwiceTheRatesHalveWhatMoves) {
  for (std::uint64_t seed = 1000; seed < 1300; ++seed) {
    Case c = any_case(seed);
    c.machines.step = seconds(0);
    for (auto& task : c.tasks) {
      task.start = seconds(0);
      task.stragglers.clear();
    }
    const auto slow = run(c);
    if (!slow) continue;
    c.need.rate = c.need.rate * 2;
    c.machines.gpu_links = c.machines.gpu_links * 2;
    const auto fast = run(c);
    ASSERT_TRUE(fast);
    for (std::size_t g = 0; g < c.tasks.size(); ++g)
      ASSERT_NEAR(fast->groups[g].time.si(), slow->groups[g].time.si() / 2, 1e-9 + 1e-6 * slow->groups[g].time.si()) << seed;
  }
}

// Every rank of an all-reduce sends what the mathematics asks for at least, 2(n−1)/n of the buffer, whatever the algorithm; in a
// reduce-scatter or an all-gather half of that.
TEST(CollectivesProperty, EnoughBytesMove) {
  for (std::uint64_t seed = 2000; seed < 2400; ++seed) {
    const Case c = any_case(seed);
    for (const auto& task : c.tasks) {
      const auto stages = stages_of(task, c.machines);
      if (!stages) continue;
      double sent = 0;
      std::size_t transfers = 0;  // each rounded to whole bytes
      for (const Stage& stage : *stages) {
        for (const Transfer& transfer : stage.transfers) {
          ASSERT_GE(transfer.size.count(), 0);
          ASSERT_NE(transfer.from, transfer.to);
          sent += double(transfer.size.count());
          ++transfers;
        }
      }
      const double n = double(task.ranks.size());
      const double halves = task.operation == Operation::all_reduce ? 2 : 1;
      EXPECT_GE(sent, halves * (n - 1) * double(task.size.count()) - double(transfers)) << seed << " " << name_of(task.algorithm);
    }
  }
}

}  // namespace trunkline::network
