#include "predict/plans.hpp"

#include <algorithm>

#include "workload/framework.hpp"
#include "workload/split_rules.hpp"

namespace trunkline::predict {

using workload::Job;
using workload::Parallelism;
using workload::Sharding;

namespace {

constexpr std::int64_t kTokensOfARank = 4096;  // context parallelism below that costs more than it splits

template <class N>
std::vector<N> divisors(N number) {
  std::vector<N> low, high;
  for (N d = 1; d * d <= number; ++d) {
    if (number % d != 0) continue;
    low.push_back(d);
    if (d != number / d) high.push_back(number / d);
  }
  low.insert(low.end(), high.rbegin(), high.rend());
  return low;
}

class Planner {
 public:
  Planner(const Job& job, const topology::Platform& platform)
      : job_(job), platform_(platform), within_model_(workload::splitting_of(job.framework).within_model) {}

  std::vector<Plan> all() {
    for (const int tp : tensor()) {
      for (const int cp : context()) {
        for (const int pp : pipeline(tp * cp)) {
          Parallelism p = job_.parallelism;
          p.tp = tp, p.cp = cp, p.pp = pp;
          const int copy = tp * cp * pp;
          p.dp = platform_.gpus() / copy;
          if ((!job_.open.dp && p.dp != job_.parallelism.dp) || job_.batch.global % p.dp != 0) continue;
          settle_sequence_parallel(p);
          add_shards(p);
        }
      }
    }
    return std::move(out_);
  }

 private:
  bool varies(bool open) const { return open && within_model_; }

  std::vector<int> tensor() const {
    if (!varies(job_.open.tp)) return {job_.parallelism.tp};
    const auto& node = platform_.node;
    std::vector<int> all = divisors(node.gpus);
    if (node.link_domain > node.gpus) {
      for (const int nodes : divisors(node.link_domain / node.gpus)) {
        if (nodes > 1) all.push_back(nodes * node.gpus);
      }
    }
    std::erase_if(all, [&](int tp) { return platform_.gpus() % tp != 0 || !workload::splits_over(job_.model, tp); });
    return all;
  }

  std::vector<int> context() const {
    if (!varies(job_.open.cp)) return {job_.parallelism.cp};
    std::vector<int> out = {1};
    if (job_.model.towers.size() != 1 || job_.model.towers.front().is_vision()) return out;
    const std::int64_t tokens = job_.model.towers.front().tokens(job_.batch.sequence);
    for (int cp = 2; tokens / cp >= kTokensOfARank && tokens % (2 * cp) == 0; cp *= 2) out.push_back(cp);
    return out;
  }

  std::vector<int> pipeline(int others) const {
    if (platform_.gpus() % others != 0) return {};
    const int left = platform_.gpus() / others;
    if (!varies(job_.open.pp)) return left % job_.parallelism.pp == 0 ? std::vector{job_.parallelism.pp} : std::vector<int>{};
    std::vector<int> out = divisors(left);
    std::erase_if(out, [&](int pp) { return !workload::holds_stages(job_.model, pp, 1); });
    return out;
  }

  // The framework's habit, where the sequence divides.
  void settle_sequence_parallel(Parallelism& p) const {
    if (!job_.open.sequence_parallel) return;
    const bool habit = workload::behaviour_of(job_.framework, platform_.node.gpu.generation).sequence_parallel;
    const std::int64_t tokens = job_.model.towers.front().tokens(job_.batch.sequence) / p.cp;
    p.sequence_parallel = habit && p.tp > 1 && tokens % p.tp == 0;
  }

  // Ranks that share an expert (0: as tp): as stated, else all of a tensor-parallel group or one.
  std::vector<int> widths(const Parallelism& p, int ep) const {
    if (job_.parallelism.etp > 0) return {job_.parallelism.etp};
    return ep > 1 && p.tp > 1 ? std::vector{0, 1} : std::vector{0};
  }

  struct ExpertSplit {
    int ep, etp;
  };
  std::vector<ExpertSplit> experts(const Parallelism& p) const {
    const auto& t = job_.model.towers.front();
    if (!varies(job_.open.ep) || t.experts.count == 0) return {{job_.parallelism.ep, job_.parallelism.etp}};
    std::vector<ExpertSplit> out;
    for (const int ep : divisors(t.experts.count)) {
      for (const int etp : widths(p, ep)) {
        if (std::int64_t(p.tp) * p.cp * p.dp % (std::int64_t(ep) * (etp > 0 ? etp : p.tp)) == 0) out.push_back({ep, etp});
      }
    }
    return out;
  }

  void add_shards(Parallelism p) {
    const int ranks = p.dp * p.cp;
    const auto shardings = job_.open.sharding ? workload::shardings(job_.framework, p.pp, ranks) : std::vector{p.sharding};
    for (const auto [ep, etp] : experts(p)) {
      p.ep = ep, p.etp = etp;
      for (const Sharding sharding : shardings) {
        p.sharding = sharding;
        p.shard_group = job_.parallelism.shard_group;
        if (sharding == Sharding::hsdp && p.shard_group == 0) p.shard_group = std::max(1, platform_.node.gpus / p.tp);
        const bool one_group = sharding == Sharding::hsdp && p.shard_group >= ranks;  // that is zero3
        if (job_.open.sharding && one_group) continue;
        if (sharding != Sharding::none && p.shard_group > 0 && ranks % std::min(ranks, p.shard_group) != 0) continue;
        add_batches(p);
      }
    }
  }

  void add_batches(Parallelism p) {
    const std::int64_t local = job_.batch.global / p.dp;
    for (const std::int64_t micro : job_.open.micro ? divisors(local) : std::vector{job_.batch.micro}) {
      if (local % micro != 0) continue;
      for (const int vpp : chunks(p, local / micro)) {
        p.vpp = vpp;
        out_.push_back({p, micro});
      }
    }
  }

  std::vector<int> chunks(const Parallelism& p, std::int64_t micro_batches) const {
    if (!varies(job_.open.vpp)) return {job_.parallelism.vpp};
    std::vector<int> out = {1};
    if (p.pp == 1 || p.schedule != workload::Schedule::one_f_one_b || micro_batches % p.pp != 0) return out;
    const int layers = job_.model.towers.front().layers;
    for (int vpp = 2; p.pp * vpp <= layers + 2; ++vpp) {
      if (workload::holds_stages(job_.model, p.pp, vpp)) out.push_back(vpp);
    }
    return out;
  }

  const Job& job_;
  const topology::Platform& platform_;
  bool within_model_;
  std::vector<Plan> out_;
};

}  // namespace

bool leaves_plan_open(const Job& job) {
  const auto& o = job.open;
  return o.tp || o.pp || o.vpp || o.cp || o.ep || o.sharding || o.micro;
}

std::vector<Plan> plans_of(const Job& job, const topology::Platform& platform) { return Planner(job, platform).all(); }

}  // namespace trunkline::predict
