// Loads on shared edges, and rings over direct links.
#include <algorithm>
#include <limits>

#include "topology/graph.hpp"

namespace trunkline::topology {
namespace {

// Resources are the edges, then the pools.
struct Use {
  std::size_t resource;
  double times;
};

std::vector<std::vector<Use>> uses_of(const Graph& graph, std::span<const Path> flows) {
  std::vector<std::vector<Use>> out;
  for (const auto& flow : flows) {
    std::vector<Use> uses;
    const auto load = [&](std::size_t resource) {
      for (auto& use : uses) {
        if (use.resource == resource) {
          use.times += 1;
          return;
        }
      }
      uses.push_back({resource, 1});
    };
    for (int e : flow.edges) {
      load(std::size_t(e));
      const int pool = graph.edges[std::size_t(e)].pool;
      if (pool >= 0) load(graph.edges.size() + std::size_t(pool));
    }
    out.push_back(std::move(uses));
  }
  return out;
}

// Backtracking over directed unit links: rings are peeled off one after the other.
struct RingSearch {
  int gpus;
  std::vector<int> left;  // links still free from a to b
  int best = 0;
  int bound = 0;
  long steps = 0;
  static constexpr long kMaxSteps = 2'400'000;  // GPUs looked at; what 8 GPUs need stays far below

  int& at(int a, int b) { return left[std::size_t(a * gpus + b)]; }

  bool done() const { return best >= bound || steps > kMaxSteps; }

  // Extends the path `order` (starting at GPU 0) to a ring, then looks for the next ring.
  void extend(std::vector<int>& order, std::vector<bool>& on_ring, int rings) {
    steps += gpus;
    if (done()) return;
    const int here = order.back();
    if (int(order.size()) == gpus) {
      if (at(here, 0) == 0) return;
      --at(here, 0);
      best = std::max(best, rings + 1);
      std::vector<int> next{0};
      std::vector<bool> fresh(std::size_t(gpus), false);
      fresh[0] = true;
      extend(next, fresh, rings + 1);
      ++at(here, 0);
      return;
    }
    std::vector<int> choices;
    for (int to = 1; to < gpus; ++to) {
      if (!on_ring[std::size_t(to)] && at(here, to) > 0) choices.push_back(to);
    }
    std::stable_sort(choices.begin(), choices.end(), [&](int a, int b) { return at(here, a) > at(here, b); });
    for (int to : choices) {
      --at(here, to);
      order.push_back(to);
      on_ring[std::size_t(to)] = true;
      extend(order, on_ring, rings);
      on_ring[std::size_t(to)] = false;
      order.pop_back();
      ++at(here, to);
      if (done()) return;
    }
  }
};

}  // namespace

std::vector<Bandwidth> shared_rates(const Graph& graph, std::span<const Path> flows, bool kernel) {
  const auto uses = uses_of(graph, flows);
  std::vector<double> free;
  for (const auto& edge : graph.edges) free.push_back((kernel ? edge.kernel : edge.capacity).si());
  for (const auto& pool : graph.pools) free.push_back(pool.si());
  std::vector<Bandwidth> rates(flows.size());
  std::vector<bool> fixed(flows.size(), false);
  for (std::size_t f = 0; f < flows.size(); ++f) fixed[f] = uses[f].empty();
  while (std::find(fixed.begin(), fixed.end(), false) != fixed.end()) {
    std::vector<double> load(free.size(), 0);
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f]) continue;
      for (const auto& use : uses[f]) load[use.resource] += use.times;
    }
    double share = std::numeric_limits<double>::infinity();  // of the most loaded resource
    for (std::size_t r = 0; r < free.size(); ++r) {
      if (load[r] > 0) share = std::min(share, free[r] / load[r]);
    }
    std::vector<std::size_t> settled;
    for (std::size_t f = 0; f < flows.size(); ++f) {
      if (fixed[f]) continue;
      const bool tight = std::any_of(uses[f].begin(), uses[f].end(),
                                     [&](const Use& use) { return free[use.resource] / load[use.resource] <= share * (1 + 1e-12); });
      if (tight) settled.push_back(f);
    }
    for (std::size_t f : settled) {
      fixed[f] = true;
      rates[f] = byte_per_s(share);
      for (const auto& use : uses[f]) free[use.resource] = std::max(0.0, free[use.resource] - use.times * share);
    }
  }
  return rates;
}

int link_rings(std::span<const MeshLink> mesh, int gpus) {
  if (gpus < 2) return 0;
  RingSearch search{gpus, std::vector<int>(std::size_t(gpus) * std::size_t(gpus), 0)};
  for (const auto& link : mesh) {
    if (link.a >= gpus || link.b >= gpus) continue;
    search.at(link.a, link.b) += link.links;
    search.at(link.b, link.a) += link.links;
  }
  search.bound = std::numeric_limits<int>::max();
  for (int a = 0; a < gpus; ++a) {
    int out = 0;
    for (int b = 0; b < gpus; ++b) out += search.at(a, b);
    search.bound = std::min(search.bound, out);
  }
  // One link between every two of four or six GPUs: these two complete graphs alone do not fall apart into rings (Tillson 1980), so one
  // less is the most; no search needs to find that out.
  const auto single = [](int links) { return links <= 1; };
  const bool complete = search.bound == gpus - 1 && std::all_of(search.left.begin(), search.left.end(), single);
  if (complete && (gpus == 4 || gpus == 6)) --search.bound;
  std::vector<int> order{0};
  std::vector<bool> on_ring(std::size_t(gpus), false);
  on_ring[0] = true;
  search.extend(order, on_ring, 0);
  return search.best;
}

}  // namespace trunkline::topology
