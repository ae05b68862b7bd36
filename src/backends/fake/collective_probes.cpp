#include <fmt/format.h>

#include "backends/fake/probe.hpp"
#include "collectives/collective.hpp"

namespace trunkline::backends::fake {
namespace {

using collectives::Collective;
namespace condition = measure::condition;

struct Size {
  const char* name;
  Bytes bytes;
};
const Size kSizes[] = {{"64KiB", kib(64)}, {"1MiB", mib(1)}, {"16MiB", mib(16)}, {"256MiB", mib(256)}, {"1GiB", gib(1)}};

// What all ranks together could pass round: the line rates of the links, or of a node's NICs where these are less.
std::pair<Bandwidth, std::string> limit_of(const topology::Platform& platform) {
  const topology::NodeType& node = platform.node;
  const bool links = node.gpu_links != topology::GpuLinks::none;
  std::pair<Bandwidth, std::string> limit = links ? std::pair(node.link_bandwidth, std::string("line rate of a GPU's links"))
                                                  : std::pair(node.pcie_line, std::string("line rate of a GPU's PCIe slot"));
  const Bandwidth nics = node.nics.rate * node.nics.count;
  if (platform.nodes > 1 && (nics < limit.first || node.gpus == 1)) limit = {nics, "line rate of a node's NICs"};
  return limit;
}

template <Collective kind>
Result<Answer> collective(const Model& model, const measure::Settings&) {
  const topology::Platform& platform = model.platform;
  const int ranks = platform.gpus();
  if (ranks < 2) return missing("one GPU alone has nobody to communicate with");
  auto domain = collectives::domain_of(platform, {platform.node.gpus, platform.nodes, 1});
  const double left = model.rate_left(FaultKind::slow_link);
  // A ring is as slow as its slowest link.
  if (platform.nodes > 1)
    domain.network = domain.network * left;
  else
    domain.ring = domain.ring * left, domain.pair = domain.pair * left, domain.link_bandwidth = domain.link_bandwidth * left;
  const auto [limit, source] = limit_of(platform);
  Answer answer;
  for (const Size& size : kSizes) {
    const Seconds time = collectives::time_of(domain, kind, size.bytes).time;
    measure::Conditions conditions;
    measure::set(conditions, condition::kSize, size.bytes.count());
    measure::set(conditions, condition::kRanks, std::int64_t(ranks));
    measure::set(conditions, condition::kNodes, std::int64_t(platform.nodes));
    measure::set(conditions, condition::kVerified, true);
    const double busbw = (size.bytes / time).si() * collectives::bus_factor(kind, ranks);
    measure::Metric elapsed{fmt::format("time@{}", size.name), "s", measure::Better::lower, {}, {}, {}, {}, conditions};
    answer.points.push_back({{bandwidth(fmt::format("busbw@{}", size.name), limit, source, conditions), elapsed},
                             {busbw, time.si()},
                             time * 20 + milliseconds(10)});
  }
  if (model.has(FaultKind::dying_rank)) {
    answer.error = Error{ErrorKind::failed,
                         fmt::format("rank {} of {} ended with signal 9 in the middle of a collective", ranks - 1, ranks),
                         {},
                         "look into that node's kernel log (dmesg): out of memory, or a GPU that fell off the bus"};
    answer.repetitions_before_error = 12;
  }
  return answer;
}

}  // namespace

std::vector<Description> collective_probes() {
  const std::string needs = "two GPUs or more";
  return {{"collective.all_reduce", "how fast all ranks sum a buffer", needs, collective<Collective::all_reduce>},
          {"collective.all_gather", "how fast all ranks collect everyone's part", needs, collective<Collective::all_gather>},
          {"collective.reduce_scatter", "how fast all ranks sum, each keeping a part", needs, collective<Collective::reduce_scatter>},
          {"collective.broadcast", "how fast one rank's buffer reaches all", needs, collective<Collective::broadcast>},
          {"collective.all_to_all", "how fast every rank sends a part to every other", needs, collective<Collective::all_to_all>}};
}

}  // namespace trunkline::backends::fake
