#include "network/collective_run.hpp"

#include <algorithm>
#include <numeric>

namespace trunkline::network {
namespace {

constexpr Bytes kEndless = Bytes(std::int64_t(1) << 60);  // of background: runs as long as anything else

// The fabric's links, then one NVLink port a GPU out and one in.
class Ports {
 public:
  Ports(const Fabric& fabric, const Machines& machines) : fabric_(fabric), machines_(machines), base_(LinkId(fabric.capacities().size())) {
    capacities_.assign(fabric.capacities().begin(), fabric.capacities().end());
    capacities_.resize(base_ + 2 * std::size_t(machines.ranks()), machines.gpu_links.si());
  }

  std::span<const double> capacities() const { return capacities_; }

  // The links of one of a transfer's queue pairs; false where the fabric has no way.
  bool route(const Transfer& transfer, int pair, const RoutingOptions& routing, std::vector<Hop>& hops) const {
    hops.clear();
    const bool inside = machines_.island_of(transfer.from) == machines_.island_of(transfer.to);
    const int leaves_at = inside ? transfer.to : transfer.via < 0 ? transfer.from : transfer.via;
    if (!inside && !fabric_.route({machines_.host_of(leaves_at), machines_.host_of(transfer.to), pair}, routing, hops)) return false;
    if (leaves_at != transfer.from && machines_.gpu_links.si() > 0) {
      hops.insert(hops.begin(), {Hop{out(transfer.from), 1}, Hop{in(leaves_at), 1}});
    }
    return true;
  }

  Seconds latency(const Transfer& transfer) const {
    if (machines_.island_of(transfer.from) == machines_.island_of(transfer.to)) return seconds(0);
    return fabric_.latency(machines_.host_of(transfer.via < 0 ? transfer.from : transfer.via), machines_.host_of(transfer.to));
  }

  // What a stage takes if nothing but its busiest port held it up; adds its loads to `loads`.
  double port_time(const Stage& stage, std::vector<double>& loads) const {
    std::vector<double> own(loads.size(), 0);
    const auto hosts = std::size_t(fabric_.hosts());
    for (const Transfer& t : stage.transfers) {
      const bool inside = machines_.island_of(t.from) == machines_.island_of(t.to);
      const int leaves_at = inside ? t.to : t.via < 0 ? t.from : t.via;
      const auto bytes = double(t.size.count());
      if (leaves_at != t.from && machines_.gpu_links.si() > 0) {
        own[2 * hosts + std::size_t(t.from)] += bytes / machines_.gpu_links.si();
        own[2 * hosts + std::size_t(machines_.ranks() + leaves_at)] += bytes / machines_.gpu_links.si();
      }
      if (inside) continue;
      const int source = machines_.host_of(leaves_at), sink = machines_.host_of(t.to);
      if (source == sink) continue;
      own[std::size_t(source)] += bytes / fabric_.host_rate(source, Direction::up).si();
      own[hosts + std::size_t(sink)] += bytes / fabric_.host_rate(sink, Direction::down).si();
    }
    for (std::size_t i = 0; i < loads.size(); ++i) loads[i] += own[i];
    return own.empty() ? 0 : *std::max_element(own.begin(), own.end());
  }
  std::size_t port_count() const { return 2 * std::size_t(fabric_.hosts()) + 2 * std::size_t(machines_.ranks()); }

 private:
  LinkId out(int rank) const { return base_ + LinkId(rank); }
  LinkId in(int rank) const { return base_ + LinkId(machines_.ranks() + rank); }

  const Fabric& fabric_;
  const Machines& machines_;
  LinkId base_;
  std::vector<double> capacities_;
};

struct Running {
  std::vector<Stage> stages;
  std::vector<Picoseconds> latency;  // of a stage
  Picoseconds begin = 0, end = 0;
  int pieces = 1;
  std::vector<Picoseconds> sent, done;  // by piece · stages + stage: last byte sent, last step there; −1 = not yet
};

// One stage of one piece, on its way.
struct Batch {
  std::size_t task = 0, piece = 0, stage = 0;
  std::size_t open = 0;  // flows
  Picoseconds last = 0;
};

class Play {
 public:
  Play(const Fabric& fabric, const Machines& machines, const CollectiveOptions& options)
      : fabric_(fabric),
        options_(options),
        routing_(options.run.routing),
        ports_(fabric, machines),
        sim_(ports_.capacities(), FlowSim::Options{options.run.tolerance}) {}

  Ports& ports() { return ports_; }
  std::vector<Running>& tasks() { return tasks_; }
  std::size_t flows() const { return flows_; }
  bool stuck() const { return stuck_; }

  // Another tenant's flows. Adaptive routing of ours goes around what they take when they are alone.
  void add_background() {
    if (options_.background.empty()) return;
    RoutingOptions theirs = options_.background_routing.value_or(routing_);
    theirs.wires = routing_.wires = true;
    MaxMin alone(fabric_.capacities());
    std::vector<Hop> hops;
    for (const Demand& demand : options_.background) {
      for (int q = 0; q < pairs(); ++q) {
        if (!fabric_.route({demand.source, demand.destination, q}, theirs, hops) || hops.empty()) continue;
        const Bytes size = demand.size.count() > 0 ? scaled(demand.size, 1.0 / pairs()) : kEndless;
        sim_.add(hops, size, picoseconds(demand.start));
        alone.join(hops);
        batch_of_.push_back(kNone);
      }
    }
    if (routing_.policy != topology::Routing::adaptive) return;
    alone.solve();
    auto busy = std::make_shared<std::vector<double>>(fabric_.capacities().size());
    for (LinkId link = 0; link < busy->size(); ++link) (*busy)[link] = alone.load(link);
    routing_.busy = std::move(busy);
  }

  void run() {
    for (std::size_t t = 0; t < tasks_.size(); ++t) begin(t, 0, 0, tasks_[t].begin);
    while (open_ > 0 && sim_.step()) {
      for (const FlowId flow : sim_.finished()) {
        const std::uint32_t b = batch_of_[flow];
        if (b == kNone) continue;
        batches_[b].last = std::max(batches_[b].last, *sim_.completion(flow));
        if (--batches_[b].open == 0) finish(Batch(batches_[b]));
      }
    }
    stuck_ = stuck_ || open_ > 0;
  }

 private:
  static constexpr std::uint32_t kNone = 0xFFFFFFFF;

  int pairs() const { return std::max(1, options_.run.queue_pairs); }

  // The same for all pieces; another for each transfer, whose hosts may be those of others.
  int queue_pair(std::size_t task, std::size_t transfer, int q) const {
    return int((task * 1'000'003 + transfer * std::size_t(pairs()) + std::size_t(q)) & 0x7FFFFFFF);
  }

  void begin(std::size_t task, std::size_t piece, std::size_t stage, Picoseconds start) {
    const Running& running = tasks_[task];
    Batch batch{task, piece, stage, 0, start};
    const auto id = std::uint32_t(batches_.size());
    batches_.push_back(batch);
    ++open_;
    const auto& transfers = running.stages[stage].transfers;
    for (std::size_t i = 0; i < transfers.size(); ++i) {
      const Transfer& transfer = transfers[i];
      const std::int64_t size = part(transfer.size.count(), piece, std::size_t(running.pieces));
      for (int q = 0; q < pairs(); ++q) {
        if (!ports_.route(transfer, queue_pair(task, i, q), routing_, hops_)) stuck_ = true;
        const std::int64_t bytes = part(size, std::size_t(q), std::size_t(pairs()));
        if (hops_.empty() || bytes == 0) continue;
        sim_.add(hops_, Bytes(bytes), start);
        batch_of_.push_back(id);
        ++batches_[id].open;
        ++flows_;
      }
    }
    if (batches_[id].open == 0) finish(Batch(batches_[id]));
  }

  static std::int64_t part(std::int64_t size, std::size_t index, std::size_t parts) {
    const auto n = std::int64_t(parts), i = std::int64_t(index);
    return size / n + (i < size % n ? 1 : 0);
  }

  void finish(const Batch& batch) {
    --open_;
    Running& running = tasks_[batch.task];
    const std::size_t stages = running.stages.size();
    const Picoseconds end = batch.last + running.latency[batch.stage];
    running.sent[batch.piece * stages + batch.stage] = batch.last;
    running.done[batch.piece * stages + batch.stage] = end;
    running.end = std::max(running.end, end);
    // A stage sends its pieces one behind the other; a piece goes on to its next stage when its last step is there.
    const auto try_begin = [&](std::size_t piece, std::size_t stage) {
      if (piece >= std::size_t(running.pieces) || stage >= stages) return;
      const Picoseconds before = piece > 0 ? running.sent[(piece - 1) * stages + stage] : 0;
      const Picoseconds below = stage > 0 ? running.done[piece * stages + stage - 1] : 0;
      if (before >= 0 && below >= 0) begin(batch.task, piece, stage, std::max({before, below, running.begin}));
    };
    try_begin(batch.piece + 1, batch.stage);
    try_begin(batch.piece, batch.stage + 1);
  }

  const Fabric& fabric_;
  const CollectiveOptions& options_;
  RoutingOptions routing_;
  Ports ports_;
  FlowSim sim_;
  std::vector<Running> tasks_;
  std::vector<Batch> batches_;
  std::vector<std::uint32_t> batch_of_;  // by flow
  std::vector<Hop> hops_;
  std::size_t open_ = 0, flows_ = 0;
  bool stuck_ = false;
};

Seconds latest(const CollectiveTask& task) {
  Seconds late;
  for (const Straggler& straggler : task.stragglers) {
    if (std::find(task.ranks.begin(), task.ranks.end(), straggler.rank) != task.ranks.end()) late = std::max(late, straggler.late);
  }
  return late;
}

// Pieces through stages of these times, one behind the other in each: Σ times + (pieces − 1) · longest, in parts of a piece.
double pipelined(const std::vector<double>& times, double pieces) {
  double sum = 0, longest = 0;
  for (const double time : times) {
    sum += time / pieces;
    longest = std::max(longest, time / pieces);
  }
  return sum + (pieces - 1) * longest;
}

CollectiveTime terms_of(const CollectiveTask& task, const Running& running, const Ports& ports) {
  CollectiveTime out;
  out.name = task.name;
  std::vector<double> loads(ports.port_count(), 0), times;
  Seconds latency;
  for (std::size_t s = 0; s < running.stages.size(); ++s) {
    times.push_back(ports.port_time(running.stages[s], loads));
    latency += to_seconds(running.latency[s]);
  }
  const double bound = *std::max_element(loads.begin(), loads.end());
  const double pipeline = pipelined(times, running.pieces), moving = std::max(bound, pipeline);
  const double delayed = std::max(moving, pipeline + latency.si());
  out.waiting = latest(task);
  out.time = to_seconds(running.end) - task.start;
  out.bandwidth = seconds(bound);
  out.fill = seconds(moving - bound);
  out.latency = seconds(delayed - moving);
  out.contention = out.time - out.waiting - seconds(delayed);
  out.algbw = out.time.si() > 0 ? task.size / out.time : byte_per_s(0);
  out.bus_share = out.time.si() > 0 ? out.bandwidth / out.time : 1;
  return out;
}

}  // namespace

Result<CollectivesResult> run_collectives(const Fabric& fabric, const Machines& machines, std::span<const CollectiveTask> tasks,
                                          const CollectiveOptions& options) {
  Play play(fabric, machines, options);
  for (const CollectiveTask& task : tasks) {
    TRUNKLINE_ASSIGN(stages, stages_of(task, machines));
    Running running;
    running.pieces = std::max(1, task.pieces);
    running.begin = picoseconds(task.start + latest(task));
    for (const Stage& stage : stages) {
      Seconds way;
      for (const Transfer& transfer : stage.transfers) way = std::max(way, play.ports().latency(transfer));
      running.latency.push_back(picoseconds((machines.step + way) * double(stage.transfers.empty() ? 0 : stage.steps)));
    }
    running.sent.assign(std::size_t(running.pieces) * stages.size(), -1);
    running.done = running.sent;
    running.stages = std::move(stages);
    play.tasks().push_back(std::move(running));
  }
  play.add_background();
  play.run();
  if (play.stuck())
    return bad_input({}, "a collective over hosts between which the fabric has no way", "join the rails, or let pxn take NVLink");
  CollectivesResult out;
  out.flows = play.flows();
  for (std::size_t t = 0; t < tasks.size(); ++t) {
    out.groups.push_back(terms_of(tasks[t], play.tasks()[t], play.ports()));
    out.finish = std::max(out.finish, to_seconds(play.tasks()[t].end));
  }
  return out;
}

}  // namespace trunkline::network
