#include "timeline/pipeline.hpp"

#include <algorithm>
#include <cassert>

namespace trunkline::timeline {
namespace {

constexpr Picoseconds kUnknown = -1;  // no task starts or ends before 0

bool splits_backward(const PipelineInput& in) {
  const bool zero_bubble = in.schedule == workload::Schedule::zero_bubble_1p || in.schedule == workload::Schedule::zero_bubble_2p;
  return zero_bubble && in.stages.size() > 1;
}

// A micro-batch's turn in a chunk. Every stage takes the same turns one after the other: forwards with chunks counted from the
// first, backwards from the last.
struct Turn {
  int chunk = 0, micro = 0;
  int round = 0;  // micro-batches in this turn's round
};

// How micro-batches go through the chunks of an interleaved pipeline: in rounds, a round through every chunk before the next
// one. A round has as many micro-batches as there are stages; where they do not divide, some rounds have one or more
// micro-batches more (PyTorch's rule; Megatron accepts no remainder), and with fewer than stages there is one round.
std::vector<Turn> turns_of(int stages, int chunks, int micro_batches) {
  const int rounds = std::max(1, micro_batches / stages), size = micro_batches / rounds, larger = micro_batches % rounds;
  std::vector<Turn> turns;
  turns.reserve(std::size_t(micro_batches) * std::size_t(chunks));
  int first = 0;
  for (int r = 0; r < rounds; ++r) {
    const int length = size + (r < larger ? 1 : 0);
    for (int chunk = 0; chunk < chunks; ++chunk) {
      for (int k = 0; k < length; ++k) turns.push_back({chunk, first + k, length});
    }
    first += length;
  }
  return turns;
}

enum class Part { forward, backward, weight };

// What one stage runs when. The order follows from the counts alone, never from how long tasks take: a schedule is fixed before the
// step, and so nothing that gets faster can make a step slower.
struct Stage {
  int forwards = 0, backwards = 0, weights = 0;  // done, each the next turn to come
  int ahead = 0;                                 // forwards begun before the first backward; then one of each in turn
  int put_off = 0;                               // weight gradients left for later, when nothing else can run
  Part last = Part::forward;
  Picoseconds begun = kUnknown;
  std::vector<Picoseconds> forward_done, backward_done;  // a turn each
};

class Simulation {
 public:
  Simulation(const PipelineInput& in, bool keep)
      : in_(in), keep_(keep), split_(splits_backward(in)), stages_(int(in.stages.size())), chunks_(int(in.stages[0].forward.size())) {
    turns_ = turns_of(stages_, chunks_, in.micro_batches);
    state_.resize(std::size_t(stages_));
    for (int s = 0; s < stages_; ++s) {
      Stage& stage = state_[std::size_t(s)];
      stage.forward_done.resize(turns_.size());
      stage.backward_done.resize(turns_.size());
      set_order(stage, s);
    }
    result_.stage_end.assign(std::size_t(stages_), 0);
    result_.busy.assign(std::size_t(stages_), 0);
  }

  PipelineResult run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int s = 0; s < stages_; ++s) {
        while (advance(s)) moved = true;
      }
    }
    for (std::size_t s = 0; s < state_.size(); ++s) {
      assert(state_[s].backwards == total());
      if (split_ && chunks_ == 1) result_.stage_end[s] -= state_[s].begun;
      result_.end = std::max(result_.end, result_.stage_end[s]);
    }
    return std::move(result_);
  }

 private:
  int total() const { return int(turns_.size()); }

  void set_order(Stage& stage, int s) const {
    const int behind = stages_ - s - 1;
    stage.ahead = behind;
    if (in_.schedule == workload::Schedule::gpipe) {
      stage.ahead = total();
    } else if (chunks_ > 1) {  // Megatron's warm-up
      stage.ahead = 2 * behind + (chunks_ - 1) * turns_.front().round;
    } else if (in_.schedule == workload::Schedule::zero_bubble_2p) {  // 2p − 1 micro-batches in flight on every stage
      stage.ahead = 2 * behind;
      stage.put_off = 2 * s;
    } else if (split_) {  // p
      stage.put_off = s;
    }
  }

  Part next_part(const Stage& stage) const {
    const bool backwards_over = stage.backwards == total();
    if (split_ && stage.weights < stage.backwards) {
      if (backwards_over || (stage.last == Part::backward && stage.backwards - stage.weights > stage.put_off)) return Part::weight;
    }
    return stage.forwards < total() && stage.forwards - stage.backwards <= stage.ahead ? Part::forward : Part::backward;
  }

  Picoseconds arrived(bool done, Picoseconds at) const { return done ? at + (stages_ > 1 ? in_.transfer : 0) : kUnknown; }

  // When the input of a forward has arrived; kUnknown while its producer has not run.
  Picoseconds forward_input(int s, const Stage& stage) const {
    const int i = stage.forwards;
    if (s > 0) {
      const Stage& before = state_[std::size_t(s) - 1];
      return arrived(before.forwards > i, before.forward_done[std::size_t(i)]);
    }
    const Turn& turn = turns_[std::size_t(i)];
    if (turn.chunk == 0) return 0;
    const Stage& last = state_.back();  // the chunk before ends there, one round earlier
    return arrived(last.forwards > i - turn.round, last.forward_done[std::size_t(i - turn.round)]);
  }

  Picoseconds backward_input(int s, const Stage& stage) const {
    const int i = stage.backwards;
    if (s < stages_ - 1) {
      const Stage& behind = state_[std::size_t(s) + 1];
      return arrived(behind.backwards > i, behind.backward_done[std::size_t(i)]);
    }
    const Turn& turn = turns_[std::size_t(i)];
    if (turn.chunk > 0) {
      const Stage& first = state_.front();
      return arrived(first.backwards > i - turn.round, first.backward_done[std::size_t(i - turn.round)]);
    }
    const int forward = i + (chunks_ - 1) * turn.round;  // the same micro-batch in the last chunk
    return stage.forwards > forward ? stage.forward_done[std::size_t(forward)] : kUnknown;
  }

  bool advance(int s) {
    Stage& stage = state_[std::size_t(s)];
    if (stage.backwards == total() && (!split_ || stage.weights == total())) return false;
    const StageCost& cost = in_.stages[std::size_t(s)];
    const Part part = next_part(stage);
    int& index = part == Part::forward ? stage.forwards : part == Part::backward ? stage.backwards : stage.weights;
    const Turn& turn = turns_[std::size_t(index)];
    const auto chunk = std::size_t(part == Part::forward ? turn.chunk : chunks_ - 1 - turn.chunk);
    const Picoseconds copy = in_.blocking && stages_ > 1 ? in_.transfer : 0, weight = split_ ? cost.weight_gradient[chunk] : 0;
    Picoseconds input = kUnknown, length = 0;
    switch (part) {
      case Part::forward: input = forward_input(s, stage), length = copy + cost.forward[chunk]; break;
      case Part::backward: input = backward_input(s, stage), length = copy + cost.backward[chunk] - weight; break;
      case Part::weight: input = stage.backward_done[std::size_t(index)], length = weight; break;
    }
    if (input == kUnknown) return false;
    const Picoseconds start = std::max(result_.stage_end[std::size_t(s)], input), end = start + length;
    if (part == Part::forward) stage.forward_done[std::size_t(index)] = end;
    if (part == Part::backward) stage.backward_done[std::size_t(index)] = end;
    if (stage.begun == kUnknown) stage.begun = start;
    ++index;
    stage.last = part;
    result_.stage_end[std::size_t(s)] = end;
    result_.busy[std::size_t(s)] += length;
    if (keep_) result_.slots.push_back({s, int(chunk), turn.micro, part != Part::forward, start, end, part == Part::weight});
    return true;
  }

  const PipelineInput& in_;
  bool keep_, split_;
  int stages_, chunks_;
  std::vector<Turn> turns_;
  std::vector<Stage> state_;
  PipelineResult result_;
};

// One stage waits for nobody.
PipelineResult alone(const PipelineInput& in) {
  Picoseconds once = 0;
  for (Picoseconds t : in.stages[0].forward) once += t;
  for (Picoseconds t : in.stages[0].backward) once += t;
  const Picoseconds end = once * in.micro_batches;
  return {end, {end}, {end}, {}};
}

}  // namespace

PipelineResult run_pipeline(const PipelineInput& input, bool keep_slots) {
  if (input.stages.size() == 1 && !keep_slots) return alone(input);
  return Simulation(input, keep_slots).run();
}

}  // namespace trunkline::timeline
