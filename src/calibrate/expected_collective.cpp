// What a collective should give: the model of NCCL's algorithms over the platform's links.
#include <fmt/format.h>

#include <cmath>

#include "calibrate/expected.hpp"

namespace trunkline::calibrate {
namespace {

using collectives::Collective;

namespace condition = measure::condition;

constexpr Collective kKnown[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce,     Collective::all_to_all, Collective::send_recv};

std::optional<Collective> collective_named(std::string_view name) {
  for (Collective c : kKnown) {
    if (collectives::name_of(c) == name) return c;
  }
  return std::nullopt;
}

// Ranks on CPUs (Open MPI) pass through none of the links that a platform file describes.
bool on_gpus(const std::string& engine) { return engine.empty() || engine == "nccl" || engine == "rccl" || engine == "fake"; }

}  // namespace

Result<Expectation> expected_collective(const Machine& machine, const std::string& probe, const measure::Metric& metric) {
  const auto collective = collective_named(probe.substr(probe.find('.') + 1));
  if (!collective) return no_promise("no model of this collective");
  const std::string quantity = quantity_of(metric);
  const bool time = quantity == "time" || quantity == "time_in_place", busbw = quantity == "busbw" || quantity == "busbw_in_place";
  if (!time && !busbw && quantity != "algbw") return no_promise("no model of this quantity");
  if (!on_gpus(text_of(metric, condition::kEngine))) return no_promise("ranks on CPUs: not what a platform's GPU links carry");
  if (const std::string a = text_of(metric, "algorithm"); !a.empty() && a != "library") return no_promise("an algorithm of its own: " + a);
  const auto size = number_of(metric, condition::kSize), ranks = number_of(metric, condition::kRanks);
  if (!size || *size <= 0 || !ranks) return no_promise("the result does not record size and ranks");
  const topology::Platform& platform = machine.platform;
  const double nodes = number_of(metric, condition::kNodes).value_or(std::ceil(*ranks / platform.node.gpus));
  const double per_node = *ranks / nodes;
  if (*ranks < 2) return no_promise("one rank communicates with nobody");
  if (per_node != std::floor(per_node) || per_node > platform.node.gpus) return no_promise("more ranks a node than this platform has GPUs");
  if (nodes > platform.nodes) return no_promise(fmt::format("{:.0f} nodes; the platform has {}", nodes, platform.nodes));
  const auto domain = collectives::domain_of(platform, {int(per_node), int(nodes), 1}, machine.rates);
  const Seconds t = collectives::time_of(domain, *collective, Bytes(std::int64_t(*size))).time;
  if (!std::isfinite(t.si()) || t.si() <= 0) return no_promise("the platform has no network between nodes");
  const double factor = busbw ? collectives::bus_factor(*collective, int(*ranks)) : 1;
  const std::string source = fmt::format("collective model, {:.0f} ranks on {:.0f} node{}", *ranks, nodes, nodes > 1 ? "s" : "");
  return Expectation{time ? t.si() : *size / t.si() * factor, source};
}

}  // namespace trunkline::calibrate
