#include "validate/fit.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "validate/summary.hpp"

namespace trunkline::validate {
namespace {

using catalog::Generation;
using workload::Framework;
using Pair = std::pair<Framework, Generation>;

struct Cell {
  double log_factor = 0;
  int rows = 0;
  std::vector<double> tables;  // what each says
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

std::vector<predict::Evidence> evidence_of(const std::vector<FitPoint>& points) {
  std::map<std::pair<std::string, Pair>, std::vector<double>> groups;
  for (const FitPoint& p : points) groups[{p.table, {p.framework, p.generation}}].push_back(p.log_factor);
  std::vector<predict::Evidence> out;
  for (const auto& [key, values] : groups)
    out.push_back({key.first, key.second.first, key.second.second, quantile(values, 0.5), int(values.size())});
  return out;
}

predict::Constants fit_constants(const std::vector<predict::Evidence>& evidence, const std::string& without) {
  predict::Constants c;
  std::map<Pair, Cell> cells;
  for (const predict::Evidence& e : evidence) {
    if (!without.empty() && e.table == without) continue;
    c.evidence.push_back(e);
    Cell& cell = cells[{e.framework, e.generation}];
    cell.rows += e.rows;
    cell.tables.push_back(e.log_factor);
  }
  for (auto& [pair, cell] : cells) cell.log_factor = quantile(cell.tables, 0.5);
  std::map<Generation, double> generation;
  std::map<Framework, double> framework;
  fit_effects(cells, generation, framework);
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
