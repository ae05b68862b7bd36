#include <algorithm>
#include <vector>

#include "report/json_io.hpp"
#include "report/predict_report.hpp"

namespace trunkline::report {

using predict::Prediction;
using timeline::PipelineSlot;

namespace {

// One pipeline stage's step as events that follow each other without a gap or an overlap: their durations add up to the step.
class Lane {
 public:
  Lane(std::size_t process, int stage, Picoseconds start, Json& events) : process_(process), stage_(stage), now_(start), events_(events) {}

  void wait_until(Picoseconds time) {
    if (time > now_) add("wait", "bubble", time - now_);
  }

  void add(const std::string& name, const char* category, Picoseconds length, const Json& about = Json::object()) {
    if (length <= 0) return;
    constexpr double kMicrosecond = 1e-6;  // of a picosecond
    events_.push_back({{"name", name},
                       {"cat", category},
                       {"ph", "X"},
                       {"pid", process_},
                       {"tid", stage_},
                       {"ts", double(now_) * kMicrosecond},
                       {"dur", double(length) * kMicrosecond},
                       {"args", about}});
    now_ += length;
  }

  Picoseconds now() const { return now_; }

 private:
  std::size_t process_;
  int stage_;
  Picoseconds now_;
  Json& events_;
};

Json lane_name(std::size_t process, int stage, const std::string& name) {
  return {{"name", stage < 0 ? "process_name" : "thread_name"},
          {"ph", "M"},
          {"pid", process},
          {"tid", std::max(stage, 0)},
          {"args", {{"name", name}}}};
}

// F forward, B backward, W the weight gradients that a zero-bubble schedule puts off.
void add_pass(const PipelineSlot& slot, Lane& lane) {
  const char* letter = slot.weight ? "W" : slot.backward ? "B" : "F";
  const char* category = slot.weight ? "weight gradients" : slot.backward ? "backward" : "forward";
  lane.add(letter + std::to_string(slot.micro_batch), category, slot.end - slot.start,
           {{"micro_batch", slot.micro_batch}, {"chunk", slot.chunk}});
}

void add_prediction(const Prediction& p, std::size_t process, Json& events) {
  events.push_back(lane_name(process, -1, p.platform));
  std::vector<std::vector<const PipelineSlot*>> passes(p.lanes.size());
  for (const PipelineSlot& slot : p.slots) passes[std::size_t(slot.stage)].push_back(&slot);
  std::vector<Lane> lanes;
  Picoseconds reduced = 0;  // all stages have their gradients, each on its own clock
  for (std::size_t s = 0; s < p.lanes.size(); ++s) {
    const auto& stage = p.lanes[s];
    events.push_back(lane_name(process, int(s), "stage " + std::to_string(s)));
    Lane& lane = lanes.emplace_back(process, int(s), stage.start, events);
    lane.add("fetch weights", "communication", stage.fetch);
    for (const PipelineSlot* slot : passes[s]) {
      lane.wait_until(slot->start + stage.fetch);
      add_pass(*slot, lane);
    }
    lane.add("reduce gradients", "communication", stage.reduce);
    reduced = std::max(reduced, lane.now() - stage.start);
  }
  const auto& b = p.breakdown;
  const Picoseconds step = Picoseconds::from_seconds(b.compute_s + b.exposed_comm_s + b.bubble_s + b.other_s);
  for (std::size_t s = 0; s < lanes.size(); ++s) {
    const Picoseconds start = p.lanes[s].start;
    lanes[s].wait_until(start + reduced);
    lanes[s].add("update", "optimizer", std::min(p.lanes[s].update, start + step - lanes[s].now()));
    lanes[s].wait_until(start + step);
    lanes[s].add("wait for data", "data", Picoseconds::from_seconds(b.data_wait_s));
    lanes[s].add("checkpoint, its share", "checkpoint", Picoseconds::from_seconds(b.checkpoint_s));
  }
}

}  // namespace

std::string timeline_json(const PredictionSet& set, const Context& context) {
  Json out;
  out["traceEvents"] = Json::array();
  for (std::size_t i = 0; i < set.entries.size(); ++i) {
    if (set.entries[i].prediction) add_prediction(*set.entries[i].prediction, i, out["traceEvents"]);
  }
  out["displayTimeUnit"] = "ms";
  out["otherData"] = context_json(context);
  return out.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace trunkline::report
