#include "validate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "validate/summary.hpp"

namespace trunkline::validate {
namespace {

using catalog::Generation;
using workload::Framework;
using Pair = std::pair<Framework, Generation>;

struct Cell {
  double log_factor = 0;
  int rows = 0;
  std::set<std::string> tables;
};

// Additive effects by alternating ridge means: cell ≈ generation + framework, both drawn to zero as by half a table.
void fit_effects(const std::map<Pair, Cell>& cells, std::map<Generation, double>& generation, std::map<Framework, double>& framework) {
  constexpr double kRidge = 0.5;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    std::map<Generation, std::pair<double, double>> g;
    for (const auto& [pair, cell] : cells) {
      const double w = double(cell.tables.size());
      g[pair.second].first += w * (cell.log_factor - framework[pair.first]);
      g[pair.second].second += w;
    }
    for (const auto& [key, sum] : g) generation[key] = sum.first / (sum.second + kRidge);
    std::map<Framework, std::pair<double, double>> f;
    for (const auto& [pair, cell] : cells) {
      const double w = double(cell.tables.size());
      f[pair.first].first += w * (cell.log_factor - generation[pair.second]);
      f[pair.first].second += w;
    }
    for (const auto& [key, sum] : f) framework[key] = sum.first / (sum.second + kRidge);
  }
}

}  // namespace

predict::Constants fit_constants(const std::vector<FitPoint>& points, const std::string& without) {
  std::map<Pair, std::vector<std::pair<double, double>>> values;
  std::map<Pair, Cell> cells;
  for (const FitPoint& p : points) {
    if (!without.empty() && p.table == without) continue;
    const Pair pair{p.framework, p.generation};
    values[pair].emplace_back(p.log_factor, p.weight);
    cells[pair].rows += 1;
    cells[pair].tables.insert(p.table);
  }
  for (auto& [pair, cell] : cells) cell.log_factor = weighted_median(values[pair]);
  std::map<Generation, double> generation;
  std::map<Framework, double> framework;
  fit_effects(cells, generation, framework);
  predict::Constants c;
  for (const auto& [pair, cell] : cells) {
    const double prior = generation[pair.second] + framework[pair.first];
    const double n = double(cell.tables.size());
    const double log_factor = (n * cell.log_factor + prior) / (n + 1);
    c.factors.push_back({pair.first, pair.second, std::exp(log_factor), int(cell.tables.size()), cell.rows});
  }
  c.generation_effect.assign(generation.begin(), generation.end());
  c.framework_effect.assign(framework.begin(), framework.end());
  return c;
}

}  // namespace trunkline::validate
