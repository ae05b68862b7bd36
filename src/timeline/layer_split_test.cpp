#include "timeline/layer_split.hpp"

#include <gtest/gtest.h>

#include "base/rng.hpp"

using namespace trunkline;
using namespace trunkline::timeline;

namespace {

workload::TowerWork tower(int dense, int experts = 0, int leading = 0, int every = 1) {
  workload::TowerWork t;
  t.dense.count = dense;
  t.experts.count = experts;
  t.leading_dense = leading;
  t.every = every;
  return t;
}

double layers(const LayerSplit& s) { return s.dense + s.experts; }

}  // namespace

TEST(LayerSplit, EveryLayerStandsInOneChunkAndChunksDifferByOne) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const int leading = int(rng.below(4)), every = 1 + int(rng.below(3)), groups = int(rng.below(30)), chunks = 1 + int(rng.below(40));
    // Behind the leading layers one in `every` holds experts, the first of each group.
    const workload::TowerWork t = tower(leading + groups * (every - 1), groups, leading, every);
    const int all = leading + groups * every;
    double dense = 0, experts = 0;
    for (int c = 0; c < chunks; ++c) {
      const LayerSplit s = layers_of_chunk(t, c, chunks);
      dense += s.dense;
      experts += s.experts;
      EXPECT_GE(s.dense, 0);
      EXPECT_GE(s.experts, 0);
      EXPECT_GE(layers(s), all / chunks);
      EXPECT_LE(layers(s), (all + chunks - 1) / chunks);
      EXPECT_EQ(s.first, c == 0);
      EXPECT_EQ(s.last, c == chunks - 1);
    }
    EXPECT_EQ(dense, t.dense.count);
    EXPECT_EQ(experts, t.experts.count);
  }
}

// Llama 3.1 405B: 126 layers on 16 stages of 8 chunks: the embedding and the output layer each stand alone.
TEST(LayerSplit, EndsTakeThePlaceOfALayer) {
  const workload::TowerWork llama = tower(126);
  EXPECT_EQ(layers(layers_of_chunk(llama, 0, 128)), 0);
  EXPECT_EQ(layers(layers_of_chunk(llama, 1, 128)), 1);
  EXPECT_EQ(layers(layers_of_chunk(llama, 127, 128)), 0);
  // One layer short: the output layer, which costs more than the embedding, takes its place.
  EXPECT_EQ(layers(layers_of_chunk(tower(31), 0, 32)), 1);
  EXPECT_EQ(layers(layers_of_chunk(tower(31), 31, 32)), 0);
}

// DeepSeek-V3: three dense layers in front of 58 with experts.
TEST(LayerSplit, LeadingDenseLayersStandInTheFirstStage) {
  const workload::TowerWork deepseek = tower(3, 58, 3);
  EXPECT_EQ(layers_of_chunk(deepseek, 0, 16).dense, 3);
  for (int stage = 1; stage < 16; ++stage) EXPECT_EQ(layers_of_chunk(deepseek, stage, 16).dense, 0);
}
