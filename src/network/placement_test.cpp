#include "network/placement.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace trunkline::network {
namespace {

using topology::Placement;

// Neighbours in rank order that stand side by side.
int adjacent(const std::vector<int>& places) {
  int count = 0;
  for (std::size_t i = 1; i < places.size(); ++i) count += places[i] == places[i - 1] + 1;
  return count;
}

std::vector<int> placed(Placement placement, std::uint64_t seed = 1, int island = 1) {
  return place_nodes({placement, 512, island, 8, seed});
}

TEST(Placement, IsAPermutation) {
  for (const auto placement : {Placement::packed, Placement::scattered, Placement::fragmented}) {
    for (const int island : {1, 4}) {
      auto places = placed(placement, 3, island);
      std::sort(places.begin(), places.end());
      std::vector<int> all(512);
      std::iota(all.begin(), all.end(), 0);
      EXPECT_EQ(places, all);
    }
  }
}

// Runs of 1 … 8 are 4.5 long on average, so that 512 nodes have some 114 breaks; scattered nodes have hardly a neighbour.
TEST(Placement, FragmentsAreRunsUpToALeaf) {
  EXPECT_EQ(adjacent(placed(Placement::packed)), 511);
  EXPECT_NEAR(adjacent(placed(Placement::fragmented)), 511 - 512 / 4.5, 25);
  EXPECT_LT(adjacent(placed(Placement::scattered)), 10);
}

TEST(Placement, FollowsTheSeed) {
  EXPECT_EQ(placed(Placement::scattered, 1), placed(Placement::scattered, 1));
  EXPECT_NE(placed(Placement::scattered, 1), placed(Placement::scattered, 2));
}

TEST(Placement, KeepsIslandsTogether) {
  const auto places = placed(Placement::scattered, 5, 4);
  for (std::size_t i = 0; i < places.size(); ++i) {
    if (i % 4 != 0) {
      EXPECT_EQ(places[i], places[i - 1] + 1);
    }
  }
}

}  // namespace
}  // namespace trunkline::network
