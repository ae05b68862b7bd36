#include <algorithm>
#include <cmath>

#include "network/lossless.hpp"

namespace trunkline::network {
namespace {

constexpr std::size_t kNamed = 8;   // paused links and victims to name
constexpr double kTogether = 0.01;  // what ends within this part of the time so far ends together; a rate that rises by less has not risen

// One queue pair on its way to the end.
struct Part {
  LosslessFlow flow;
  std::size_t demand = 0;
  double left = 0, rate = 0;  // bytes, bytes per second
  double latency = 0;
  Bandwidth line;  // of its sender
};

struct Parts {
  std::vector<Part> parts;
  std::vector<bool> served;  // by demand
};

Parts parts_of(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& run) {
  Parts out;
  out.served.assign(demands.size(), true);
  const int pairs = std::max(1, run.queue_pairs);
  int lane = 0;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    const Demand& demand = demands[d];
    const std::int64_t each = demand.size.count() / pairs, rest = demand.size.count() % pairs;
    for (int q = 0; q < pairs; ++q) {
      Part part;
      if (!fabric.route({demand.source, demand.destination, q}, run.routing, part.flow.path)) out.served[d] = false;
      part.flow.size = Bytes(each + (q < rest ? 1 : 0));
      part.flow.lane = lane++;
      part.demand = d;
      part.left = double(part.flow.size.count());
      part.line = fabric.host_rate(fabric.sender({demand.source, demand.destination, q}, run.routing), Direction::up);
      part.latency = fabric.latency(fabric.sender({demand.source, demand.destination, q}, run.routing), demand.destination).si();
      out.parts.push_back(std::move(part));
    }
  }
  std::erase_if(out.parts, [&](const Part& part) { return !out.served[part.demand] || part.flow.path.empty() || part.left <= 0; });
  return out;
}

LosslessRates rates_of(const Fabric& fabric, const std::vector<Part>& parts, const LosslessOptions& options) {
  std::vector<LosslessFlow> flows;
  for (const Part& part : parts) {
    flows.push_back(part.flow);
    flows.back().size = scaled(Bytes(1), part.left);
  }
  return lossless_rates(fabric.capacities(), flows, options);
}

// All parts to the end; `done` takes the time of each demand's last byte. `lost`: what DCQCN does not send while rates come back.
double finish_of(const Fabric& fabric, std::vector<Part> parts, const LosslessOptions& options, std::vector<double>& done, double& lost) {
  double now = 0, finish = 0;
  while (!parts.empty()) {
    const auto rates = rates_of(fabric, parts, options);
    double stretch = kUnlimited;
    for (std::size_t i = 0; i < parts.size(); ++i) {
      Part& part = parts[i];
      const double rate = rates.real[i];
      if (options.kind == Lossless::pfc_dcqcn && part.rate > 0 && rate > part.rate * (1 + kTogether)) {
        // No more than what it loses if it never gets beyond its old rate.
        const double most = part.left * (rate / part.rate - 1);
        const double missed =
            std::min(most, double(dcqcn_recovery(byte_per_s(part.rate), byte_per_s(rate), part.line, options.dcqcn).lost.count()));
        part.left += missed;
        lost += missed;
      }
      part.rate = rate;
      if (rate > 0) stretch = std::min(stretch, part.left / rate);
    }
    if (!(stretch < kUnlimited)) break;  // over links of no capacity
    now += stretch;
    for (Part& part : parts) {
      part.left -= part.rate * stretch;
      if (part.left > part.rate * now * kTogether) continue;
      done[part.demand] = std::max(done[part.demand], now + part.latency);
      finish = std::max(finish, done[part.demand]);
      part.left = 0;
    }
    std::erase_if(parts, [](const Part& part) { return part.left <= 0; });
  }
  return finish;
}

}  // namespace

LosslessRun run_lossless(const Fabric& fabric, std::span<const Demand> demands, const RunOptions& run, const LosslessOptions& options) {
  const Parts all = parts_of(fabric, demands, run);
  LosslessRun out;
  out.flows = demands.size();
  out.unserved = std::size_t(std::count(all.served.begin(), all.served.end(), false));
  const auto rates = rates_of(fabric, all.parts, options);
  std::vector<double> fair(demands.size(), 0), real(demands.size(), 0);
  std::vector<bool> victim(demands.size(), false), moves(demands.size(), false);
  for (std::size_t i = 0; i < all.parts.size(); ++i) {
    const std::size_t d = all.parts[i].demand;
    moves[d] = true;
    fair[d] += rates.fair[i];
    real[d] += rates.real[i];
    victim[d] = victim[d] || rates.victim[i];
  }
  double count = 0, fair_sum = 0, real_sum = 0, victim_sum = 0, least_fair = kUnlimited, least = kUnlimited, least_victim = kUnlimited;
  for (std::size_t d = 0; d < demands.size(); ++d) {
    if (!moves[d]) continue;
    ++count;
    fair_sum += fair[d];
    real_sum += real[d];
    least_fair = std::min(least_fair, fair[d]);
    least = std::min(least, real[d]);
    if (!victim[d]) continue;
    ++out.victims;
    victim_sum += real[d];
    least_victim = std::min(least_victim, real[d]);
    if (out.victims_named.size() < kNamed)
      out.victims_named.push_back(fabric.host_name(demands[d].source) + " → " + fabric.host_name(demands[d].destination));
  }
  if (count > 0) {
    out.fair = {byte_per_s(fair_sum / count), byte_per_s(least_fair)};
    out.real = {byte_per_s(real_sum / count), byte_per_s(least)};
  }
  if (out.victims > 0) out.victim_rate = {byte_per_s(victim_sum / double(out.victims)), byte_per_s(least_victim)};
  for (const LinkId link : rates.paused) {
    if (out.paused.size() < kNamed) out.paused.push_back(fabric.name(link));
  }
  out.paused_links = rates.paused.size();
  double lost = 0, none = 0;
  LosslessOptions ideal = options;
  ideal.kind = Lossless::fair;
  std::vector<double> done(demands.size(), 0), real_done(demands.size(), 0);
  out.finish_fair = seconds(finish_of(fabric, all.parts, ideal, done, none));
  out.finish = options.kind == Lossless::fair ? out.finish_fair : seconds(finish_of(fabric, all.parts, options, real_done, lost));
  const auto mean_of = [&](const std::vector<double>& times) {
    double sum = 0;
    for (std::size_t d = 0; d < demands.size(); ++d) sum += moves[d] ? times[d] : 0;
    return seconds(count > 0 ? sum / count : 0);
  };
  out.completion_fair = mean_of(done);
  out.completion = options.kind == Lossless::fair ? out.completion_fair : mean_of(real_done);
  out.lost_to_convergence = scaled(Bytes(1), lost);
  return out;
}

}  // namespace trunkline::network
