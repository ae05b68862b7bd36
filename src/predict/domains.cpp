#include <algorithm>

#include "predict/prediction.hpp"

namespace trunkline::predict {
namespace {

// A group of `size` ranks, neighbours `stride` ranks apart, on nodes of `per_node` GPUs filled in rank order. Groups of
// the same kind beside it share the node's NICs.
collectives::GroupLayout layout_of(int stride, int size, int per_node) {
  collectives::GroupLayout layout;
  const int in_node = stride >= per_node ? 1 : std::clamp(per_node / std::max(1, stride), 1, size);
  layout.ranks_per_node = in_node;
  layout.nodes = std::max(1, size / in_node);
  layout.sharing = std::max(1, per_node / in_node);
  return layout;
}

}  // namespace

PlatformModel::PlatformModel(const topology::Platform& platform)
    : platform_(platform), kernels_(platform.node.gpu), rates_(collectives::rates_of(platform.node)) {}

timeline::Domains domains_of(const workload::Parallelism& p, const PlatformModel& model) {
  const topology::Platform& platform = model.platform();
  const int per_node = platform.node.gpus;
  const auto domain = [&](int stride, int size) { return collectives::domain_of(platform, layout_of(stride, size, per_node), model.rates()); };
  timeline::Domains d;
  // Rank order, fastest first: tensor, context, data (expert groups inside data), pipeline.
  const int replicas = p.dp * p.cp;  // ranks that hold the same dense parameters
  d.tensor = domain(1, p.tp);
  d.context = domain(p.tp, p.cp);
  d.data = domain(p.tp, replicas);
  // Experts have their own tensor parallelism: tp·cp·dp ranks of a stage = etp · ep · ranks that hold the same experts.
  const int etp = p.etp > 0 ? p.etp : p.tp, ep = std::max(1, p.ep);
  d.expert_tensor = domain(1, etp);
  d.expert = domain(etp, ep);
  d.expert_data = domain(etp * ep, std::max(1, p.tp * replicas / (etp * ep)));
  const int group = p.shard_group > 0 ? p.shard_group : std::max(1, per_node / p.tp);
  const bool grouped = p.sharding == workload::Sharding::hsdp || (p.sharding != workload::Sharding::none && p.shard_group > 0);
  const int shard = grouped ? std::min(group, replicas) : replicas;
  d.shard = domain(p.tp, shard);
  d.replica = domain(p.tp * shard, std::max(1, replicas / shard));
  d.pipeline = domain(p.tp * replicas, std::min(p.pp, 2));
  return d;
}

}  // namespace trunkline::predict
