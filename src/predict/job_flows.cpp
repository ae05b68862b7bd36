#include "predict/job_flows.hpp"

#include <algorithm>

namespace trunkline::predict {
namespace {

using network::HostPair;
using network::Strand;
using Visit = std::function<void(const Strand&)>;

// Calls act(first rank) for every group of that shape.
template <class Act>
void for_each_group(int ranks, GroupShape shape, Act act) {
  const int block = shape.stride * shape.size;
  for (int begin = 0; begin + block <= ranks; begin += block) {
    for (int i = 0; i < shape.stride; ++i) act(begin + i);
  }
}

}  // namespace

JobFlows::JobFlows(const topology::NodeType& node, int ranks, std::vector<int> places)
    : gpus_(node.gpus),
      nics_(node.nics.count),
      domain_(std::max(1, node.link_domain / std::max(1, node.gpus)) * node.gpus),
      ranks_(ranks),
      places_(std::move(places)) {}

int JobFlows::host_of(int rank) const {
  const int gpu = rank % gpus_;
  return places_[std::size_t(rank / gpus_)] * nics_ + (nics_ >= gpus_ ? gpu * (nics_ / gpus_) : gpu * nics_ / gpus_);
}

void JobFlows::append_hosts(int rank, std::vector<int>& hosts) const {
  const int first = host_of(rank), beside = std::max(1, nics_ / gpus_);
  for (int i = 0; i < beside; ++i) {
    if (std::find(hosts.begin(), hosts.end(), first + i) == hosts.end()) hosts.push_back(first + i);
  }
}

network::TrafficKind JobFlows::rings(std::string name, GroupShape shape, int queue_pairs) const {
  const auto each = [self = *this, shape](const Visit& visit) {
    std::vector<std::vector<int>> domains;  // of one group: hosts beside its ranks there
    std::vector<HostPair> flows;
    std::uint32_t ring = 0;
    for_each_group(self.ranks_, shape, [&](int first) {
      domains.clear();
      int last = -1;
      for (int i = 0; i < shape.size; ++i) {
        const int rank = first + i * shape.stride;
        if (self.domain_of(rank) != last) domains.emplace_back();
        last = self.domain_of(rank);
        self.append_hosts(rank, domains.back());
      }
      if (domains.size() < 2) return;
      std::size_t rings = 0;
      for (const auto& hosts : domains) rings = std::max(rings, hosts.size());
      for (std::size_t c = 0; c < rings; ++c) {
        flows.clear();
        for (std::size_t d = 0; d < domains.size(); ++d) {
          const auto &here = domains[d], &next = domains[(d + 1) % domains.size()];
          flows.push_back({here[c % here.size()], next[c % next.size()]});
        }
        visit({flows, 1, 1.0 / double(rings), ring++});
      }
    });
  };
  return {std::move(name), queue_pairs, each};
}

network::TrafficKind JobFlows::exchanges(std::string name, GroupShape shape) const {
  const auto each = [self = *this, shape](const Visit& visit) {
    std::uint32_t flow = 0;
    for_each_group(self.ranks_, shape, [&](int first) {
      for (int i = 0; i < shape.size; ++i) {
        const int from = first + i * shape.stride;
        const auto away = [&](int j) { return self.domain_of(first + j * shape.stride) != self.domain_of(from); };
        int remote = 0;
        for (int j = 0; j < shape.size; ++j) remote += away(j) ? 1 : 0;
        for (int j = 0; j < shape.size; ++j) {
          if (!away(j)) continue;
          const HostPair pair{self.host_of(from), self.host_of(first + j * shape.stride)};
          visit({std::span(&pair, 1), 1.0 / remote, 1, flow++});
        }
      }
    });
  };
  return {std::move(name), 1, each};
}

network::TrafficKind JobFlows::pipelines(std::string name, GroupShape shape, bool wraps, int queue_pairs) const {
  const auto each = [self = *this, shape, wraps](const Visit& visit) {
    std::uint32_t pipeline = 0;
    for_each_group(self.ranks_, shape, [&](int first) {
      for (int s = 0; s < (wraps ? shape.size : shape.size - 1); ++s) {
        const int a = first + s * shape.stride, b = first + (s + 1) % shape.size * shape.stride;
        if (self.domain_of(a) == self.domain_of(b)) continue;
        const HostPair there{self.host_of(a), self.host_of(b)}, back{there.to, there.from};
        visit({std::span(&there, 1), 1, 1, pipeline});
        visit({std::span(&back, 1), 1, 1, pipeline});
      }
      ++pipeline;
    });
  };
  return {std::move(name), queue_pairs, each};
}

}  // namespace trunkline::predict
