// Slow, plain references for the network tests: progressive filling by rounds, and a simulation that starts anew after every event.
#pragma once

#include <algorithm>
#include <limits>
#include <vector>

#include "base/rng.hpp"
#include "network/maxmin.hpp"

namespace trunkline::network::reference {

struct Flow {
  std::vector<Hop> path;
  double weight = 1;
  double cap = kUnlimited;
  bool alive = true;
};

// All levels rise together; a flow stops at the first of its links that is full, or at its cap. One round a stop.
inline std::vector<double> rates(const std::vector<double>& capacities, const std::vector<Flow>& flows) {
  const std::size_t n = flows.size();
  std::vector<double> level(n, 0);
  std::vector<bool> stopped(n);
  for (std::size_t f = 0; f < n; ++f) stopped[f] = !flows[f].alive;
  for (;;) {
    std::vector<double> rest = capacities, open(capacities.size(), 0);
    bool any = false;
    for (std::size_t f = 0; f < n; ++f) {
      if (!flows[f].alive) continue;
      any = any || !stopped[f];
      for (const Hop& hop : flows[f].path) {
        if (stopped[f]) {
          rest[hop.link] -= hop.share * flows[f].weight * level[f];
        } else {
          open[hop.link] += hop.share * flows[f].weight;
        }
      }
    }
    if (!any) break;
    const auto share = [&](LinkId link) { return open[link] > 0 ? std::max(0.0, rest[link]) / open[link] : kUnlimited; };
    double water = kUnlimited;
    for (LinkId link = 0; link < capacities.size(); ++link) water = std::min(water, share(link));
    for (std::size_t f = 0; f < n; ++f) {
      if (!stopped[f]) water = std::min(water, flows[f].cap / flows[f].weight);
    }
    std::vector<std::size_t> stopping;
    for (std::size_t f = 0; f < n; ++f) {
      if (stopped[f]) continue;
      const double limit = water * (1 + 1e-12);
      const bool full = std::any_of(flows[f].path.begin(), flows[f].path.end(), [&](const Hop& hop) { return share(hop.link) <= limit; });
      if (full || flows[f].cap / flows[f].weight <= limit || water == kUnlimited) stopping.push_back(f);
    }
    for (const std::size_t f : stopping) {
      stopped[f] = true;
      level[f] = water;
    }
  }
  for (std::size_t f = 0; f < n; ++f) level[f] *= flows[f].weight;
  return level;
}

struct Shape {
  std::size_t links, flows, longest;
  bool equal_capacities;  // many ties
};

inline Shape any_shape(Rng& rng) {
  Shape shape;
  shape.links = 1 + rng.below(60);
  shape.flows = 1 + rng.below(rng.below(8) == 0 ? 200 : 40);
  shape.longest = 1 + rng.below(7);
  shape.equal_capacities = rng.below(2) == 0;
  return shape;
}

inline double any_capacity(Rng& rng, const Shape& shape) {
  return shape.equal_capacities ? double(1 + rng.below(4)) : 0.1 + 10 * rng.uniform();
}

inline std::vector<double> any_capacities(Rng& rng, const Shape& shape) {
  std::vector<double> out(shape.links);
  for (double& capacity : out) capacity = any_capacity(rng, shape);
  if (rng.below(20) == 0) out[rng.below(shape.links)] = 0;
  return out;
}

// Weighted, capped, fractional, over the same link twice, with the path of an earlier flow: all of it now and then.
inline Flow any_flow(Rng& rng, const Shape& shape, const std::vector<Flow>& earlier) {
  Flow flow;
  if (!earlier.empty() && rng.below(8) == 0) {
    flow = earlier[rng.below(earlier.size())];
    flow.alive = true;
    return flow;
  }
  const std::size_t length = rng.below(shape.longest + 1);
  for (std::size_t i = 0; i < length; ++i) flow.path.push_back({LinkId(rng.below(shape.links)), rng.below(5) == 0 ? 0.25 : 1.0});
  if (rng.below(3) == 0) flow.weight = 0.5 + rng.uniform();
  if (length == 0 || rng.below(5) == 0) flow.cap = 0.05 + 2 * rng.uniform();
  return flow;
}

}  // namespace trunkline::network::reference
