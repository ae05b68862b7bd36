#include "network/fabric_run.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace trunkline::network {
namespace {

using Clock = std::chrono::steady_clock;

Seconds since(Clock::time_point start) { return seconds(std::chrono::duration<double>(Clock::now() - start).count()); }

// One queue pair's part of a demand.
struct Part {
  std::size_t demand;
  std::size_t begin, end;  // its hops
  Bytes size;
};

int sender_of(const Fabric& fabric, const Demand& demand, const RunOptions& options) {
  return fabric.sender({demand.source, demand.destination, 0}, options.routing);
}

// Terms of a demand's flows besides path and size.
struct Terms {
  double weight = 1;
  Seconds wait, latency;  // before the flow begins to share; after its last byte is sent
};

Terms terms_of(const Fabric& fabric, const Demand& demand, const RunOptions& options) {
  const Seconds latency = fabric.latency(sender_of(fabric, demand, options), demand.destination);
  if (options.sharing == Sharing::inverse_latency && latency.si() > 0) return {microseconds(1) / latency, latency, seconds(0)};
  return {1, seconds(0), latency};
}

struct Routed {
  std::vector<Hop> hops;
  std::vector<Part> parts;
  std::vector<bool> served;  // by demand
};

Routed route_all(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& options) {
  Routed out;
  out.served.assign(demands.size(), true);
  const int pairs = std::max(1, options.queue_pairs);
  std::vector<Hop> hops;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    const auto& demand = demands[d];
    const std::int64_t each = demand.size.count() / pairs, rest = demand.size.count() % pairs;
    for (int q = 0; q < pairs; ++q) {
      if (!fabric.route({demand.source, demand.destination, q}, options.routing, hops)) out.served[d] = false;
      const std::size_t begin = out.hops.size();
      out.hops.insert(out.hops.end(), hops.begin(), hops.end());
      out.parts.push_back({d, begin, out.hops.size(), Bytes(each + (q < rest ? 1 : 0))});
    }
  }
  std::erase_if(out.parts, [&](const Part& part) { return !out.served[part.demand]; });
  return out;
}

std::span<const Hop> hops_of(const Routed& routed, const Part& part) {
  return std::span(routed.hops).subspan(part.begin, part.end - part.begin);
}

// The smallest value that at least the share p of the (ascending) values does not exceed.
double order_statistic(const std::vector<double>& ascending, double p) {
  const auto rank = std::size_t(std::ceil(p * double(ascending.size())));
  return ascending[std::clamp<std::size_t>(rank, 1, ascending.size()) - 1];
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double v : values) sum += v;
  return sum / double(values.size());
}

void use_of_links(const Fabric& fabric, const MaxMin& sharing, int hottest, RunResult& result) {
  std::vector<double> loads(fabric.capacities().size());
  for (LinkId link = 0; link < fabric.capacities().size(); ++link) loads[link] = sharing.load(link);
  fabric.spread_groups(loads);
  double core = 0, core_capacity = 0;
  for (LinkId link = 0; link < fabric.wires(); ++link) {
    if (!fabric.between_switches(link)) continue;
    core += loads[link];
    core_capacity += fabric.capacities()[link];
  }
  result.core_utilisation = core_capacity > 0 ? core / core_capacity : 0;
  std::vector<LinkUse> used;
  for (LinkId link = 0; link < fabric.wires(); ++link) {
    if (loads[link] > 0) used.push_back({link, "", loads[link] / fabric.capacities()[link]});
  }
  for (const auto& use : used) result.mean_utilisation += use.utilisation / double(used.size());
  const auto hotter = [](const LinkUse& a, const LinkUse& b) {
    return a.utilisation > b.utilisation || (a.utilisation == b.utilisation && a.link < b.link);
  };
  const std::size_t shown = std::min(used.size(), std::size_t(std::max(1, hottest)));
  std::partial_sort(used.begin(), used.begin() + std::ptrdiff_t(shown), used.end(), hotter);
  used.resize(shown);
  if (!used.empty()) result.max_utilisation = used.front().utilisation;
  for (auto& use : used) use.name = fabric.name(use.link);
  if (hottest > 0) result.hottest = std::move(used);
}

void rates_at_once(const Fabric& fabric, const Routed& routed, std::span<const Demand> demands, const RunOptions& options,
                   RunResult& result) {
  MaxMin sharing(fabric.capacities());
  sharing.reserve(routed.parts.size(), routed.hops.size());
  std::vector<BundleId> bundles;
  std::vector<double> weights;
  const auto start = Clock::now();
  for (const Part& part : routed.parts) {
    weights.push_back(terms_of(fabric, demands[part.demand], options).weight);
    bundles.push_back(sharing.join(hops_of(routed, part), weights.back(), options.flow_cap.si()));
  }
  sharing.solve();
  result.solve = since(start);
  std::vector<double> rate(demands.size(), 0);
  std::vector<bool> local(demands.size(), false);
  for (std::size_t i = 0; i < routed.parts.size(); ++i) {
    const double level = sharing.level(bundles[i]);
    if (level < kUnlimited) {
      rate[routed.parts[i].demand] += weights[i] * level;
    } else {
      local[routed.parts[i].demand] = true;  // inside one host: no rate to speak of
    }
  }
  std::vector<double> rates;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    if (routed.served[d] && !local[d]) rates.push_back(rate[d]);
  }
  if (!rates.empty()) {
    std::sort(rates.begin(), rates.end());
    result.rate = {byte_per_s(mean_of(rates)), byte_per_s(rates.front()), byte_per_s(order_statistic(rates, 0.01))};
  }
  use_of_links(fabric, sharing, options.hottest, result);
}

void completions(const Fabric& fabric, const Routed& routed, std::span<const Demand> demands, const RunOptions& options,
                 RunResult& result) {
  const auto began = Clock::now();
  FlowSim sim(fabric.capacities(), FlowSim::Options{options.tolerance});
  for (const Part& part : routed.parts) {
    const auto& demand = demands[part.demand];
    const Terms terms = terms_of(fabric, demand, options);
    FlowOptions flow;
    flow.weight = terms.weight;
    flow.cap = options.flow_cap;
    flow.latency = terms.latency;
    sim.add(hops_of(routed, part), part.size, picoseconds(demand.start + terms.wait), flow);
  }
  sim.run();
  result.simulate = since(began);
  std::vector<Picoseconds> last(demands.size(), -1);
  std::vector<bool> ends = routed.served;
  for (std::size_t i = 0; i < routed.parts.size(); ++i) {
    const std::size_t d = routed.parts[i].demand;
    const auto done = sim.completion(FlowId(i));
    if (!done) {
      ends[d] = false;
    } else {
      last[d] = std::max(last[d], *done);
    }
  }
  std::vector<double> times;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    if (!ends[d]) {
      ++result.unserved;
      result.cut_off.push_back(d);
      continue;
    }
    times.push_back(to_seconds(last[d] - picoseconds(demands[d].start)).si());
    result.finish = std::max(result.finish, to_seconds(last[d]));
  }
  if (times.empty()) return;
  std::sort(times.begin(), times.end());
  result.completion = {seconds(mean_of(times)), seconds(order_statistic(times, 0.5)), seconds(order_statistic(times, 0.99)),
                       seconds(times.back())};
}

// Each host link by itself, first come, first served: the last to end bounds what any network can do.
Seconds ideal_finish(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& options) {
  std::vector<std::size_t> order(demands.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return demands[a].start < demands[b].start; });
  std::vector<Seconds> busy(2 * std::size_t(fabric.hosts()));
  Seconds last;
  for (const std::size_t i : order) {
    const auto& demand = demands[i];
    const int sender = sender_of(fabric, demand, options);
    if (sender == demand.destination) continue;
    const auto pass = [&](int host, Direction direction) {
      const Bandwidth rate = fabric.host_rate(host, direction);
      if (!(rate.si() > 0)) return;
      Seconds& until = busy[2 * std::size_t(host) + (direction == Direction::down ? 1 : 0)];
      until = std::max(until, demand.start) + demand.size / rate;
      last = std::max(last, until);
    };
    pass(sender, Direction::up);
    pass(demand.destination, Direction::down);
  }
  return last;
}

void count_hops(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& options, RunResult& result) {
  for (const auto& demand : demands) {
    const int hops = fabric.switches(sender_of(fabric, demand, options), demand.destination);
    result.mean_hops += double(hops) / double(demands.size());
    result.max_hops = std::max(result.max_hops, hops);
  }
}

}  // namespace

RunResult run_traffic(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& options) {
  RunResult result;
  result.flows = demands.size();
  const Routed routed = route_all(fabric, demands, options);
  rates_at_once(fabric, routed, demands, options, result);
  completions(fabric, routed, demands, options, result);
  result.ideal = ideal_finish(fabric, demands, options);
  count_hops(fabric, demands, options, result);
  return result;
}

RunResult run_traffic(const Clos& clos, std::span<const Demand> demands, const RunOptions& options) {
  return run_traffic(ClosFabric(std::shared_ptr<const Clos>(&clos, [](const Clos*) {})), demands, options);
}

}  // namespace trunkline::network
