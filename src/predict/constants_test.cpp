#include "predict/constants.hpp"

#include <gtest/gtest.h>

#include <cmath>

using namespace trunkline;
using namespace trunkline::predict;
using catalog::Generation;
using workload::Framework;

namespace {

Constants two_pairs() {
  Constants c;
  c.evidence = {{"a", Framework::nemo, Generation::hopper, 0.1, 20}, {"b", Framework::megatron, Generation::ampere, 0.2, 7}};
  c.factors = {{Framework::nemo, Generation::hopper, 1.1, 1, 20}, {Framework::megatron, Generation::ampere, 1.25, 1, 7}};
  c.generation_effect = {{Generation::hopper, 0.05}, {Generation::ampere, 0.15}};
  c.framework_effect = {{Framework::nemo, 0.02}, {Framework::megatron, -0.03}};
  c.low = 0.9, c.high = 1.1, c.low_unseen = 0.8, c.high_unseen = 1.3;
  return c;
}

}  // namespace

TEST(Constants, APairHasItsOwnFactor) {
  EXPECT_EQ(two_pairs().factor(Framework::nemo, Generation::hopper), 1.1);
  EXPECT_TRUE(two_pairs().seen(Framework::nemo, Generation::hopper));
}

// What nobody published is put together from what its generation and its framework do elsewhere; an unknown framework has no effect, an
// unknown generation that of the known ones on average.
TEST(Constants, AnUnseenPairIsTheProductOfItsEffects) {
  const Constants c = two_pairs();
  EXPECT_FALSE(c.seen(Framework::megatron, Generation::hopper));
  EXPECT_DOUBLE_EQ(c.factor(Framework::megatron, Generation::hopper), std::exp(0.05 - 0.03));
  EXPECT_DOUBLE_EQ(c.factor(Framework::maxtext, Generation::hopper), std::exp(0.05));
  EXPECT_DOUBLE_EQ(c.factor(Framework::maxtext, Generation::cdna3), std::exp((0.05 + 0.15) / 2));
  EXPECT_DOUBLE_EQ(Constants().factor(Framework::maxtext, Generation::cdna3), 1);
}

TEST(Constants, WhatIsWrittenIsRead) {
  const Constants c = two_pairs();
  const auto value = io::parse_yaml(to_yaml(c), "constants.yaml");
  ASSERT_TRUE(value) << value.error().text();
  const auto read = constants_from(*value);
  ASSERT_TRUE(read) << read.error().text();
  ASSERT_EQ(read->factors.size(), 2);
  ASSERT_EQ(read->evidence.size(), 2);
  EXPECT_EQ(read->evidence[1].table, "b");
  EXPECT_EQ(read->evidence[1].rows, 7);
  EXPECT_NEAR(read->factor(Framework::nemo, Generation::hopper), 1.1, 1e-4);
  EXPECT_NEAR(read->factor(Framework::megatron, Generation::hopper), c.factor(Framework::megatron, Generation::hopper), 1e-4);
  EXPECT_NEAR(read->low_unseen, 0.8, 1e-4);
}

TEST(Constants, AFaultNamesItsLine) {
  const auto value = io::parse_yaml(to_yaml(two_pairs()) + "factor: 3\n", "constants.yaml");
  ASSERT_TRUE(value);
  const auto read = constants_from(*value);
  ASSERT_FALSE(read);
  EXPECT_NE(read.error().text().find("constants.yaml"), std::string::npos);
}

// Factors are what remains beside the described effects: near one, or an effect is missing.
TEST(Constants, BuiltInFactorsAreNearOne) {
  const Constants& c = Constants::builtin();
  EXPECT_GT(c.factors.size(), 10);
  for (const auto& f : c.factors) {
    EXPECT_GT(f.value, 0.8) << workload::name_of(f.framework);
    EXPECT_LT(f.value, 1.5) << workload::name_of(f.framework);
  }
  EXPECT_LT(c.low, 1);
  EXPECT_GT(c.high, 1);
  EXPECT_LE(c.low_unseen, c.low * 1.05);
}
