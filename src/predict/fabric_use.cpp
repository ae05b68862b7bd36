#include "predict/fabric_use.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "network/placement.hpp"
#include "network/platform_fabric.hpp"
#include "predict/job_flows.hpp"
#include "predict/prediction.hpp"

namespace trunkline::predict {
namespace {

using timeline::Domains;
using timeline::GroupTimes;

constexpr int kQueuePairs = 4;  // NCCL's channels over one NIC, a connection each (collectives: two to four across nodes)

struct Kind {
  network::TrafficKind traffic;
  collectives::Domain Domains::* domain;
  double GroupTimes::* busy;
  bool reduces = false;  // of gradients, or what an optimizer shards: what the passes do not hide comes after them, when nothing else runs
};

bool exchanges(const workload::StepWork& work, workload::Group group) {
  const auto in = [&](const workload::Pass& pass) {
    return std::any_of(pass.ops.begin(), pass.ops.end(), [&](const workload::Op& op) {
      return op.kind == workload::Op::Kind::exchange && op.group == group && op.exchange == workload::Exchange::all_to_all;
    });
  };
  return std::any_of(work.towers.begin(), work.towers.end(),
                     [&](const workload::TowerWork& tower) { return in(tower.dense.forward) || in(tower.experts.forward); });
}

// An all-to-all has a flow for every pair of ranks: more than these would not fit the memory of most machines.
Result<void> check_size(const FabricInput& in, const Domains& domains) {
  constexpr double kMostFlows = 2e7;
  const double ranks = in.job.parallelism.gpus();
  for (const auto& [group, domain] : {std::pair{workload::Group::context, &domains.context}, {workload::Group::expert, &domains.expert}}) {
    const double flows = ranks * (domain->ranks() - 1);
    if (domain->nodes < 2 || flows <= kMostFlows || !exchanges(in.work, group)) continue;
    return bad_input({in.job.file, 0},
                     fmt::format("{:.0f} flows of all-to-alls among {} ranks each: too many to follow one by one", flows, domain->ranks()),
                     fmt::format("at most {:.0f} are; a smaller group, or --network nic", kMostFlows));
  }
  return {};
}

std::vector<Kind> kinds_of(const FabricInput& in, const JobFlows& flows, int pairs) {
  const auto& p = in.job.parallelism;
  const JobGroups g = groups_of(p, in.platform.platform().node.gpus);
  const bool in_passes = p.sharding == workload::Sharding::zero3 || p.sharding == workload::Sharding::hsdp;
  const auto collective = [&](const char* name, GroupShape shape, workload::Group group) {
    return exchanges(in.work, group) ? flows.exchanges(name, shape) : flows.rings(name, shape, pairs);
  };
  return {
      {flows.rings("tensor-parallel", g.tensor, pairs), &Domains::tensor, &GroupTimes::tensor},
      {collective("context-parallel", g.context, workload::Group::context), &Domains::context, &GroupTimes::context},
      {collective("expert-parallel", g.expert, workload::Group::expert), &Domains::expert, &GroupTimes::expert},
      {flows.rings("expert tensor-parallel", g.expert_tensor, pairs), &Domains::expert_tensor, &GroupTimes::expert_tensor},
      {flows.rings("data-parallel", g.data, pairs), &Domains::data, &GroupTimes::data, !in_passes},
      {flows.rings("expert data-parallel", g.expert_data, pairs), &Domains::expert_data, &GroupTimes::expert_data, !in_passes},
      {flows.rings("sharded weights", g.shard, pairs), &Domains::shard, &GroupTimes::shard, !in_passes},
      {flows.rings("replicas of sharded weights", g.replica, pairs), &Domains::replica, &GroupTimes::replica},
      {flows.pipelines("pipeline", g.pipeline, p.vpp > 1, pairs), &Domains::pipeline, &GroupTimes::pipeline},
  };
}

class FixedPoint {
 public:
  FixedPoint(const FabricInput& in, network::Contention& contention, std::vector<Kind> kinds, const Domains& nics)
      : in_(in),
        contention_(contention),
        kinds_(std::move(kinds)),
        nics_(nics),
        share_(kinds_.size(), 1),
        busy_(kinds_.size(), 0),
        in_passes_(busy_) {}

  void run() {
    constexpr int kMostRounds = 200;
    constexpr double kSettled = 1e-13;
    double moved = 1;
    for (int round = 0; round < kMostRounds && moved > kSettled; ++round) {
      std::vector<double> next(kinds_.size());
      for (std::size_t k = 0; k < kinds_.size(); ++k) next[k] = expected_share(k);
      moved = round > 0 ? 0 : 1;
      for (std::size_t k = 0; k < kinds_.size(); ++k) moved = std::max(moved, std::abs(share_[k] - next[k]));
      share_ = next;
      measure();
    }
  }

  Domains domains() const {
    Domains d = nics_;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      auto& domain = d.*kinds_[k].domain;
      domain.network = domain.network * share_[k];
    }
    // One group under two names: gradients and weights of a sharded optimizer.
    const auto same = [](const collectives::Domain& a, const collectives::Domain& b) {
      return a.ranks_per_node == b.ranks_per_node && a.nodes == b.nodes;
    };
    if (same(nics_.data, nics_.shard)) d.data.network = d.shard.network = std::min(d.data.network, d.shard.network);
    return d;
  }

  double share(std::size_t k) const { return share_[k]; }
  double busy(std::size_t k) const { return busy_[k]; }
  double step_s() const { return step_s_; }

 private:
  // How long the step takes with the present shares, and how busy each kind is in it.
  void measure() {
    const timeline::StepResult step = in_.time_step(domains());
    const GroupTimes times = in_.group_times(domains());
    step_s_ = double(step.parts.total) * 1e-12;
    double reducing = 0;
    for (const Kind& kind : kinds_) reducing += kind.reduces ? times.*kind.busy : 0;
    const double after = std::min(step.detail.data_s, reducing);
    hidden_ = reducing > 0 ? 1 - after / reducing : 0;
    for (std::size_t k = 0; k < kinds_.size(); ++k) {
      const double busy = times.*kinds_[k].busy;
      busy_[k] = std::clamp(busy / step_s_, 0.0, 1.0);
      in_passes_[k] = std::clamp(busy * (kinds_[k].reduces ? hidden_ : 1) / (step_s_ - after), 0.0, 1.0);
    }
  }

  double expected_share(std::size_t k) {
    const double beside = share_in_passes(k);
    return kinds_[k].reduces ? hidden_ * beside + (1 - hidden_) * contention_.shares(1U << k)[k].slowest : beside;
  }

  // Over all sets of the other kinds, each active by itself as long as it is busy.
  double share_in_passes(std::size_t k) {
    const std::uint32_t own = 1U << k;
    double sum = 0;
    for (std::uint32_t others = 0; others < 1U << kinds_.size(); ++others) {
      if (others & own) continue;
      double probability = 1;
      for (std::size_t j = 0; j < kinds_.size(); ++j) {
        if (j != k) probability *= others >> j & 1 ? in_passes_[j] : 1 - in_passes_[j];
      }
      if (probability > 0) sum += probability * contention_.shares(own | others)[k].slowest;
    }
    return sum;
  }

  const FabricInput& in_;
  network::Contention& contention_;
  std::vector<Kind> kinds_;
  const Domains& nics_;
  std::vector<double> share_, busy_, in_passes_;  // busy: of the step, of its passes
  double hidden_ = 0;                             // part of gradient traffic that runs beside the passes
  double step_s_ = 0;
};

std::string words_of(const network::ClosSpec& spec, const network::Clos& clos, const topology::Fabric& fabric) {
  std::string out =
      fmt::format("{} tier{} of {}-port switches, {} leaves", spec.tiers, spec.tiers == 1 ? "" : "s", fabric.ports, clos.leaves());
  if (fabric.rail_only)
    out += ", rail-only";
  else if (fabric.rail_optimised)
    out += ", rail-optimised";
  if (fabric.oversubscription != 1) out += fmt::format(", {:g}:1", fabric.oversubscription);
  return out + fmt::format(", {} routing, {} placement", topology::name_of(fabric.routing), topology::name_of(fabric.placement));
}

}  // namespace

Result<FabricUse> limit_by_fabric(const FabricInput& in, Domains& domains) {
  const topology::Platform& platform = in.platform.platform();
  const topology::Fabric& fabric = platform.fabric;
  TRUNKLINE_TRY(check_size(in, domains));
  TRUNKLINE_ASSIGN(spec, network::clos_of(platform));
  TRUNKLINE_ASSIGN(clos, network::Clos::build(spec));
  const network::ClosFabric links(std::make_shared<const network::Clos>(std::move(clos)));
  const int island = std::max(1, platform.node.link_domain / std::max(1, platform.node.gpus));
  const int on_leaf = std::max(1, spec.rails > 1 ? spec.hosts_per_leaf : spec.hosts_per_leaf / platform.node.nics.count);
  const JobFlows flows(platform.node, in.job.parallelism.gpus(),
                       network::place_nodes({fabric.placement, platform.nodes, island, on_leaf, fabric.seed}));
  FabricUse use;
  use.fabric = words_of(spec, links.clos(), fabric);
  use.queue_pairs = fabric.queue_pairs > 0 ? fabric.queue_pairs : kQueuePairs;
  use.nic_step_s = double(in.time_step(domains).parts.total) * 1e-12;

  network::Contention contention(links, network::routing_of(fabric, fabric.seed));
  const GroupTimes times = in.group_times(domains);
  std::vector<Kind> crossing;
  for (Kind& kind : kinds_of(in, flows, use.queue_pairs)) {
    if (!(times.*kind.busy > 0) || (domains.*kind.domain).nodes < 2) continue;
    contention.add(kind.traffic);
    crossing.push_back(std::move(kind));
  }
  FixedPoint point(in, contention, crossing, domains);
  point.run();
  for (std::size_t k = 0; k < crossing.size(); ++k) {
    KindUse kind;
    kind.name = crossing[k].traffic.name;
    kind.flows = contention.flows(int(k));
    kind.busy = point.busy(k);
    kind.share = point.share(k);
    const auto& alone = contention.shares(1U << k)[k];
    kind.alone = alone.slowest;
    kind.mean = alone.mean;
    if (const auto hot = contention.hottest(1U << k, 1); !hot.empty())
      kind.hottest = hot.front().name, kind.asked = hot.front().utilisation;
    use.flows += kind.flows;
    use.unserved += contention.unserved(int(k));
    use.kinds.push_back(std::move(kind));
  }
  use.solves = contention.solves();
  use.step_s = point.step_s();
  domains = point.domains();
  return use;
}

}  // namespace trunkline::predict
