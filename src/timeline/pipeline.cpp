#include "timeline/pipeline.hpp"

#include <algorithm>
#include <limits>

namespace trunkline::timeline {
namespace {

constexpr Picoseconds kUnknown = std::numeric_limits<Picoseconds>::min();

struct Task {
  int chunk = 0, micro = 0;
  bool backward = false;
};

// Megatron's order: micro-batches go round in groups of `stages`, a group through every chunk before the next group.
Task interleaved_task(int index, int stages, int chunks, int micro_batches, bool backward) {
  const int group = stages * chunks;
  const int within = index % group;
  int chunk = within / stages;
  // The last group may be short when micro-batches do not divide by stages.
  const int first_micro = (index / group) * stages;
  const int in_group = std::min(stages, micro_batches - first_micro);
  int micro = first_micro + within % stages;
  if (in_group < stages) {
    const int rest = index - first_micro * chunks;
    chunk = rest / in_group;
    micro = first_micro + rest % in_group;
  }
  return {backward ? chunks - 1 - chunk : chunk, micro, backward};
}

std::vector<Task> order_of(const PipelineInput& in, int stage) {
  const int stages = int(in.stages.size()), chunks = int(in.stages[0].forward.size()), m = in.micro_batches;
  const int total = m * chunks;
  int warmup = 0;
  if (in.schedule == workload::Schedule::gpipe) warmup = total;
  else if (chunks > 1) warmup = std::min(total, (stages - stage - 1) * 2 + (chunks - 1) * stages);
  else warmup = std::min(total, stages - stage - 1);
  std::vector<Task> order;
  order.reserve(std::size_t(2 * total));
  int f = 0, b = 0;
  for (; f < warmup; ++f) order.push_back(interleaved_task(f, stages, chunks, m, false));
  while (f < total) {
    order.push_back(interleaved_task(f++, stages, chunks, m, false));
    order.push_back(interleaved_task(b++, stages, chunks, m, true));
  }
  while (b < total) order.push_back(interleaved_task(b++, stages, chunks, m, true));
  return order;
}

class FixedOrder {
 public:
  FixedOrder(const PipelineInput& in, bool keep) : in_(in), keep_(keep), stages_(int(in.stages.size())), chunks_(int(in.stages[0].forward.size())) {
    const std::size_t cells = std::size_t(stages_) * std::size_t(chunks_) * std::size_t(in.micro_batches);
    forward_done_.assign(cells, kUnknown);
    backward_done_.assign(cells, kUnknown);
    for (int s = 0; s < stages_; ++s) orders_.push_back(order_of(in, s));
    result_.stage_end.assign(std::size_t(stages_), 0);
    result_.busy.assign(std::size_t(stages_), 0);
    result_.last_backward.assign(std::size_t(stages_), 0);
  }

  PipelineResult run() {
    std::vector<std::size_t> next(std::size_t(stages_), 0);
    bool moved = true;
    while (moved) {
      moved = false;
      for (int s = 0; s < stages_; ++s) {
        while (next[std::size_t(s)] < orders_[std::size_t(s)].size() && advance(s, orders_[std::size_t(s)][next[std::size_t(s)]])) {
          ++next[std::size_t(s)];
          moved = true;
        }
      }
    }
    for (Picoseconds end : result_.stage_end) result_.end = std::max(result_.end, end);
    return std::move(result_);
  }

 private:
  std::size_t cell(int stage, int chunk, int micro) const {
    return (std::size_t(micro) * std::size_t(chunks_) + std::size_t(chunk)) * std::size_t(stages_) + std::size_t(stage);
  }

  // When the input of `task` has arrived at `stage`; kUnknown while its producer has not run.
  Picoseconds ready(int stage, const Task& task) const {
    if (!task.backward) {
      if (stage > 0) return arrived(forward_done_[cell(stage - 1, task.chunk, task.micro)]);
      if (task.chunk > 0) return arrived(forward_done_[cell(stages_ - 1, task.chunk - 1, task.micro)]);
      return 0;
    }
    if (stage < stages_ - 1) return arrived(backward_done_[cell(stage + 1, task.chunk, task.micro)]);
    if (task.chunk < chunks_ - 1) return arrived(backward_done_[cell(0, task.chunk + 1, task.micro)]);
    return forward_done_[cell(stage, task.chunk, task.micro)];
  }

  Picoseconds arrived(Picoseconds done) const { return done == kUnknown ? kUnknown : done + (stages_ > 1 ? in_.transfer : 0); }

  bool advance(int stage, const Task& task) {
    const Picoseconds at = ready(stage, task);
    if (at == kUnknown) return false;
    const auto s = std::size_t(stage);
    const StageCost& cost = in_.stages[s];
    Picoseconds length = task.backward ? cost.backward[std::size_t(task.chunk)] : cost.forward[std::size_t(task.chunk)];
    if (in_.blocking && stages_ > 1) length += in_.transfer;
    const Picoseconds start = std::max(result_.stage_end[s], at), end = start + length;
    (task.backward ? backward_done_ : forward_done_)[cell(stage, task.chunk, task.micro)] = end;
    result_.stage_end[s] = end;
    result_.busy[s] += length;
    if (task.backward && task.micro == in_.micro_batches - 1) result_.last_backward[s] += length;
    if (keep_) result_.slots.push_back({stage, task.chunk, task.micro, task.backward, start, end});
    return true;
  }

  const PipelineInput& in_;
  bool keep_;
  int stages_, chunks_;
  std::vector<std::vector<Task>> orders_;
  std::vector<Picoseconds> forward_done_, backward_done_;
  PipelineResult result_;
};

// Zero-bubble: backward is split; the input-gradient part is run as soon as it can, the weight-gradient part fills gaps.
class ZeroBubble {
 public:
  ZeroBubble(const PipelineInput& in, bool keep) : in_(in), keep_(keep), stages_(int(in.stages.size())), m_(in.micro_batches) {
    const std::size_t cells = std::size_t(stages_) * std::size_t(m_);
    forward_.assign(cells, kUnknown);
    backward_.assign(cells, kUnknown);
    state_.resize(std::size_t(stages_));
    result_.stage_end.assign(std::size_t(stages_), 0);
    result_.busy.assign(std::size_t(stages_), 0);
    result_.last_backward.assign(std::size_t(stages_), 0);
    limit_ = in.schedule == workload::Schedule::zero_bubble_2p ? 2 * stages_ - 1 : stages_;
  }

  PipelineResult run() {
    for (int done = 0; done < 3 * m_ * stages_; ++done) step();
    for (Picoseconds end : result_.stage_end) result_.end = std::max(result_.end, end);
    return std::move(result_);
  }

 private:
  struct State {
    int forwards = 0, backwards = 0, weights = 0;
  };
  enum class Pick { forward, backward, weight, none };
  struct Choice {
    Pick pick = Pick::none;
    Picoseconds start = std::numeric_limits<Picoseconds>::max();
  };

  std::size_t cell(int stage, int micro) const { return std::size_t(micro) * std::size_t(stages_) + std::size_t(stage); }

  Choice choose(int s) const {
    const State& st = state_[std::size_t(s)];
    const Picoseconds now = result_.stage_end[std::size_t(s)];
    Choice best;
    const auto consider = [&](Pick pick, Picoseconds at) {
      if (at == kUnknown) return;
      const Picoseconds start = std::max(now, at);
      if (start < best.start) best = {pick, start};
    };
    if (st.backwards < st.forwards) {
      const Picoseconds from = s == stages_ - 1 ? forward_[cell(s, st.backwards)] : backward_[cell(s + 1, st.backwards)];
      consider(Pick::backward, from == kUnknown ? kUnknown : from + (s == stages_ - 1 ? 0 : in_.transfer));
    }
    const int in_flight = st.forwards - (in_.schedule == workload::Schedule::zero_bubble_2p ? st.backwards : st.weights);
    const int limit = std::max(1, limit_ - (in_.schedule == workload::Schedule::zero_bubble_2p ? 2 * s : s));
    if (st.forwards < m_ && in_flight < limit) {
      const Picoseconds from = s == 0 ? 0 : forward_[cell(s - 1, st.forwards)];
      consider(Pick::forward, from == kUnknown ? kUnknown : from + (s == 0 ? 0 : in_.transfer));
    }
    if (st.weights < st.backwards) consider(Pick::weight, now);
    return best;
  }

  void step() {
    int stage = -1;
    Choice best;
    for (int s = 0; s < stages_; ++s) {
      const Choice c = choose(s);
      if (c.pick != Pick::none && (stage < 0 || c.start < best.start)) best = c, stage = s;
    }
    if (stage < 0) return;
    const auto s = std::size_t(stage);
    State& st = state_[s];
    const StageCost& cost = in_.stages[s];
    Picoseconds length = 0;
    if (best.pick == Pick::forward) {
      length = cost.forward[0];
      forward_[cell(stage, st.forwards++)] = best.start + length;
    } else if (best.pick == Pick::backward) {
      length = cost.backward[0] - cost.weight_gradient;
      backward_[cell(stage, st.backwards++)] = best.start + length;
    } else {
      length = cost.weight_gradient;
      ++st.weights;
    }
    result_.stage_end[s] = best.start + length;
    result_.busy[s] += length;
    if (best.pick == Pick::weight && st.weights == m_) result_.last_backward[s] = cost.backward[0];
    if (keep_) result_.slots.push_back({stage, 0, 0, best.pick != Pick::forward, best.start, best.start + length});
  }

  const PipelineInput& in_;
  bool keep_;
  int stages_, m_, limit_;
  std::vector<Picoseconds> forward_, backward_;
  std::vector<State> state_;
  PipelineResult result_;
};

}  // namespace

PipelineResult run_pipeline(const PipelineInput& input, bool keep_slots) {
  const bool zero_bubble = input.schedule == workload::Schedule::zero_bubble_1p || input.schedule == workload::Schedule::zero_bubble_2p;
  if (zero_bubble && input.stages.size() > 1) return ZeroBubble(input, keep_slots).run();
  return FixedOrder(input, keep_slots).run();
}

}  // namespace trunkline::timeline
