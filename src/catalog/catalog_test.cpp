#include <gtest/gtest.h>

#include "catalog/catalog.hpp"

using namespace trunkline;
using namespace trunkline::catalog;

TEST(Catalog, GpuById) {
  const auto gpu = Catalog::builtin().gpu("a100-sxm-80");
  ASSERT_TRUE(gpu) << gpu.error().text();
  EXPECT_EQ((*gpu)->bf16, tflop_per_s(312));
}
