#include "timeline/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "base/rng.hpp"

using namespace trunkline;
using namespace trunkline::timeline;
using workload::Schedule;

namespace {

constexpr Picoseconds kForward = 1'000'000, kBackward = 2'000'000;

// Equal stages; `forward` and `backward` are those of a whole stage, shared out over its chunks.
PipelineInput equal_stages(int stages, int micro_batches, int chunks = 1, Picoseconds forward = kForward,
                           Picoseconds backward = kBackward) {
  PipelineInput in;
  in.micro_batches = micro_batches;
  StageCost cost;
  cost.forward.assign(std::size_t(chunks), forward / chunks);
  cost.backward.assign(std::size_t(chunks), backward / chunks);
  cost.weight_gradient.assign(std::size_t(chunks), backward / 2 / chunks);
  in.stages.assign(std::size_t(stages), cost);
  return in;
}

PipelineInput random_stages(Rng& rng, int most_stages, int most_chunks) {
  PipelineInput in;
  const int stages = 1 + int(rng.below(std::uint64_t(most_stages))),
            chunks = stages == 1 ? 1 : 1 + int(rng.below(std::uint64_t(most_chunks)));
  in.micro_batches = 1 + int(rng.below(20));
  in.transfer = Picoseconds(rng.below(3) == 0 ? 0 : rng.below(500));
  in.blocking = rng.below(2) == 0;
  for (int s = 0; s < stages; ++s) {
    StageCost cost;
    for (int c = 0; c < chunks; ++c) {
      cost.forward.push_back(Picoseconds(100 + rng.below(1000)));
      cost.backward.push_back(Picoseconds(100 + rng.below(2000)));
      cost.weight_gradient.push_back(Picoseconds(std::int64_t(double(cost.backward.back()) * 0.5 * rng.uniform())));
    }
    in.stages.push_back(cost);
  }
  return in;
}

constexpr Schedule kSchedules[] = {Schedule::one_f_one_b, Schedule::gpipe, Schedule::zero_bubble_1p, Schedule::zero_bubble_2p};

bool zero_bubble(Schedule s) { return s == Schedule::zero_bubble_1p || s == Schedule::zero_bubble_2p; }

using Key = std::tuple<int, int, int>;  // stage, chunk, micro-batch

}  // namespace

// The first micro-batch needs p forwards to reach the last stage, which then never waits, and the last one p − 1 backwards
// to come back: (p − 1)·F + m·(F + B) + (p − 1)·B.
TEST(Pipeline, OneForwardOneBackwardFillsAndDrainsOnce) {
  for (int p : {1, 2, 3, 4, 8, 16}) {
    for (int m : {1, 2, 3, 7, 8, 64}) {
      const PipelineResult r = run_pipeline(equal_stages(p, m));
      EXPECT_EQ(r.end, (m + p - 1) * (kForward + kBackward)) << p << " stages, " << m << " micro-batches";
      for (Picoseconds busy : r.busy) EXPECT_EQ(busy, m * (kForward + kBackward));
    }
  }
}

// GPipe differs in memory, not in time: all forwards, then all backwards, fill and drain the same.
TEST(Pipeline, GpipeTakesAsLongAsOneForwardOneBackward) {
  for (int p : {2, 4, 7}) {
    for (int m : {1, 4, 9}) {
      PipelineInput in = equal_stages(p, m);
      in.schedule = Schedule::gpipe;
      EXPECT_EQ(run_pipeline(in).end, (m + p - 1) * (kForward + kBackward));
    }
  }
}

// With v chunks a stage starts after 1/v of the forwards of those before it: the bubble shrinks to (p − 1)(F + B)/v
// (Narayanan et al., arXiv 2104.04473), when micro-batches are a multiple of the stages.
TEST(Pipeline, InterleavingDividesTheBubbleByTheChunks) {
  for (int p : {2, 4, 8}) {
    for (int v : {1, 2, 4}) {
      for (int groups : {1, 2, 5}) {
        const int m = groups * p;
        const PipelineResult r = run_pipeline(equal_stages(p, m, v));
        EXPECT_EQ(r.end, m * (kForward + kBackward) + (p - 1) * (kForward + kBackward) / v) << p << " stages, " << v << " chunks, " << m;
      }
    }
  }
}

// GPipe sends everything one way and then the other, so a copy delays the way there and the way back p − 1 times each.
TEST(Pipeline, TransfersDelayGpipeOnTheWayThereAndBack) {
  PipelineInput in = equal_stages(4, 6);
  in.schedule = Schedule::gpipe;
  in.transfer = 70'000;
  EXPECT_EQ(run_pipeline(in).end, (6 + 3) * (kForward + kBackward) + 2 * 3 * in.transfer);
}

// 1F1B keeps p micro-batches in flight on the first stage, and one needs 2(p − 1) copies to come back: in the steady state
// a copy that nothing hides costs 2(p − 1)·t once for every p micro-batches.
TEST(Pipeline, TransfersSlowTheSteadyStateOfOneForwardOneBackward) {
  for (int p : {2, 3, 4, 8}) {
    PipelineInput in = equal_stages(p, 3 * p), longer = equal_stages(p, 5 * p);
    in.transfer = longer.transfer = 10'000;
    EXPECT_EQ(run_pipeline(longer).end - run_pipeline(in).end, 2 * (p * (kForward + kBackward) + 2 * (p - 1) * in.transfer)) << p;
  }
}

// A blocking copy makes every task longer, and the receiver still waits for it.
TEST(Pipeline, BlockingTransfersOccupyTheStages) {
  PipelineInput in = equal_stages(2, 4);
  in.transfer = 10'000;
  in.blocking = true;
  const PipelineResult r = run_pipeline(in);
  EXPECT_EQ(r.busy[0], 4 * (kForward + kBackward + 2 * in.transfer));
  PipelineInput beside = in;
  beside.blocking = false;
  EXPECT_GT(r.end, run_pipeline(beside).end);
  in.stages.resize(1);
  EXPECT_EQ(run_pipeline(in).end, 4 * (kForward + kBackward));  // one stage sends nothing
}

// The slowest stage works without a pause once the pipeline is full, so beyond it every micro-batch costs its F + B.
TEST(Pipeline, TheSlowestStageSetsThePace) {
  PipelineInput in = equal_stages(4, 16);
  in.stages[2].forward[0] = 3 * kForward;
  in.stages[2].backward[0] = 3 * kBackward;
  PipelineInput longer = in;
  longer.micro_batches = 48;
  EXPECT_EQ(run_pipeline(longer).end - run_pipeline(in).end, 32 * 3 * (kForward + kBackward));
}

// Zero Bubble Pipeline Parallelism (arXiv 2401.10241), table 2, with F = B = W: what is left of the bubble is (p − 1)(F + B − W)
// for the order that holds p micro-batches, and (p − 1)(F + B − 2W) = 0 for the one that holds 2p − 1. A stage's step lasts
// from its own first task to its last.
TEST(Pipeline, ZeroBubbleLeavesOneThirdOfTheBubbleOrNone) {
  constexpr Picoseconds unit = 1'000'000;
  for (int p : {2, 4, 8}) {
    for (int m : {2 * p, 3 * p, 50}) {
      PipelineInput in = equal_stages(p, m, 1, unit, 2 * unit);
      in.schedule = Schedule::zero_bubble_1p;
      EXPECT_EQ(run_pipeline(in).end, 3 * m * unit + (p - 1) * unit) << p << " " << m;
      in.schedule = Schedule::zero_bubble_2p;
      EXPECT_EQ(run_pipeline(in).end, 3 * m * unit) << p << " " << m;
    }
  }
}

TEST(Pipeline, ZeroBubbleLiesBetweenTheWorkAndOneForwardOneBackward) {
  Rng rng(1);
  for (int i = 0; i < 500; ++i) {
    const int p = 2 + int(rng.below(8)), m = 1 + int(rng.below(24));
    PipelineInput in = equal_stages(p, m, 1, Picoseconds(100 + rng.below(1000)), Picoseconds(200 + rng.below(2000)));
    for (StageCost& s : in.stages) s.weight_gradient[0] = s.backward[0] / (2 + i % 3);
    const Picoseconds work = m * (in.stages[0].forward[0] + in.stages[0].backward[0]);
    const Picoseconds plain = run_pipeline(in).end;
    in.schedule = Schedule::zero_bubble_1p;
    const Picoseconds one = run_pipeline(in).end;
    in.schedule = Schedule::zero_bubble_2p;
    const Picoseconds two = run_pipeline(in).end;
    EXPECT_LE(work, two);
    EXPECT_LE(two, one);
    EXPECT_LE(one, plain);
  }
}

// Whatever the stages, chunks and micro-batches: every task of every micro-batch runs exactly once, nothing overlaps on a
// stage, and nothing starts before what it needs has arrived.
TEST(Pipeline, EveryTaskRunsOnceAndInOrder) {
  Rng rng(2);
  for (int i = 0; i < 3000; ++i) {
    PipelineInput in = random_stages(rng, 9, 5);
    const int p = int(in.stages.size()), v = int(in.stages[0].forward.size()), m = in.micro_batches;
    in.schedule = kSchedules[rng.below(4)];
    const PipelineResult r = run_pipeline(in, true);
    const bool split = zero_bubble(in.schedule) && p > 1;
    std::map<Key, PipelineSlot> forward, backward, weight;
    std::vector<Picoseconds> free(std::size_t(p), 0), busy(std::size_t(p), 0);
    std::vector<PipelineSlot> slots = r.slots;
    std::stable_sort(slots.begin(), slots.end(), [](const auto& a, const auto& b) { return a.start < b.start; });
    for (const PipelineSlot& slot : slots) {
      EXPECT_GE(slot.start, free[std::size_t(slot.stage)]);
      free[std::size_t(slot.stage)] = slot.end;
      busy[std::size_t(slot.stage)] += slot.end - slot.start;
      auto& of = slot.weight ? weight : slot.backward ? backward : forward;
      EXPECT_TRUE(of.emplace(Key{slot.stage, slot.chunk, slot.micro_batch}, slot).second) << "twice";
    }
    const auto all = std::size_t(p * v * m);
    ASSERT_EQ(forward.size(), all) << p << " stages, " << v << " chunks, " << m << " micro-batches, schedule " << int(in.schedule);
    ASSERT_EQ(backward.size(), all) << p << " stages, " << v << " chunks, " << m << " micro-batches, schedule " << int(in.schedule);
    ASSERT_EQ(weight.size(), split ? all : 0);
    EXPECT_EQ(busy, r.busy);
    const Picoseconds way = p > 1 ? in.transfer : 0;
    for (const auto& [key, slot] : forward) {
      const auto [s, c, k] = key;
      if (s > 0) {
        EXPECT_GE(slot.start, forward.at({s - 1, c, k}).end + way);
      } else if (c > 0) {
        EXPECT_GE(slot.start, forward.at({p - 1, c - 1, k}).end + way);
      }
    }
    for (const auto& [key, slot] : backward) {
      const auto [s, c, k] = key;
      EXPECT_GE(slot.start, forward.at(key).end);
      if (s < p - 1) {
        EXPECT_GE(slot.start, backward.at({s + 1, c, k}).end + way);
      } else if (c < v - 1) {
        EXPECT_GE(slot.start, backward.at({0, c + 1, k}).end + way);
      }
      if (split) {
        EXPECT_GE(weight.at(key).start, slot.end);
      }
    }
  }
}

// No stage may hold more micro-batches than memory_of counts for it.
TEST(Pipeline, NoMoreMicroBatchesInFlightThanTheScheduleAllows) {
  Rng rng(3);
  for (int i = 0; i < 300; ++i) {
    PipelineInput in = random_stages(rng, 8, 1);
    const int p = int(in.stages.size());
    for (const auto& [schedule, limit] :
         {std::pair(Schedule::one_f_one_b, p), std::pair(Schedule::zero_bubble_1p, p), std::pair(Schedule::zero_bubble_2p, 2 * p - 1)}) {
      in.schedule = schedule;
      const PipelineResult r = run_pipeline(in, true);
      for (int s = 0; s < p; ++s) {
        std::vector<std::pair<Picoseconds, int>> events;  // a forward's start takes, the last part of backward's end gives back
        for (const PipelineSlot& slot : r.slots) {
          if (slot.stage != s) continue;
          if (!slot.backward)
            events.emplace_back(slot.start, 1);
          else if (slot.weight || !zero_bubble(schedule) || p == 1)
            events.emplace_back(slot.end, -1);
        }
        std::sort(events.begin(), events.end());
        int held = 0, most = 0;
        for (const auto& [at, change] : events) most = std::max(most, held += change);
        EXPECT_LE(most, schedule == Schedule::one_f_one_b ? p - s : limit) << "stage " << s << " of " << p;
      }
    }
  }
}

// The order of tasks does not depend on their lengths, so no stage, micro-batch or copy that gets faster makes the step slower.
TEST(Pipeline, FasterTasksNeverEndLater) {
  Rng rng(4);
  for (int i = 0; i < 2000; ++i) {
    PipelineInput slow = random_stages(rng, 8, 4);
    slow.schedule = kSchedules[rng.below(4)];
    PipelineInput fast = slow;
    for (StageCost& s : fast.stages) {
      for (auto* lengths : {&s.forward, &s.backward}) {
        for (Picoseconds& t : *lengths) {
          if (rng.below(2) == 0) t -= Picoseconds(rng.below(std::uint64_t(t.count() / 2)));
        }
      }
      for (std::size_t c = 0; c < s.backward.size(); ++c) s.weight_gradient[c] = std::min(s.weight_gradient[c], s.backward[c] / 2);
    }
    if (rng.below(2) == 0) fast.transfer = fast.transfer / 2;
    EXPECT_LE(run_pipeline(fast).end, run_pipeline(slow).end);
  }
}

// Lengths up to the longest that can be counted: the end stays at the longest, and longer tasks never end earlier.
TEST(Pipeline, TimesTooLongToCountNeverWrapRound) {
  Rng rng(17);
  const auto long_one = [&] { return Picoseconds(std::int64_t(1) << rng.below(63)); };
  for (int i = 0; i < 3000; ++i) {
    PipelineInput in = random_stages(rng, 8, 3);
    in.schedule = kSchedules[rng.below(4)];
    for (StageCost& s : in.stages) {
      for (std::size_t c = 0; c < s.forward.size(); ++c) {
        s.forward[c] = long_one(), s.backward[c] = long_one();
        s.weight_gradient[c] = s.backward[c] / 2;
      }
    }
    in.transfer = long_one();
    in.blocking = rng.below(2) == 0;
    PipelineInput longer = in;
    StageCost& one = longer.stages[rng.below(longer.stages.size())];
    one.forward[0] += long_one();
    const PipelineResult before = run_pipeline(in, true), after = run_pipeline(longer);
    EXPECT_GT(before.end, 0);
    EXPECT_LE(before.end, after.end);
    for (const PipelineSlot& slot : before.slots) EXPECT_TRUE(slot.start >= 0 && slot.end >= slot.start);
  }
}

// One more where micro-batches go through one by one; a whole round more where they go in rounds (a remainder changes the rounds).
TEST(Pipeline, MoreMicroBatchesNeverEndEarlier) {
  Rng rng(5);
  for (int i = 0; i < 1000; ++i) {
    PipelineInput in = random_stages(rng, 8, 4);
    const int p = int(in.stages.size());
    const bool rounds = in.stages[0].forward.size() > 1;
    in.schedule = kSchedules[rng.below(4)];
    if (rounds) in.micro_batches = p * (1 + int(rng.below(4)));
    const Picoseconds end = run_pipeline(in).end;
    in.micro_batches += rounds ? p : 1;
    EXPECT_GE(run_pipeline(in).end, end);
  }
}

// No remainder of micro-batches, and no number below that of the stages, leaves a task behind.
TEST(Pipeline, NoCountOfMicroBatchesBlocksAnInterleavedPipeline) {
  for (int p = 2; p <= 12; ++p) {
    for (int v = 1; v <= 6; ++v) {
      for (int m = 1; m <= 40; ++m) {
        for (Schedule schedule : {Schedule::one_f_one_b, Schedule::zero_bubble_1p, Schedule::zero_bubble_2p}) {
          PipelineInput in = equal_stages(p, m, v, 60 * 100, 60 * 200);
          in.schedule = schedule;
          const PipelineResult r = run_pipeline(in);
          for (Picoseconds busy : r.busy) ASSERT_EQ(busy, m * 60 * 300) << p << " stages, " << v << " chunks, " << m << " micro-batches";
        }
      }
    }
  }
}

TEST(Pipeline, SlotsAreKeptOnlyWhenAskedForAndChangeNothing) {
  Rng rng(6);
  for (int i = 0; i < 100; ++i) {
    PipelineInput in = random_stages(rng, 6, 3);
    in.schedule = kSchedules[rng.below(4)];
    const PipelineResult without = run_pipeline(in), with = run_pipeline(in, true);
    EXPECT_TRUE(without.slots.empty());
    EXPECT_FALSE(with.slots.empty());
    EXPECT_EQ(with.end, without.end);
    EXPECT_EQ(with.busy, without.busy);
  }
}
