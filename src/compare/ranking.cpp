#include "compare/ranking.hpp"

#include <algorithm>
#include <numeric>

#include "collectives/collective.hpp"

namespace trunkline::compare {
namespace {

namespace condition = measure::condition;

constexpr Bytes kLarge = gib(1);

// The metric of `probe` whose name begins with `quantity`@ at the largest or smallest size.
std::optional<Figure> measured_figure(const Offer& offer, const char* probe, const std::string& quantity, bool largest) {
  const measure::ProbeResult* p = offer.result ? offer.result->find(probe) : nullptr;
  if (!p || p->status != measure::Status::ok) return std::nullopt;
  const measure::Metric* best = nullptr;
  double best_size = 0;
  for (const auto& m : p->metrics) {
    if (!m.name.starts_with(quantity + "@") || !m.median()) continue;
    const double size = calibrate::number_of(m, condition::kSize).value_or(0);
    if (!best || (largest ? size > best_size : size < best_size)) best = &m, best_size = size;
  }
  if (!best) return std::nullopt;
  return Figure{*best->median(), true, std::string(probe) + " " + best->name};
}

std::optional<Figure> bandwidth_of(const Offer& offer) {
  if (auto busbw = measured_figure(offer, "collective.all_reduce", "busbw", true)) return busbw;
  const topology::Platform& p = offer.applied.platform;
  if (p.gpus() < 2) return std::nullopt;
  const auto domain = collectives::domain_of(p, {p.node.gpus, p.nodes, 1});
  const Seconds t = collectives::time_of(domain, collectives::Collective::all_reduce, kLarge).time;
  return Figure{(kLarge / t).si() * collectives::bus_factor(collectives::Collective::all_reduce, p.gpus()), false,
                "all-reduce of 1 GiB, model"};
}

std::optional<Figure> latency_of(const Offer& offer) {
  if (auto p50 = measured_figure(offer, "network.latency", "p50", false)) return p50;
  if (auto mean = measured_figure(offer, "network.latency", "mean", false)) return mean;
  return measured_figure(offer, "collective.all_reduce", "time", false);
}

Rank rank_of(const Offer& offer, const predict::Prediction& p) {
  Rank r;
  r.platform = offer.name;
  r.gpus = p.gpus;
  r.nodes = offer.applied.platform.nodes;
  r.bandwidth = bandwidth_of(offer);
  r.latency = latency_of(offer);
  r.step_s = p.step_s;
  r.low_s = p.interval.low_s;
  r.high_s = p.interval.high_s;
  r.steps_per_hour = 3600 / p.step_s;
  r.speedup = p.scaling.speedup;
  r.efficiency = p.scaling.efficiency;
  r.baseline_gpus = p.scaling.baseline_gpus;
  r.fits = p.memory.fits;
  if (p.hour) r.per_1000_steps = Money{p.hour->amount * 1000 / r.steps_per_hour, p.hour->currency};
  r.assumed = p.assumed;
  return r;
}

}  // namespace

Result<std::vector<Rank>> ranking_of(const workload::Job& job, const std::vector<Offer>& offers) {
  std::vector<Rank> out;
  for (const Offer& offer : offers) {
    TRUNKLINE_ASSIGN(prediction, predict::predict(job, predict::PlatformModel(offer.applied.platform, offer.applied.efficiencies)));
    out.push_back(rank_of(offer, prediction));
  }
  // What does not fit into memory comes last, whatever its time would be.
  std::vector<std::size_t> order(out.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(!out[a].fits, out[a].step_s) < std::pair(!out[b].fits, out[b].step_s);
  });
  std::vector<Rank> ranked;
  for (std::size_t i = 0; i < order.size(); ++i) {
    ranked.push_back(std::move(out[order[i]]));
    ranked.back().rank = int(i) + 1;
  }
  return ranked;
}

}  // namespace trunkline::compare
