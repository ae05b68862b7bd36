#include "validate/nccl_fit.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>

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
#define TRUNKLINE_KNOB(path) {#path, [](Constants& c) -> double& { return c.path; }}
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

// One question of the fit and all times measured for it: repeats, in place and out of place.
struct Sample {
  const CollectiveCase* question = nullptr;
  std::size_t system = 0;
  bool large = false;  // from 1 MiB on
  std::vector<double> log_measured;
};

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

// What the fit looks at, once for its thousands of evaluations.
struct Samples {
  std::vector<Sample> list;
  std::vector<int> large, small;  // rows of each system
};

Samples samples_of(const std::vector<CollectiveRow>& rows, const std::string& without) {
  Samples out;
  std::map<std::string, std::size_t> systems;
  std::map<std::tuple<std::size_t, collectives::Collective, std::int64_t, std::string, int, int>, std::size_t> questions;
  for (const auto& row : rows) {
    if (!row.question || !row.eligible || row.erratic || row.system == without) continue;
    const bool large = row.size >= mib(1);
    if (large && !gate_collective(row)) continue;
    const std::size_t system = systems.try_emplace(row.system, systems.size()).first->second;
    out.large.resize(systems.size());
    out.small.resize(systems.size());
    ++(large ? out.large : out.small)[system];
    const auto key = std::tuple(system, row.question->collective, row.size.count(), row.forced + row.question->options.nccl_version,
                                row.gpus, row.nodes);
    const auto [at, fresh] = questions.try_emplace(key, out.list.size());
    if (fresh) out.list.push_back({&*row.question, system, large, {}});
    out.list[at->second].log_measured.push_back(std::log(row.measured_s));
  }
  return out;
}

// The mean over systems of their mean.
double mean_over(const std::vector<double>& sums, const std::vector<int>& rows) {
  double total = 0;
  int systems = 0;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    if (rows[i] == 0) continue;
    total += sums[i] / rows[i];
    ++systems;
  }
  return systems == 0 ? 0 : total / systems;
}

double objective_of(const Samples& samples, const Constants& constants, const std::vector<Knob>& all, Constants prior) {
  std::vector<double> large(samples.large.size()), small(samples.small.size());
  for (const Sample& sample : samples.list) {
    const CollectiveCase& q = *sample.question;
    const double predicted = std::log(std::max(time_of(q.domain, q.collective, q.size, q.options, constants).time.si(), q.floor_s));
    for (const double measured : sample.log_measured) {
      const double miss = std::abs(predicted - measured);
      (sample.large ? large : small)[sample.system] += std::min(miss, sample.large ? kCut : kSmallCut);
    }
  }
  double pull = 0;
  Constants mine = constants;
  for (const auto& knob : all) pull += kPull * std::pow(std::log(knob.main(mine) / knob.main(prior)), 2);
  return mean_over(large, samples.large) + kSmallWeight * mean_over(small, samples.small) + pull;
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
  return objective_of(samples_of(rows, without), constants, knobs(), collective_priors());
}

CollectiveFit fit_collectives(const std::vector<CollectiveRow>& rows, const std::string& without) {
  const auto all = knobs();
  const Samples samples = samples_of(rows, without);
  const Constants prior = collective_priors();
  CollectiveFit fit;
  fit.constants = prior;
  fit.objective = objective_of(samples, fit.constants, all, prior);
  double step = kFirstStep;
  for (int round = 0; round < kRounds; ++round, step *= kStepShrinks) {
    for (const auto& knob : all) {
      for (const double factor : {1 + step, 1 / (1 + step)}) {
        Constants trial = fit.constants;
        knob.main(trial) *= factor;
        follow(trial);
        const double objective = objective_of(samples, trial, all, prior);
        if (objective >= fit.objective - 1e-7) continue;
        fit.constants = trial;
        fit.objective = objective;
      }
    }
  }
  Constants start = prior;
  for (const auto& knob : all) fit.values.push_back({knob.name, knob.main(start), knob.main(fit.constants)});
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
