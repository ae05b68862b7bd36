#include "network/placement.hpp"

#include <algorithm>
#include <numeric>

#include "base/rng.hpp"

namespace trunkline::network {
namespace {

// Lengths of runs of islands that stand together, in rank order.
std::vector<int> runs_of(const PlacementNeed& need, int islands, Rng& rng) {
  const int longest = need.placement == topology::Placement::fragmented ? std::max(1, need.nodes_per_leaf / std::max(1, need.island)) : 1;
  std::vector<int> runs;
  for (int left = islands; left > 0; left -= runs.back()) runs.push_back(std::min(left, 1 + int(rng.below(std::uint64_t(longest)))));
  return runs;
}

}  // namespace

std::vector<int> place_nodes(const PlacementNeed& need) {
  std::vector<int> places(std::size_t(std::max(0, need.nodes)));
  std::iota(places.begin(), places.end(), 0);
  if (need.placement == topology::Placement::packed) return places;
  const int island = std::max(1, need.island), islands = need.nodes / island;  // nodes beyond the last whole island stay where they are
  Rng rng(need.seed * 2 + 1);
  const std::vector<int> runs = runs_of(need, islands, rng);
  std::vector<std::size_t> order(runs.size());
  std::iota(order.begin(), order.end(), std::size_t(0));
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng.below(i)]);
  std::vector<int> first(runs.size());
  std::exclusive_scan(runs.begin(), runs.end(), first.begin(), 0);
  int place = 0;
  for (const std::size_t run : order) {
    for (int node = first[run] * island; node < (first[run] + runs[run]) * island; ++node) places[std::size_t(node)] = place++;
  }
  return places;
}

}  // namespace trunkline::network
