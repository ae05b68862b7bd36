#include "timeline/overlap.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/rng.hpp"

using namespace trunkline;
using namespace trunkline::timeline;

namespace {

// A pass over `layers` layers, event by event, as FSDP runs it: one stream of computation, one of communication in the order
// in which the host asks for it. When layer i begins to compute, the gather of layer i + 1 is asked for; when it ends, the
// scatter of its gradients is.
double simulated(int layers, double compute, double gather, double reduce) {
  double wire = gather, computed = 0;  // when each stream is free; the first gather runs at once
  std::vector<double> gathered(std::size_t(layers) + 1, gather);
  for (int i = 0; i < layers; ++i) {
    const double start = std::max(computed, gathered[std::size_t(i)]);
    if (i + 1 < layers) {
      wire = std::max(wire, start) + gather;
      gathered[std::size_t(i) + 1] = wire;
    }
    computed = start + compute;
    if (reduce > 0) wire = std::max(wire, computed) + reduce;
  }
  return std::max(computed, reduce > 0 ? wire : 0);
}

double simulated_buckets(int buckets, double bucket, double backward) {
  double wire = 0;
  for (int i = 1; i <= buckets; ++i) wire = std::max(wire, backward * i / buckets) + bucket;
  return wire;
}

// The forward waits for each bucket before it enters the part that needs it.
double simulated_gather(int buckets, double bucket, double forward) {
  double at = 0;
  for (int i = 1; i <= buckets; ++i) at = std::max(at, bucket * i) + forward / buckets;
  return at;
}

constexpr double kTolerance = 1e-9;

}  // namespace

// Computation slower than its gather hides all gathers but the first; a faster one waits for every gather.
TEST(Overlap, ShardedForwardAtBothEnds) {
  EXPECT_NEAR(sharded_forward(10, 5, 2).exposed_s, 2, kTolerance);
  EXPECT_NEAR(sharded_forward(10, 5, 2).hidden_s, 18, kTolerance);
  EXPECT_NEAR(sharded_forward(10, 2, 5).exposed_s, 10 * 5 + 2 - 10 * 2, kTolerance);
  EXPECT_EQ(sharded_forward(0, 5, 2).exposed_s, 0);
  EXPECT_EQ(sharded_forward(10, 5, 0).exposed_s, 0);
}

TEST(Overlap, ShardedPassesAgainstAnEventSimulation) {
  Rng rng(1);
  for (int i = 0; i < 20000; ++i) {
    const int layers = 1 + int(rng.below(12));
    const double compute = rng.uniform() * 4, gather = rng.uniform() * 4, reduce = rng.below(4) == 0 ? 0 : rng.uniform() * 4;
    const Overlapped forward = sharded_forward(layers, compute, gather);
    EXPECT_NEAR(layers * compute + forward.exposed_s, simulated(layers, compute, gather, 0), kTolerance);
    EXPECT_NEAR(forward.exposed_s + forward.hidden_s, layers * gather, kTolerance);
    const Overlapped backward = sharded_backward(layers, compute, gather, reduce);
    EXPECT_NEAR(layers * compute + backward.exposed_s, simulated(layers, compute, gather, reduce), kTolerance)
        << layers << " layers, " << compute << " " << gather << " " << reduce;
    EXPECT_NEAR(backward.exposed_s + backward.hidden_s, layers * (gather + reduce), kTolerance);
    EXPECT_GE(backward.exposed_s, -kTolerance);
    EXPECT_GE(backward.hidden_s, -kTolerance);
  }
}

// Weights that were kept need no gather; then the last scatter is what nothing hides.
TEST(Overlap, KeptWeightsExposeTheLastScatterAlone) {
  EXPECT_NEAR(sharded_backward(8, 3, 0, 1).exposed_s, 1, kTolerance);
  EXPECT_EQ(sharded_backward(8, 3, 0, 0).exposed_s, 0);
}

TEST(Overlap, BucketsAgainstAnEventSimulation) {
  Rng rng(2);
  for (int i = 0; i < 20000; ++i) {
    const int buckets = 1 + int(rng.below(30));
    const double bucket = rng.uniform() * 2, pass = rng.uniform() * 20;
    const Overlapped reduce = bucketed_reduction(buckets, bucket, pass, true);
    EXPECT_NEAR(pass + reduce.exposed_s, simulated_buckets(buckets, bucket, pass), kTolerance);
    EXPECT_NEAR(reduce.exposed_s + reduce.hidden_s, buckets * bucket, kTolerance);
    const Overlapped gather = bucketed_gather(buckets, bucket, pass, true);
    EXPECT_NEAR(pass + gather.exposed_s, simulated_gather(buckets, bucket, pass), kTolerance);
  }
}

// One bucket is ready only when backward is over; without overlap all are sent then.
TEST(Overlap, OneBucketHidesNothing) {
  EXPECT_NEAR(bucketed_reduction(1, 3, 10, true).exposed_s, 3, kTolerance);
  EXPECT_NEAR(bucketed_reduction(4, 3, 10, false).exposed_s, 12, kTolerance);
  EXPECT_EQ(bucketed_reduction(4, 3, 10, false).hidden_s, 0);
  EXPECT_EQ(bucketed_reduction(4, 0, 10, true).exposed_s, 0);
}

// Neither faster computation nor faster communication makes a pass longer.
TEST(Overlap, FasterNeverTakesLonger) {
  Rng rng(3);
  for (int i = 0; i < 20000; ++i) {
    const int n = 1 + int(rng.below(12));
    const double c = rng.uniform() * 4, g = rng.uniform() * 4, r = rng.uniform() * 4;
    const double c2 = c * rng.uniform(), g2 = g * rng.uniform(), r2 = r * rng.uniform();
    EXPECT_LE(n * c2 + sharded_forward(n, c2, g2).exposed_s, n * c + sharded_forward(n, c, g).exposed_s + kTolerance);
    EXPECT_LE(n * c2 + sharded_backward(n, c2, g2, r2).exposed_s, n * c + sharded_backward(n, c, g, r).exposed_s + kTolerance);
    EXPECT_LE(c2 + bucketed_reduction(n, g2, c2, true).exposed_s, c + bucketed_reduction(n, g, c, true).exposed_s + kTolerance);
  }
}
