#include "predict/least_time.hpp"

#include <algorithm>

#include "timeline/pass_time.hpp"
#include "workload/operations.hpp"

namespace trunkline::predict {

using workload::Job;
using workload::Recompute;

LeastTime::Busy& LeastTime::Busy::operator+=(const Busy& o) {
  gpu += o.gpu, host += o.host;
  return *this;
}

LeastTime::Floor LeastTime::priced(const Job& job) const {
  const catalog::Gpu& gpu = platform_.platform().node.gpu;
  const workload::Behaviour behaviour = workload::behaviour_of(job, gpu.generation);
  const workload::StepWork work = workload::operations_of(job, behaviour);
  const timeline::Domains domains = domains_of(job.parallelism, platform_);
  const timeline::Pricer pricer(platform_.kernels(), platform_.kernels(), gpu, domains, behaviour, options_.effects, options_.collectives);
  const double factor = options_.effects.fitted ? factor_ : 1;
  const auto price = [&](const workload::Pass& pass) {
    const timeline::PassTime t = pricer.price(pass);
    return Busy{factor * (t.matrix_s + t.memory_s) + t.exposed_s, factor * t.host_s};
  };
  const auto both = [&](const workload::Pass& forward, const workload::Pass& backward) {
    Busy sum = price(forward);
    return sum += price(backward);
  };
  const auto lesser = [](const Busy& a, const Busy& b) { return Busy{std::min(a.gpu, b.gpu), std::min(a.host, b.host)}; };
  Floor floor;
  bool first = true;
  for (const auto& tower : work.towers) {
    for (const workload::LayerWork* layer : {&tower.dense, &tower.experts}) {
      if (layer->count == 0) continue;
      const Busy one = both(layer->forward, layer->backward), again = price(layer->recompute);
      floor.layers += one * layer->count;
      floor.recompute += again * layer->count;
      floor.least_layer = first ? one : lesser(floor.least_layer, one);
      floor.least_layer_repeats = first ? again : lesser(floor.least_layer_repeats, again);
      first = false;
    }
    floor.last = both(tower.after_forward, tower.after_backward);
    floor.ends += floor.last;
    floor.ends += both(tower.before_forward, tower.before_backward);
  }
  return floor;
}

double LeastTime::of(const Job& job) {
  const auto& p = job.parallelism;
  const Key key{p.tp, p.cp, p.ep, p.etp, job.batch.micro, int(job.recompute), p.sequence_parallel};
  auto found = floors_.find(key);
  if (found == floors_.end()) found = floors_.emplace(key, priced(job)).first;
  const Floor& floor = found->second;
  const double again = job.recompute == Recompute::full ? job.recompute_share : 1;
  const double micro_batches = double(job.batch.global / (job.batch.micro * p.dp));
  Busy all = floor.layers;
  all += floor.recompute * again;
  all += floor.ends;
  const double busy = micro_batches * all.total() / p.pp;
  const bool zero_bubble = p.schedule == workload::Schedule::zero_bubble_1p || p.schedule == workload::Schedule::zero_bubble_2p;
  constexpr double kRounding = 1 - 1e-9;  // the timeline counts picoseconds
  if (p.pp == 1 || zero_bubble || !options_.effects.bubbles) return busy * kRounding;
  const int in_chunk = job.model.towers.front().layers / (p.pp * p.vpp);
  Busy chunk = floor.least_layer;
  chunk += floor.least_layer_repeats * again;
  chunk = chunk * in_chunk;
  // A chunk without the output layer takes the longer of its two times; so may the last stage take the output layer's in both.
  Busy last = chunk * p.vpp;
  last += floor.last;
  return std::max(busy, (p.pp - 1) * chunk.total() + micro_batches * last.total()) * kRounding;
}

}  // namespace trunkline::predict
