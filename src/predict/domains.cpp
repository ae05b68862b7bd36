#include <algorithm>

#include "predict/groups.hpp"
#include "predict/prediction.hpp"
#include "timeline/power.hpp"

namespace trunkline::predict {
namespace {

// A group of `size` ranks, neighbours `stride` ranks apart, on nodes of `per_node` GPUs filled in rank order. Groups of
// the same kind beside it share the node's NICs. A group that does not fill its nodes evenly counts as one that does.
collectives::GroupLayout layout_of(int stride, int size, int per_node) {
  collectives::GroupLayout layout;
  const int most = stride >= per_node ? 1 : std::clamp(per_node / std::max(1, stride), 1, size);
  layout.nodes = (size + most - 1) / most;
  layout.ranks_per_node = (size + layout.nodes - 1) / layout.nodes;
  layout.sharing = std::max(1, per_node / most);
  layout.node_stride = std::max(1, stride / per_node);
  return layout;
}

// Two neighbouring stages of a pipeline whose stages are `stride` ranks: on one node (or in one NVLink domain) when the whole
// pipeline is, else as far apart as the farthest two.
collectives::GroupLayout neighbours_of(int stride, int stages, const topology::NodeType& node) {
  const int linked = std::max(node.gpus, node.link_domain);
  if (stages < 2 || stride * stages <= linked) return layout_of(stride, std::min(stages, 2), node.gpus);
  return {1, 2, std::clamp(stride, 1, node.gpus), std::max(1, linked / node.gpus)};
}

}  // namespace

PlatformModel::PlatformModel(const topology::Platform& platform)
    : PlatformModel(platform, kernels::Efficiencies::default_for(platform.node.gpu)) {}

PlatformModel::PlatformModel(const topology::Platform& platform, const kernels::Efficiencies& measured)
    : platform_(platform),
      kernels_(platform.node.gpu, measured),
      limited_(timeline::at_power_limit(platform.node.gpu, kernels_)),
      rates_(collectives::rates_of(platform.node)) {}

JobGroups groups_of(const workload::Parallelism& p, int per_node) {
  JobGroups g;
  const int replicas = p.dp * p.cp;  // ranks that hold the same dense parameters
  g.tensor = {1, p.tp};
  g.context = {p.tp, p.cp};
  g.data = {p.tp, replicas};
  // Experts have their own tensor parallelism: tp·cp·dp ranks of a stage = etp · ep · ranks that hold the same experts.
  const int etp = p.etp > 0 ? p.etp : p.tp, ep = std::max(1, p.ep);
  g.expert_tensor = {1, etp};
  g.expert = {etp, ep};
  g.expert_data = {etp * ep, std::max(1, p.tp * replicas / (etp * ep))};
  const int group = p.shard_group > 0 ? p.shard_group : std::max(1, per_node / p.tp);
  const bool grouped = p.sharding == workload::Sharding::hsdp || (p.sharding != workload::Sharding::none && p.shard_group > 0);
  const int shard = grouped ? std::min(group, replicas) : replicas;
  g.shard = {p.tp, shard};
  g.replica = {p.tp * shard, std::max(1, replicas / shard)};
  g.pipeline = {p.tp * replicas, p.pp};
  return g;
}

timeline::Domains domains_of(const workload::Parallelism& p, const PlatformModel& model) {
  const topology::Platform& platform = model.platform();
  const int per_node = platform.node.gpus;
  const auto domain = [&](GroupShape group) {
    return collectives::domain_of(platform, layout_of(group.stride, group.size, per_node), model.rates());
  };
  const JobGroups g = groups_of(p, per_node);
  timeline::Domains d;
  d.tensor = domain(g.tensor);
  d.context = domain(g.context);
  d.data = domain(g.data);
  d.expert_tensor = domain(g.expert_tensor);
  d.expert = domain(g.expert);
  d.expert_data = domain(g.expert_data);
  d.shard = domain(g.shard);
  d.replica = domain(g.replica);
  d.pipeline = collectives::domain_of(platform, neighbours_of(g.pipeline.stride, g.pipeline.size, platform.node), model.rates());
  return d;
}

}  // namespace trunkline::predict
