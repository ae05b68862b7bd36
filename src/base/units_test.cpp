#include "base/units.hpp"

#include <gtest/gtest.h>

#include <limits>

namespace trunkline {
namespace {

TEST(Units, WhatTheyAreMadeOf) {
  EXPECT_EQ(kib(1).count(), 1024);
  EXPECT_EQ(mib(25).count(), 26214400);
  EXPECT_EQ(gib(80).count(), 85899345920);
  EXPECT_EQ(gbytes(28.5).count(), 28500000000);
  EXPECT_DOUBLE_EQ(gbit_per_s(400).si(), 50e9);
  EXPECT_DOUBLE_EQ(as_gbit_per_s(gbyte_per_s(50)), 400);
  EXPECT_DOUBLE_EQ(as_gbyte_per_s(gbit_per_s(200)), 25);
  EXPECT_DOUBLE_EQ(as_tflop_per_s(tflop_per_s(312)), 312);
  EXPECT_DOUBLE_EQ(as_microseconds(milliseconds(2)), 2000);
  EXPECT_DOUBLE_EQ(as_gib(gib(3)), 3);
}

TEST(Units, DivisionGivesTheThirdQuantity) {
  EXPECT_DOUBLE_EQ((gbytes(100) / gbyte_per_s(50)).si(), 2);
  EXPECT_DOUBLE_EQ((gbytes(100) / seconds(2)).si(), 50e9);
  EXPECT_DOUBLE_EQ((flops(312e12) / tflop_per_s(312)).si(), 1);
  EXPECT_DOUBLE_EQ((tflop_per_s(312) * seconds(2)).si(), 624e12);
  EXPECT_DOUBLE_EQ(seconds(6) / seconds(3), 2);
  EXPECT_DOUBLE_EQ(gib(1) / mib(1), 1024);
}

TEST(Units, OrderAndEquality) {
  EXPECT_LT(gbit_per_s(400), gbyte_per_s(400));
  EXPECT_EQ(seconds(1), milliseconds(1000));
  EXPECT_GT(gib(1), gbytes(1));
  Seconds t = seconds(1);
  t += seconds(2);
  t -= seconds(0.5);
  EXPECT_EQ(t, seconds(2.5));
}

TEST(Bytes, StayExactWhereADoubleWouldNot) {
  const std::int64_t odd = (1LL << 53) + 1;
  EXPECT_EQ((bytes(odd) + bytes(2)).count(), odd + 2);
  EXPECT_EQ((bytes(odd) * 3).count(), odd * 3);
  EXPECT_EQ((bytes(odd) - bytes(odd)).count(), 0);
}

TEST(Bytes, ScaledRoundsToTheNearestAndSaturates) {
  EXPECT_EQ(scaled(bytes(10), 0.25).count(), 3);  // 2.5 up
  EXPECT_EQ(scaled(bytes(-10), 0.25).count(), -3);
  EXPECT_EQ(scaled(bytes(3), 1.0 / 3).count(), 1);
  EXPECT_EQ(scaled(gib(1), 1e30).count(), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(scaled(gib(-1), 1e30).count(), std::numeric_limits<std::int64_t>::min());
}

}  // namespace
}  // namespace trunkline
