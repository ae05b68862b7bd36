#include "validate/nccl_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "validate/parallel.hpp"
#include "validate/summary.hpp"

namespace trunkline::validate {

using collectives::Constants;
using collectives::LinkClass;

namespace {

constexpr double kPull = 0.004, kCut = 0.6, kSmallCut = 1.0, kSmallWeight = 0.25;
constexpr int kRounds = 6;
constexpr double kFirstStep = 0.25, kStepShrinks = 0.7;

// A number that the fit moves, and what moves with it: classes without data of their own follow the nearest one.
struct Knob {
  std::string name;
  std::function<double&(Constants&)> main;
};

std::vector<Knob> knobs() {
#define TRUNKLINE_KNOB(path)                               \
  {                                                        \
#path, [](Constants & c) -> double& { return c.path; } \
  }
  return {TRUNKLINE_KNOB(base.ll),
          TRUNKLINE_KNOB(base.ll128),
          TRUNKLINE_KNOB(base.simple),
          TRUNKLINE_KNOB(network_hop.ll),
          TRUNKLINE_KNOB(network_hop.ll128),
          TRUNKLINE_KNOB(network_hop.simple),
          TRUNKLINE_KNOB(ring_fill.ll128),
          TRUNKLINE_KNOB(ring_fill.simple),
          TRUNKLINE_KNOB(tree_chunk.ll128),
          TRUNKLINE_KNOB(tree_chunk.simple),
          TRUNKLINE_KNOB(network_ll_share),
          TRUNKLINE_KNOB(tree_two_nodes),
          TRUNKLINE_KNOB(tree_many_nodes),
          TRUNKLINE_KNOB(nvls_fill),
          TRUNKLINE_KNOB(nvls_tree_inside),
          TRUNKLINE_KNOB(nvls_tree_two_nodes),
          TRUNKLINE_KNOB(nvls_tree_many_nodes),
          TRUNKLINE_KNOB(nvls_many_trays),
          TRUNKLINE_KNOB(peer_step),
          TRUNKLINE_KNOB(all_to_all_share),
          TRUNKLINE_KNOB(all_to_all_fill),
          TRUNKLINE_KNOB(pair_share),
          TRUNKLINE_KNOB(ring_above_infiniband),
          TRUNKLINE_KNOB(ampere.hop.ll),
          TRUNKLINE_KNOB(ampere.hop.ll128),
          TRUNKLINE_KNOB(ampere.hop.simple),
          TRUNKLINE_KNOB(ampere.ll_rate),
          TRUNKLINE_KNOB(ampere.turn),
          TRUNKLINE_KNOB(hopper.hop.ll),
          TRUNKLINE_KNOB(hopper.hop.ll128),
          TRUNKLINE_KNOB(hopper.hop.simple),
          TRUNKLINE_KNOB(hopper.ll_rate),
          TRUNKLINE_KNOB(hopper.turn),
          TRUNKLINE_KNOB(hopper.nvls_share),
          TRUNKLINE_KNOB(hopper.nvls_base),
          TRUNKLINE_KNOB(hopper.nvls_fill_limit),
          TRUNKLINE_KNOB(blackwell.turn),
          TRUNKLINE_KNOB(blackwell.nvls_share),
          TRUNKLINE_KNOB(blackwell.nvls_base),
          TRUNKLINE_KNOB(blackwell.nvls_fill_limit)};
#undef TRUNKLINE_KNOB
}

// Volta and xGMI hop as Ampere, Blackwell as Hopper, PCIe 1.3 times as long as Ampere; LL rates in NCCL's proportions.
void follow(Constants& c) {
  c.volta.hop = c.xgmi.hop = c.ampere.hop;
  c.volta.turn = c.pcie.turn = c.ampere.turn;
  c.xgmi.turn = c.hopper.turn;
  c.blackwell.hop = c.hopper.hop;
  c.pcie.hop = {1.3 * c.ampere.hop.ll, 1.3 * c.ampere.hop.ll128, 1.3 * c.ampere.hop.simple};
  c.volta.ll_rate = c.ampere.ll_rate * (39.0 / 87.7);
  c.xgmi.ll_rate = c.ampere.ll_rate;
  c.blackwell.ll_rate = 2 * c.hopper.ll_rate;
  c.pcie.ll_rate = c.ampere.ll_rate / 2;
}

double predicted_seconds(const CollectiveRow& row, const Constants& constants) {
  const CollectiveCase& q = *row.question;
  return std::max(time_of(q.domain, q.collective, q.size, q.options, constants).time.si(), q.floor_s);
}

struct Sum {
  double total = 0;
  int rows = 0;
};

double mean_over_systems(const std::map<std::string, Sum>& sums) {
  double total = 0;
  for (const auto& [system, sum] : sums) total += sum.total / sum.rows;
  return sums.empty() ? 0 : total / double(sums.size());
}

// Systems with rows that the fit can use, in order of their names.
std::set<std::string> fit_systems(const std::vector<CollectiveRow>& rows) {
  std::set<std::string> systems;
  for (const auto& row : rows) {
    if (row.question && row.eligible) systems.insert(row.system);
  }
  return systems;
}

// Those of the committed table; a test holds the two together.
constexpr const char* kFittedSystems[] = {"a100_40_sxm_x8_superbench",
                                          "aws_p4de_x16_efa",
                                          "coreweave_gb200_nvl72_x72",
                                          "dgx1_v100_x16_roce100x2",
                                          "dgxa100_x16_hdr200x8",
                                          "dgxh100_x16_2nodes",
                                          "gke_a4_b200_x8",
                                          "h100_x4_a2a",
                                          "l40s_x2_2nodes",
                                          "rtx4090_x2_docker",
                                          "rtx4090_x2_k8s",
                                          "stas_a100_x8",
                                          "stas_h200_part_x4",
                                          "stas_h200_part_x5",
                                          "stas_h200_part_x6",
                                          "stas_h200_part_x7",
                                          "stas_h200_part_x8",
                                          "stas_h200_x8",
                                          "stas_h200_x8_coll",
                                          "stas_mi300x_x2",
                                          "stas_mi300x_x8",
                                          "together_b200_x128",
                                          "together_b200_x16",
                                          "together_b200_x256",
                                          "together_b200_x32",
                                          "together_b200_x512",
                                          "together_b200_x64",
                                          "together_b200_x8",
                                          "vtrain_a100_x2",
                                          "vtrain_a100_x3",
                                          "vtrain_a100_x4",
                                          "vtrain_a100_x5",
                                          "vtrain_a100_x6",
                                          "vtrain_a100_x7",
                                          "vtrain_a100_x8"};

bool gate_collective(const CollectiveRow& row) {
  using collectives::Collective;
  const Collective c = row.question->collective;
  return c == Collective::all_reduce || c == Collective::all_gather || c == Collective::reduce_scatter || c == Collective::all_to_all;
}

}  // namespace

Constants collective_priors() {
  Constants c;
  c.base = {6.6e-6, 14e-6, 8.4e-6};
  c.network_hop = {2.7e-6, 4e-6, 14e-6};
  c.ring_fill = {0, 0.5, 0.5};
  c.tree_chunk = {0, 0.2e6, 1.6e6};
  c.network_ll_share = 0.25;
  c.tree_two_nodes = 0.9;
  c.tree_many_nodes = 0.75;
  c.nvls_fill = 2;
  c.nvls_tree_inside = 0.92;
  c.nvls_tree_two_nodes = 0.95;
  c.nvls_tree_many_nodes = 0.75;
  c.nvls_many_trays = 0.85;
  c.peer_step = 8e-6;
  c.all_to_all_share = 0.94;
  c.all_to_all_fill = 0.5;
  c.pair_share = 0.9;
  c.ring_above_infiniband = 0.82;
  c.ampere.hop = {2.0e-6, 5e-6, 7e-6};
  c.ampere.ll_rate = 20e9;
  c.ampere.turn = 0.33;
  c.hopper.hop = {1.6e-6, 5e-6, 7e-6};
  c.hopper.ll_rate = 32e9;
  c.hopper.turn = 0.2;
  c.hopper.nvls_share = 0.85;
  c.hopper.nvls_base = 40e-6;
  c.hopper.nvls_fill_limit = 8e6;
  c.blackwell.turn = 0.33;
  c.blackwell.nvls_share = 0.74;
  c.blackwell.nvls_base = 40e-6;
  c.blackwell.nvls_fill_limit = 16e6;
  follow(c);
  return c;
}

double collective_objective(const std::vector<CollectiveRow>& rows, const Constants& constants, const std::string& without) {
  std::map<std::string, Sum> large, small;
  for (const auto& row : rows) {
    if (!row.question || !row.eligible || row.erratic || row.system == without) continue;
    const double miss = std::abs(std::log(predicted_seconds(row, constants) / row.measured_s));
    if (row.size < mib(1)) {
      auto& sum = small[row.system];
      sum.total += std::min(miss, kSmallCut);
      ++sum.rows;
    } else if (gate_collective(row)) {
      auto& sum = large[row.system];
      sum.total += std::min(miss, kCut);
      ++sum.rows;
    }
  }
  double pull = 0;
  Constants mine = constants, prior = collective_priors();
  for (const auto& knob : knobs()) pull += kPull * std::pow(std::log(knob.main(mine) / knob.main(prior)), 2);
  return mean_over_systems(large) + kSmallWeight * mean_over_systems(small) + pull;
}

CollectiveFit fit_collectives(const std::vector<CollectiveRow>& rows, const std::string& without) {
  const auto all = knobs();
  CollectiveFit fit;
  fit.constants = collective_priors();
  fit.objective = collective_objective(rows, fit.constants, without);
  double step = kFirstStep;
  for (int round = 0; round < kRounds; ++round, step *= kStepShrinks) {
    for (const auto& knob : all) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        Constants trial = fit.constants;
        knob.main(trial) *= factor;
        follow(trial);
        const double objective = collective_objective(rows, trial, without);
        if (objective >= fit.objective - 1e-7) continue;
        fit.constants = trial;
        fit.objective = objective;
      }
    }
  }
  Constants prior = collective_priors();
  for (const auto& knob : all) fit.values.push_back({knob.name, knob.main(prior), knob.main(fit.constants)});
  return fit;
}

std::set<std::string> fitted_systems() { return {std::begin(kFittedSystems), std::end(kFittedSystems)}; }

bool holds_all_fitted_systems(const std::vector<CollectiveRow>& rows) {
  const std::set<std::string> given = fit_systems(rows);
  return std::all_of(std::begin(kFittedSystems), std::end(kFittedSystems), [&](const char* name) { return given.contains(name); });
}

std::vector<Spread> system_spreads(const std::vector<CollectiveRow>& rows, const std::string& without) {
  constexpr std::size_t kEnoughSystems = 4;
  std::map<std::string, int> count[kSpreadClasses];
  for (const auto& row : rows) {
    if (row.judged && row.system != without) ++count[spread_class(*row.question)][row.system];
  }
  std::vector<std::pair<double, double>> residuals[kSpreadClasses];  // value, weight
  for (const auto& row : rows) {
    if (!row.judged || row.system == without) continue;
    const int c = spread_class(*row.question);
    residuals[c].emplace_back(std::log(row.measured_s / row.predicted_s), 1.0 / count[c][row.system]);
  }
  std::vector<Spread> out;
  for (int c = 0; c < kSpreadClasses; ++c) {
    out.push_back(count[c].size() < kEnoughSystems
                      ? builtin_spread(c)
                      : Spread{std::exp(weighted_quantile(residuals[c], 0.1)), std::exp(weighted_quantile(residuals[c], 0.9))});
  }
  return out;
}

std::vector<CollectiveRow> leave_one_system_out(std::vector<CollectiveRow> rows, int jobs) {
  const std::set<std::string> set = fit_systems(rows);
  const std::vector<std::string> systems(set.begin(), set.end());
  std::vector<Constants> constants(systems.size());
  for_each_index(systems.size(), jobs, [&](std::size_t i) { constants[i] = fit_collectives(rows, systems[i]).constants; });
  for (std::size_t i = 0; i < systems.size(); ++i) {
    for (auto& row : rows) {
      if (row.system == systems[i]) predict(row, constants[i]);
    }
  }
  std::map<std::string, std::vector<Spread>> spreads;
  for (const auto& system : systems) spreads[system] = system_spreads(rows, system);
  const std::vector<Spread> others = system_spreads(rows);
  for (auto& row : rows) {
    if (!row.question || !row.predicted()) continue;
    const auto own = spreads.find(row.system);
    const Spread& spread = (own == spreads.end() ? others : own->second)[std::size_t(spread_class(*row.question))];
    row.set_prediction(row.predicted_s, spread.low, spread.high);
  }
  return rows;
}

}  // namespace trunkline::validate
