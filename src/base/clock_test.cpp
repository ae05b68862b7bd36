#include "base/clock.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "base/units.hpp"

namespace trunkline {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max(), kLeast = std::numeric_limits<std::int64_t>::min();

TEST(Picoseconds, CountExactlyWhatFits) {
  EXPECT_EQ(Picoseconds::from_seconds(1e-12), Picoseconds(1));
  EXPECT_EQ(Picoseconds::from_seconds(0.4999e-12), Picoseconds(0));
  EXPECT_EQ(Picoseconds::from_seconds(-1.5e-12), Picoseconds(-2));
  EXPECT_EQ(Picoseconds(7) * 3 + 4 - 5, Picoseconds(20));
  EXPECT_EQ((Picoseconds(7) / 2).count(), 3);
  EXPECT_DOUBLE_EQ(Picoseconds(1'500'000'000'000).seconds(), 1.5);
}

// What does not fit is the longest time, never a short or negative one.
TEST(Picoseconds, StopInsteadOfWrapping) {
  const Picoseconds forever = Picoseconds::forever();
  EXPECT_EQ(forever + 1, forever);
  EXPECT_EQ(forever - 1, forever);
  EXPECT_EQ(forever * 2, forever);
  EXPECT_EQ(Picoseconds(1'000'000'000'000) * 1'000'000'000'000, forever);
  EXPECT_EQ(forever * -3, Picoseconds(0) - forever);
  EXPECT_EQ(Picoseconds(0) - forever - forever, Picoseconds(0) - forever);
  EXPECT_EQ(Picoseconds::from_seconds(1e300), forever);
  EXPECT_EQ(Picoseconds::from_seconds(INFINITY), forever);
  EXPECT_EQ(Picoseconds::from_seconds(NAN), forever);
  EXPECT_EQ(Picoseconds::from_seconds(-1e300), Picoseconds(0) - forever);
  EXPECT_EQ(Picoseconds(~std::uint64_t(0)), forever);
  EXPECT_EQ(Picoseconds(kLeast), Picoseconds(0) - forever);
  EXPECT_EQ(Picoseconds(0) - Picoseconds(kLeast), forever);
}

// The order of sums and products survives the ends of the range: more is never less.
TEST(Picoseconds, ArithmeticIsMonotoneUpToTheEnds) {
  const std::vector<std::int64_t> counts{kLeast, kLeast + 1,        -1'000'000'000'000, -1,        0,    1,
                                         3,      1'000'000'000'000, kMost / 2,          kMost - 1, kMost};
  for (std::size_t i = 0; i + 1 < counts.size(); ++i) {
    for (const std::int64_t other : counts) {
      EXPECT_LE(Picoseconds(counts[i]) + Picoseconds(other), Picoseconds(counts[i + 1]) + Picoseconds(other));
      EXPECT_GE(Picoseconds(other) - Picoseconds(counts[i]), Picoseconds(other) - Picoseconds(counts[i + 1]));
      if (other >= 0) {
        EXPECT_LE(Picoseconds(counts[i]) * other, Picoseconds(counts[i + 1]) * other);
      }
    }
  }
}

TEST(Bytes, StopInsteadOfWrapping) {
  const Bytes most(kMost), least(kLeast);
  EXPECT_EQ(most + bytes(1), most);
  EXPECT_EQ(most - bytes(-1), most);
  EXPECT_EQ(least - bytes(1), least);
  EXPECT_EQ(bytes(0) - least, most);
  EXPECT_EQ(gib(1) * kMost, most);
  EXPECT_EQ(bytes(-2) * kMost, least);
  EXPECT_EQ(Bytes(~std::uint64_t(0)), most);
  Bytes sum = most;
  sum += gib(1);
  EXPECT_EQ(sum, most);
  sum -= gib(-1);
  EXPECT_EQ(sum, most);
}

}  // namespace
}  // namespace trunkline
