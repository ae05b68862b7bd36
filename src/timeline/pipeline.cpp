#include "timeline/pipeline.hpp"

#include <algorithm>
#include <cassert>
#include <limits>

namespace trunkline::timeline {
namespace {

constexpr Picoseconds kUnknown = std::numeric_limits<Picoseconds>::min();

enum class Part { forward, backward, weight };

struct Task {
  int chunk = 0, micro = 0;
  Part part = Part::forward;
};

// How micro-batches go through the chunks of an interleaved pipeline: in rounds, a round through every chunk before the next
// one. A round has as many micro-batches as there are stages; where they do not divide, some rounds have one or more
// micro-batches more (PyTorch's rule; Megatron accepts no remainder), and with fewer than stages there is one round.
struct Rounds {
  int chunks = 1;
  int larger = 0, size = 1;  // `larger` rounds of size + 1, then rounds of `size`

  static Rounds of(int stages, int chunks, int micro_batches) {
    const int rounds = std::max(1, micro_batches / stages);
    return {chunks, micro_batches % rounds, micro_batches / rounds};
  }

  int largest() const { return size + (larger > 0 ? 1 : 0); }

  Task task(int index, Part part) const {
    const int in_larger = larger * (size + 1) * chunks;
    const bool first = index < in_larger;
    const int length = first ? size + 1 : size, from = first ? index : index - in_larger;
    const int round = from / (length * chunks), within = from % (length * chunks);
    const int micro = (first ? 0 : larger * (size + 1)) + round * length + within % length, chunk = within / length;
    return {part == Part::forward ? chunk : chunks - 1 - chunk, micro, part};
  }
};

// The tasks of one stage, one after the other. The order follows from the counts alone, never from how long tasks take: a
// schedule is fixed before the step, and so nothing that gets faster can make a step slower.
class StageOrder {
 public:
  StageOrder(const PipelineInput& in, int stage)
      : rounds_(Rounds::of(int(in.stages.size()), int(in.stages[0].forward.size()), in.micro_batches)) {
    const int chunks = rounds_.chunks;
    total_ = in.micro_batches * chunks;
    const int behind = int(in.stages.size()) - stage - 1;
    split_ = splits_backward(in);
    if (in.schedule == workload::Schedule::gpipe) {
      ahead_ = total_;
    } else if (chunks > 1) {  // Megatron's warm-up
      ahead_ = 2 * behind + (chunks - 1) * rounds_.largest();
    } else if (in.schedule == workload::Schedule::zero_bubble_2p) {
      ahead_ = 2 * behind;
      put_off_ = 2 * stage;
    } else {
      ahead_ = behind;
      put_off_ = split_ ? stage : 0;
    }
    find();
  }

  static bool splits_backward(const PipelineInput& in) {
    const bool zero_bubble = in.schedule == workload::Schedule::zero_bubble_1p || in.schedule == workload::Schedule::zero_bubble_2p;
    return zero_bubble && in.stages.size() > 1;
  }

  bool done() const { return done_; }
  const Task& task() const { return task_; }

  void next() {
    ++(task_.part == Part::forward ? forwards_ : task_.part == Part::backward ? backwards_ : weights_);
    find();
  }

 private:
  // `ahead` forwards more than backwards are begun, then one of each in turn. Split backwards leave up to `put_off` weight
  // gradients for later, when nothing else can run: p micro-batches in flight on every stage, or 2p − 1.
  void find() {
    const bool forward_turn = forwards_ < total_ && forwards_ - backwards_ <= ahead_;
    const bool rest = backwards_ == total_;
    if (split_ && weights_ < backwards_ && (rest || (task_.part == Part::backward && backwards_ - weights_ > put_off_))) {
      task_ = rounds_.task(weights_, Part::weight);
    } else if (rest) {
      done_ = true;
    } else if (forward_turn) {
      task_ = rounds_.task(forwards_, Part::forward);
    } else {
      task_ = rounds_.task(backwards_, Part::backward);
    }
  }

  Rounds rounds_;
  int total_ = 0, ahead_ = 0, put_off_ = 0;
  int forwards_ = 0, backwards_ = 0, weights_ = 0;
  bool split_ = false, done_ = false;
  Task task_;
};

class Simulation {
 public:
  Simulation(const PipelineInput& in, bool keep)
      : in_(in),
        keep_(keep),
        split_(StageOrder::splits_backward(in)),
        stages_(int(in.stages.size())),
        chunks_(int(in.stages[0].forward.size())) {
    const std::size_t cells = std::size_t(stages_) * std::size_t(chunks_) * std::size_t(in.micro_batches);
    forward_done_.assign(cells, kUnknown);
    backward_done_.assign(cells, kUnknown);
    for (int s = 0; s < stages_; ++s) orders_.emplace_back(in, s);
    begun_.assign(std::size_t(stages_), kUnknown);
    result_.stage_end.assign(std::size_t(stages_), 0);
    result_.busy.assign(std::size_t(stages_), 0);
    result_.last_backward.assign(std::size_t(stages_), 0);
  }

  PipelineResult run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (int s = 0; s < stages_; ++s) {
        StageOrder& order = orders_[std::size_t(s)];
        while (!order.done() && advance(s, order.task())) {
          order.next();
          moved = true;
        }
      }
    }
    for (std::size_t s = 0; s < orders_.size(); ++s) {
      assert(orders_[s].done());
      if (split_) result_.stage_end[s] -= begun_[s];
      result_.end = std::max(result_.end, result_.stage_end[s]);
    }
    return std::move(result_);
  }

 private:
  std::size_t cell(int stage, int chunk, int micro) const {
    return (std::size_t(micro) * std::size_t(chunks_) + std::size_t(chunk)) * std::size_t(stages_) + std::size_t(stage);
  }

  // When the input of `task` has arrived at `stage`; kUnknown while its producer has not run.
  Picoseconds ready(int stage, const Task& task) const {
    if (task.part == Part::forward) {
      if (stage > 0) return arrived(forward_done_[cell(stage - 1, task.chunk, task.micro)]);
      if (task.chunk > 0) return arrived(forward_done_[cell(stages_ - 1, task.chunk - 1, task.micro)]);
      return 0;
    }
    if (task.part == Part::weight) return backward_done_[cell(stage, task.chunk, task.micro)];
    if (stage < stages_ - 1) return arrived(backward_done_[cell(stage + 1, task.chunk, task.micro)]);
    if (task.chunk < chunks_ - 1) return arrived(backward_done_[cell(0, task.chunk + 1, task.micro)]);
    return forward_done_[cell(stage, task.chunk, task.micro)];
  }

  Picoseconds arrived(Picoseconds done) const { return done == kUnknown ? kUnknown : done + (stages_ > 1 ? in_.transfer : 0); }

  Picoseconds length_of(const StageCost& cost, const Task& task) const {
    const auto c = std::size_t(task.chunk);
    const Picoseconds weight = split_ ? cost.weight_gradient[c] : 0;
    if (task.part == Part::weight) return weight;
    const Picoseconds copy = in_.blocking && stages_ > 1 ? in_.transfer : 0;
    return copy + (task.part == Part::forward ? cost.forward[c] : cost.backward[c] - weight);
  }

  bool advance(int stage, const Task& task) {
    const Picoseconds at = ready(stage, task);
    if (at == kUnknown) return false;
    const auto s = std::size_t(stage);
    const Picoseconds length = length_of(in_.stages[s], task), start = std::max(result_.stage_end[s], at), end = start + length;
    if (task.part == Part::forward) forward_done_[cell(stage, task.chunk, task.micro)] = end;
    if (task.part == Part::backward) backward_done_[cell(stage, task.chunk, task.micro)] = end;
    if (begun_[s] == kUnknown) begun_[s] = start;
    result_.stage_end[s] = end;
    result_.busy[s] += length;
    if (task.part != Part::forward && task.micro == in_.micro_batches - 1) result_.last_backward[s] += length;
    if (keep_) result_.slots.push_back({stage, task.chunk, task.micro, task.part != Part::forward, start, end, task.part == Part::weight});
    return true;
  }

  const PipelineInput& in_;
  bool keep_, split_;
  int stages_, chunks_;
  std::vector<StageOrder> orders_;
  std::vector<Picoseconds> forward_done_, backward_done_, begun_;
  PipelineResult result_;
};

}  // namespace

PipelineResult run_pipeline(const PipelineInput& input, bool keep_slots) { return Simulation(input, keep_slots).run(); }

}  // namespace trunkline::timeline
