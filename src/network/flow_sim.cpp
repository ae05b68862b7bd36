#include "network/flow_sim.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::network {
namespace {

constexpr double kPicosecondsPerSecond = 1e12;
constexpr double kLatest = 9.2e18;

struct LaterStart {
  template <class Waiting>
  bool operator()(const Waiting& a, const Waiting& b) const {
    return a.start > b.start || (a.start == b.start && a.flow > b.flow);
  }
};

}  // namespace

Picoseconds picoseconds(Seconds t) {
  const double exact = t.si() * kPicosecondsPerSecond;
  return exact >= kLatest ? kNever : Picoseconds(std::llround(exact));
}

FlowSim::FlowSim(std::span<const double> capacities, Options options)
    : options_(options), sharing_(capacities, MaxMin::Options{options.tolerance, 1}), clocks_(capacities.size()) {}

FlowId FlowSim::add(std::span<const LinkId> path, Bytes size, Picoseconds start, const FlowOptions& options) {
  path_.clear();
  for (const LinkId link : path) {
    if (sharing_.capacity(link) < kUnlimited) path_.push_back({link, 1});
  }
  return add_path(size, start, options);
}

FlowId FlowSim::add(std::span<const Hop> path, Bytes size, Picoseconds start, const FlowOptions& options) {
  path_.clear();
  for (const Hop& hop : path) {
    if (sharing_.capacity(hop.link) < kUnlimited) path_.push_back(hop);
  }
  return add_path(size, start, options);
}

FlowId FlowSim::add_path(Bytes size, Picoseconds start, const FlowOptions& options) {
  const auto id = FlowId(flows_.size());
  Flow flow;
  flow.weight = options.weight;
  flow.start = std::max(start, now_);
  flow.latency = picoseconds(options.latency);
  flows_.push_back(flow);
  Waiting waiting{flow.start, id, 0, std::uint32_t(path_.size()), double(size.count()), options.cap.si()};
  if (!path_.empty()) {
    waiting.begin = paths_.take(waiting.size);
    std::copy(path_.begin(), path_.end(), paths_.at(waiting.begin));
  }
  waiting_.push_back(waiting);
  std::push_heap(waiting_.begin(), waiting_.end(), LaterStart());
  return id;
}

std::optional<Picoseconds> FlowSim::completion(FlowId id) const {
  const Flow& flow = flows_[id];
  if (flow.done == kNever) return std::nullopt;
  return flow.latency < kNever - flow.done ? flow.done + flow.latency : kNever;
}

Bandwidth FlowSim::rate(FlowId id) const {
  const Flow& flow = flows_[id];
  if (flow.bundle == kAbsent || flow.done != kNever) return Bandwidth();
  return byte_per_s(flow.weight * sharing_.level(flow.bundle));
}

bool FlowSim::step() {
  finished_.clear();
  while (finished_.empty()) {
    const Picoseconds start = waiting_.empty() ? kNever : waiting_.front().start;
    const Picoseconds finish = queue_.empty() ? kNever : clocks_[queue_.front()].due;
    if (start == kNever && finish == kNever) return false;
    const Picoseconds end = finish < start ? std::min(window_end(), start) : start;
    finish_due(end);
    now_ = end;
    leave_finished();
    start_due(end);
    share_anew();
  }
  std::sort(finished_.begin(), finished_.end(),
            [&](FlowId a, FlowId b) { return flows_[a].done < flows_[b].done || (flows_[a].done == flows_[b].done && a < b); });
  return true;
}

// --- clocks ----------------------------------------------------------------------------------------------------------------

std::uint32_t FlowSim::clock_of(BundleId bundle, std::uint32_t bottleneck) const {
  return bottleneck == MaxMin::kOwnCap ? std::uint32_t(sharing_.links()) + bundle : bottleneck;
}

double FlowSim::served(const Clock& clock) const {
  return clock.served + clock.rate * (double(now_ - clock.since) / kPicosecondsPerSecond);
}

Picoseconds FlowSim::due(const Clock& clock, double target) const {
  if (!(clock.rate > 0) || !(target < kUnlimited)) return kNever;
  const double wait = (target - clock.served) / clock.rate * kPicosecondsPerSecond;
  if (!(double(clock.since) + wait < kLatest)) return kNever;
  return std::max(now_, clock.since + Picoseconds(std::llround(wait)));
}

void FlowSim::look_up_target(std::uint32_t id) {
  double target = kUnlimited;
  const auto see = [&](BundleId bundle) {
    const auto& state = bundles_[bundle];
    if (state.first != kAbsent) target = std::min(target, flows_[state.first].target + state.shift);
  };
  if (id < sharing_.links()) {
    sharing_.for_each_limited_by(id, see);
  } else if (const BundleId bundle = id - std::uint32_t(sharing_.links()); bundles_[bundle].clock == id) {
    see(bundle);
  }
  clocks_[id].target = target;
  clocks_[id].stale = false;
}

// From now on the clock runs at `rate`.
void FlowSim::refresh(std::uint32_t id, double rate) {
  Clock& clock = clocks_[id];
  clock.served = served(clock);
  clock.since = now_;
  clock.rate = rate;
  if (clock.stale) look_up_target(id);
  clock.due = due(clock, clock.target);
  requeue(id);
}

// --- finishing -------------------------------------------------------------------------------------------------------------

// The end of the window that the next finish opens.
Picoseconds FlowSim::window_end() const {
  const std::uint32_t id = queue_.front();
  const Clock& clock = clocks_[id];
  if (!(options_.tolerance > 0)) return clock.due;
  Picoseconds latest_start = 0;  // of the flows that finish now: the shortest duration counts
  const auto see = [&](BundleId bundle) {
    const auto& state = bundles_[bundle];
    if (state.first == kAbsent || flows_[state.first].target + state.shift > clock.target) return;
    latest_start = std::max(latest_start, flows_[state.first].start);
  };
  if (id < sharing_.links()) {
    sharing_.for_each_limited_by(id, see);
  } else {
    see(id - std::uint32_t(sharing_.links()));
  }
  const double window = options_.tolerance * double(clock.due - latest_start);
  return window < double(kNever - clock.due) ? clock.due + Picoseconds(window) : clock.due;
}

void FlowSim::finish_due(Picoseconds end) {
  const auto links = std::uint32_t(sharing_.links());
  while (!queue_.empty() && clocks_[queue_.front()].due <= end) {
    const std::uint32_t id = queue_.front();
    if (id < links) {
      sharing_.for_each_limited_by(id, [&](BundleId bundle) { finish_bundle(bundle, id, end); });
    } else {
      finish_bundle(id - links, id, end);
    }
    look_up_target(id);
    clocks_[id].due = due(clocks_[id], clocks_[id].target);
    requeue(id);
  }
}

void FlowSim::finish_bundle(BundleId id, std::uint32_t clock, Picoseconds end) {
  BundleState& bundle = bundles_[id];
  while (bundle.first != kAbsent) {
    Flow& flow = flows_[bundle.first];
    const Picoseconds at = due(clocks_[clock], flow.target + bundle.shift);
    if (at > end) return;
    flow.done = at;
    finished_.push_back(bundle.first);
    bundle.first = without_first(bundle.first);
  }
}

void FlowSim::leave_finished() {
  for (const FlowId id : finished_) {
    const BundleId bundle = flows_[id].bundle;
    sharing_.leave(bundle, flows_[id].weight);
    if (bundles_[bundle].first == kAbsent) bundles_[bundle].clock = kAbsent;
  }
}

// --- starting --------------------------------------------------------------------------------------------------------------

void FlowSim::start_due(Picoseconds end) {
  while (!waiting_.empty() && waiting_.front().start <= end) {
    const Waiting waiting = waiting_.front();
    std::pop_heap(waiting_.begin(), waiting_.end(), LaterStart());
    waiting_.pop_back();
    start_flow(waiting);
  }
}

void FlowSim::start_flow(const Waiting& waiting) {
  Flow& flow = flows_[waiting.flow];
  if (waiting.bytes <= 0 || (waiting.size == 0 && !(waiting.cap < kUnlimited))) {
    flow.done = flow.start;
    finished_.push_back(waiting.flow);
  } else {
    flow.bundle = sharing_.join(std::span<const Hop>(paths_.at(waiting.begin), waiting.size), flow.weight, waiting.cap);
    if (flow.bundle >= bundles_.size()) {
      bundles_.resize(flow.bundle + 1);
      clocks_.resize(sharing_.links() + bundles_.size());
    }
    BundleState& bundle = bundles_[flow.bundle];
    if (bundle.first == kAbsent) bundle = BundleState();
    const double before = bundle.clock == kAbsent ? 0 : served(clocks_[bundle.clock]) - bundle.shift;
    flow.target = before + waiting.bytes / flow.weight;
    bundle.first = merged(bundle.first, waiting.flow);
    if (bundle.clock != kAbsent) {
      clocks_[bundle.clock].stale = true;
      if (bundle.clock >= sharing_.links()) refresh(bundle.clock, clocks_[bundle.clock].rate);  // a link is refreshed after sharing
    }
  }
  if (waiting.size > 0) paths_.give_back(waiting.begin, waiting.size);
}

// --- sharing ---------------------------------------------------------------------------------------------------------------

void FlowSim::share_anew() {
  sharing_.solve();
  ++counts_.solves;
  counts_.changed_links += sharing_.changed_links().size();
  counts_.moved_bundles += sharing_.moves().size();
  for (const auto& move : sharing_.moves()) move_bundle(move);
  for (const LinkId link : sharing_.changed_links()) {
    const double level = sharing_.link_level(link);
    refresh(link, level < kUnlimited ? level : 0);
  }
}

void FlowSim::move_bundle(const MaxMin::Move& move) {
  BundleState& bundle = bundles_[move.bundle];
  double done = 0;
  if (bundle.clock != kAbsent) {
    Clock& from = clocks_[bundle.clock];
    done = served(from) - bundle.shift;
    if (flows_[bundle.first].target + bundle.shift <= from.target) from.stale = true;
    if (move.from == MaxMin::kOwnCap) {
      from.target = kUnlimited;
      refresh(bundle.clock, 0);
    }
  }
  bundle.clock = clock_of(move.bundle, sharing_.bottleneck(move.bundle));
  Clock& to = clocks_[bundle.clock];
  bundle.shift = served(to) - done;
  to.target = std::min(to.target, flows_[bundle.first].target + bundle.shift);
  if (sharing_.bottleneck(move.bundle) == MaxMin::kOwnCap) refresh(bundle.clock, sharing_.level(move.bundle));
}

// --- heaps -----------------------------------------------------------------------------------------------------------------

// Pairing heap by (target, id).
FlowId FlowSim::merged(FlowId a, FlowId b) {
  if (a == kAbsent) return b;
  if (b == kAbsent) return a;
  if (flows_[b].target < flows_[a].target || (flows_[b].target == flows_[a].target && b < a)) std::swap(a, b);
  flows_[b].sibling = flows_[a].child;
  flows_[a].child = b;
  return a;
}

FlowId FlowSim::without_first(FlowId first) {
  merging_.clear();
  for (FlowId child = flows_[first].child; child != kAbsent;) {
    const FlowId a = child, b = flows_[a].sibling;
    child = b == kAbsent ? kAbsent : flows_[b].sibling;
    flows_[a].sibling = kAbsent;
    if (b != kAbsent) flows_[b].sibling = kAbsent;
    merging_.push_back(merged(a, b));
  }
  FlowId top = kAbsent;
  for (auto it = merging_.rbegin(); it != merging_.rend(); ++it) top = merged(top, *it);
  return top;
}

bool FlowSim::earlier(std::uint32_t a, std::uint32_t b) const {
  return clocks_[a].due < clocks_[b].due || (clocks_[a].due == clocks_[b].due && a < b);
}

// Puts a clock where its due time belongs.
void FlowSim::requeue(std::uint32_t id) {
  Clock& clock = clocks_[id];
  if (clock.due == kNever) {
    if (clock.place == kAbsent) return;
    const std::size_t place = clock.place;
    clock.place = kAbsent;
    const std::uint32_t last = queue_.back();
    queue_.pop_back();
    if (place == queue_.size()) return;
    queue_[place] = last;
    clocks_[last].place = std::uint32_t(place);
    sift_up(place);
    sift_down(clocks_[last].place);
    return;
  }
  if (clock.place == kAbsent) {
    clock.place = std::uint32_t(queue_.size());
    queue_.push_back(id);
  }
  sift_up(clock.place);
  sift_down(clock.place);
}

void FlowSim::sift_up(std::size_t place) {
  const std::uint32_t id = queue_[place];
  while (place > 0) {
    const std::size_t parent = (place - 1) / 4;
    if (!earlier(id, queue_[parent])) break;
    queue_[place] = queue_[parent];
    clocks_[queue_[place]].place = std::uint32_t(place);
    place = parent;
  }
  queue_[place] = id;
  clocks_[id].place = std::uint32_t(place);
}

void FlowSim::sift_down(std::size_t place) {
  const std::uint32_t id = queue_[place];
  for (;;) {
    const std::size_t first = place * 4 + 1;
    if (first >= queue_.size()) break;
    std::size_t best = first;
    for (std::size_t i = first + 1; i < std::min(first + 4, queue_.size()); ++i) {
      if (earlier(queue_[i], queue_[best])) best = i;
    }
    if (!earlier(queue_[best], id)) break;
    queue_[place] = queue_[best];
    clocks_[queue_[place]].place = std::uint32_t(place);
    place = best;
  }
  queue_[place] = id;
  clocks_[id].place = std::uint32_t(place);
}

}  // namespace trunkline::network
