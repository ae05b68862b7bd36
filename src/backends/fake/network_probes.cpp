#include "backends/fake/probe.hpp"
#include "collectives/collective.hpp"

namespace trunkline::backends::fake {
namespace {

namespace condition = measure::condition;

constexpr double kTail99 = 1.25, kTail999 = 2;  // of the median latency; the fake's own

Result<void> check(const Model& model) {
  if (model.platform.nodes > 1 && model.platform.node.nics.count > 0) return {};
  return missing("the platform has no network between nodes");
}

measure::Conditions conditions_of(const Model& model, Bytes size) {
  measure::Conditions out;
  measure::set(out, condition::kSize, size.count());
  measure::set(out, "link_kind", std::string(model.platform.node.nics.kind == catalog::NicKind::infiniband ? "InfiniBand" : "Ethernet"));
  return out;
}

Result<Answer> network_bandwidth(const Model& model, const measure::Settings&) {
  TRUNKLINE_TRY(check(model));
  const topology::Nics& nics = model.platform.node.nics;
  const Bandwidth rate = std::min(nics.rate * nics.efficiency, nics.slot) * model.rate_left(FaultKind::slow_link);
  Answer answer;
  for (const auto& [name, size] :
       {std::pair("bandwidth@64KiB", kib(64)), std::pair("bandwidth@1MiB", mib(1)), std::pair("bandwidth@64MiB", mib(64))}) {
    // One message at a time in flight costs a latency each; many in flight hide all but a fraction of it.
    const double share = 1 / (1 + 0.1 * (nics.latency / (size / rate)));
    answer.points.push_back(
        {{bandwidth(name, nics.rate, "line rate of one NIC", conditions_of(model, size))}, {rate.si() * share}, milliseconds(200)});
  }
  return answer;
}

Result<Answer> network_latency(const Model& model, const measure::Settings&) {
  TRUNKLINE_TRY(check(model));
  const auto domain = collectives::domain_of(model.platform, {1, 2, 1});
  const double one_way = domain.network_latency.si() + 2 * model.platform.node.nics.latency.si();
  Answer answer;
  Truth truth;
  for (const auto& [name, factor] : {std::pair("p50@8B", 1.0), std::pair("p99@8B", kTail99), std::pair("p99.9@8B", kTail999)}) {
    truth.metrics.push_back({name, "s", measure::Better::lower, {}, {}, {}, {}, conditions_of(model, bytes(8))});
    truth.values.push_back(one_way * factor);
  }
  truth.cost = milliseconds(100);
  answer.points.push_back(std::move(truth));
  return answer;
}

Result<Answer> download(const Model& model, const measure::Settings&) {
  if (!model.platform.ingest) return missing("the platform file does not say how data gets in (ingest)");
  Answer answer;
  answer.points.push_back({{bandwidth("bandwidth", model.platform.ingest->line, "line rate of the platform file")},
                           {model.platform.ingest->line.si() * model.platform.ingest->efficiency},
                           seconds(2)});
  return answer;
}

}  // namespace

std::vector<Description> network_probes() {
  return {{"network.bandwidth", "what a link between two nodes carries", "two nodes with NICs", network_bandwidth},
          {"network.latency", "how long a small message takes between two nodes", "two nodes with NICs", network_latency},
          {"ingest.download", "how fast a dataset comes in", "a line to the outside", download}};
}

}  // namespace trunkline::backends::fake
