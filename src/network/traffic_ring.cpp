#include "network/traffic_ring.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <deque>
#include <optional>
#include <vector>

namespace trunkline::network {
namespace {

constexpr double kSame = 1e-9;  // of rates: what rounding may make of equal ones

// The hop from one rank to the next: its queue pairs, which all start together.
struct RingHop {
  std::size_t begin = 0;  // of its flows in Ring::flows
  double weight = 1;
  Picoseconds wait = 0;  // before its flows begin to share
  Picoseconds latency = 0;
};

struct RingFlow {
  std::vector<Hop> hops;
  Bytes size;
};

struct Ring {
  int pairs = 1;
  std::vector<RingHop> hops;    // by rank
  std::vector<RingFlow> flows;  // by rank and queue pair
  std::int64_t steps = 0;
};

std::optional<Ring> ring_of(const Fabric& fabric, int hosts, Bytes size, const RunOptions& options) {
  Ring ring;
  ring.pairs = std::max(1, options.queue_pairs);
  ring.steps = 2 * (std::int64_t(hosts) - 1);
  const std::int64_t chunk = (size.count() + hosts - 1) / hosts;
  for (int rank = 0; rank < hosts; ++rank) {
    const int next = (rank + 1) % hosts;
    RingHop hop;
    hop.begin = ring.flows.size();
    const Seconds latency = fabric.latency(fabric.sender({rank, next, 0}, options.routing), next);
    const bool weighted = options.sharing == Sharing::inverse_latency && latency.si() > 0;
    if (weighted) hop.weight = microseconds(1) / latency;
    (weighted ? hop.wait : hop.latency) = picoseconds(latency);
    for (int q = 0; q < ring.pairs; ++q) {
      RingFlow flow;
      if (!fabric.route({rank, next, q}, options.routing, flow.hops)) return std::nullopt;
      flow.size = Bytes(chunk / ring.pairs + (q < chunk % ring.pairs ? 1 : 0));
      ring.flows.push_back(std::move(flow));
    }
    ring.hops.push_back(hop);
  }
  return ring;
}

// How long each rank's send takes if nobody's rate depends on who else sends just now; nothing where it does.
std::optional<std::vector<Picoseconds>> durations_alone(const Fabric& fabric, const Ring& ring, const RunOptions& options) {
  MaxMin sharing(fabric.capacities());
  std::vector<BundleId> bundles;
  for (std::size_t i = 0; i < ring.flows.size(); ++i)
    bundles.push_back(sharing.join(ring.flows[i].hops, ring.hops[i / std::size_t(ring.pairs)].weight, options.flow_cap.si()));
  sharing.solve();
  std::vector<Picoseconds> out(ring.hops.size(), 0);
  if (ring.flows.front().size != ring.flows[std::size_t(ring.pairs) - 1].size) return std::nullopt;  // the last would run by itself
  for (std::size_t i = 0; i < ring.flows.size(); ++i) {
    const std::size_t rank = i / std::size_t(ring.pairs);
    // The rank's own queue pairs run together in any case, so they count as one.
    double alone = options.flow_cap.si();
    for (const Hop& hop : ring.flows[i].hops) {
      double share = 0;
      for (int q = 0; q < ring.pairs; ++q) {
        for (const Hop& other : ring.flows[rank * std::size_t(ring.pairs) + std::size_t(q)].hops)
          share += other.link == hop.link ? other.share : 0;
      }
      alone = std::min(alone, sharing.capacity(hop.link) / share);
    }
    const double rate = ring.hops[rank].weight * sharing.level(bundles[i]);
    if (!(rate >= alone * (1 - kSame))) return std::nullopt;
    out[rank] = std::max(out[rank], picoseconds(ring.flows[i].size / byte_per_s(alone)));
  }
  return out;
}

// Completion times of sends, as order statistics.
void summarise(std::vector<Picoseconds>& times, RingRun& out) {
  if (times.empty()) return;
  double sum = 0;
  for (const Picoseconds t : times) sum += double(t);
  const auto at = [&](double p) {
    const auto rank = std::clamp<std::size_t>(std::size_t(std::ceil(p * double(times.size()))), 1, times.size()) - 1;
    std::nth_element(times.begin(), times.begin() + std::ptrdiff_t(rank), times.end());
    return to_seconds(times[rank]);
  };
  out.completion = {seconds(sum / double(times.size()) * 1e-12), at(0.5), at(0.99), at(1)};
}

// False where the sends differ in duration: then waiting for the own last send counts too, and the steps are simulated.
bool fold(const Fabric& fabric, const Ring& ring, const RunOptions& options, RingRun& out) {
  const auto durations = durations_alone(fabric, ring, options);
  if (!durations) return false;
  if (std::any_of(durations->begin(), durations->end(), [&](Picoseconds d) { return d != durations->front(); })) return false;
  const std::size_t n = ring.hops.size();
  std::vector<Picoseconds> times;
  for (std::size_t i = 0; i < n; ++i) times.push_back((*durations)[i] + ring.hops[i].wait + ring.hops[i].latency);
  // Σ over `steps` = n + (n − 2) consecutive hops: a whole turn and all hops but two neighbours.
  Picoseconds turn = 0, farthest = 0;
  for (const Picoseconds t : times) turn += t;
  for (std::size_t i = 0; i < n; ++i) farthest = std::max(farthest, 2 * turn - times[i] - times[(i + 1) % n]);
  out.finish = to_seconds(farthest);
  out.folded = true;
  out.words = fmt::format("{} steps of {} sends folded: no send slows another", ring.steps, n);
  summarise(times, out);
  return true;
}

// Every flow of every step.
class RingSim {
 public:
  RingSim(const Fabric& fabric, const Ring& ring, const RunOptions& options)
      : ring_(ring), options_(options), sim_(fabric.capacities()), ranks_(ring.hops.size()) {}

  void run(RingRun& out) {
    times_.reserve(std::size_t(ring_.steps) * ranks_.size());
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      ranks_[rank].arrived.push_back(0);  // its own data is there from the start
      start_if_ready(rank);
    }
    while (sim_.step()) {
      for (const FlowId flow : sim_.finished()) finish(flow);
    }
    out.finish = to_seconds(last_);
    out.words = fmt::format("every flow of {} steps simulated", ring_.steps);
    summarise(times_, out);
  }

 private:
  struct Rank {
    std::int64_t step = 0;            // the next to start
    int open = 0;                     // its queue pairs that still send
    Picoseconds begun = 0, free = 0;  // of its last send
    std::deque<Picoseconds> arrived;  // what it may send next, by time of arrival
  };

  void start_if_ready(std::size_t id) {
    Rank& rank = ranks_[id];
    if (rank.open > 0 || rank.arrived.empty() || rank.step == ring_.steps) return;
    const RingHop& hop = ring_.hops[id];
    rank.begun = std::max(rank.free, rank.arrived.front());
    rank.arrived.pop_front();
    rank.open = ring_.pairs;
    ++rank.step;
    FlowOptions flow;
    flow.weight = hop.weight;
    flow.cap = options_.flow_cap;
    for (int q = 0; q < ring_.pairs; ++q) {
      const RingFlow& f = ring_.flows[hop.begin + std::size_t(q)];
      sim_.add(f.hops, f.size, rank.begun + hop.wait, flow);
      rank_of_.push_back(std::uint32_t(id));
    }
  }

  void finish(FlowId flow) {
    const std::size_t id = rank_of_[flow];
    Rank& rank = ranks_[id];
    rank.free = std::max(rank.free, *sim_.completion(flow));
    if (--rank.open > 0) return;
    const Picoseconds arrival = rank.free + ring_.hops[id].latency;
    times_.push_back(arrival - rank.begun);
    last_ = std::max(last_, arrival);
    const std::size_t next = id + 1 == ranks_.size() ? 0 : id + 1;
    ranks_[next].arrived.push_back(arrival);
    start_if_ready(next);
    start_if_ready(id);
  }

  const Ring& ring_;
  const RunOptions& options_;
  FlowSim sim_;
  std::vector<Rank> ranks_;
  std::vector<std::uint32_t> rank_of_;  // by flow
  std::vector<Picoseconds> times_;      // of sends
  Picoseconds last_ = 0;
};

}  // namespace

RingRun run_ring(const Fabric& fabric, int hosts, Bytes size, const RunOptions& options, RingSteps steps) {
  const auto began = std::chrono::steady_clock::now();
  RingRun out;
  const auto ring = ring_of(fabric, hosts, size, options);
  if (!ring) {
    out.served = false;
    return out;
  }
  out.flows = ring->flows.size() * std::size_t(ring->steps);
  if (steps == RingSteps::every || !fold(fabric, *ring, options, out)) {
    RingSim(fabric, *ring, options).run(out);
  }
  double slowest = kUnlimited;
  for (int host = 0; host < hosts; ++host)
    slowest = std::min({slowest, fabric.host_rate(host, Direction::up).si(), fabric.host_rate(host, Direction::down).si()});
  out.ideal = seconds(double(ring->steps) * double(size.count()) / hosts / slowest);
  out.spent = seconds(std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return out;
}

}  // namespace trunkline::network
