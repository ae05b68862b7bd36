// Random jobs on random platforms, as a search meets them: everything settled, everything dividing.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <vector>

#include "base/rng.hpp"
#include "predict/prediction.hpp"

namespace trunkline::property {

struct Case {
  workload::Job job;
  topology::Platform platform;
};

template <class T>
const T& one_of(Rng& rng, const std::vector<T>& choices) {
  return choices[rng.below(choices.size())];
}

inline const std::vector<topology::NodeType>& node_types() {
  static const std::vector<topology::NodeType> nodes = [] {
    std::vector<topology::NodeType> all;
    for (const auto& entry : topology::node_catalog()) all.push_back(entry.node);
    return all;
  }();
  return nodes;
}

inline const std::vector<workload::Model>& models() {
  static const std::vector<workload::Model> all = [] {
    std::vector<workload::Model> out;
    for (const char* name : {"llama-3.2-1b", "llama-2-7b", "llama-2-70b", "gpt2-xl", "gpt3-175b", "mixtral-8x7b", "qwen3-30b-a3b",
                             "deepseek-v3", "vit-l-16", "clip-vit-l-14", "bert-large", "mpt-7b", "gpt-neox-20b"}) {
      out.push_back(*workload::builtin_model(name));
    }
    return out;
  }();
  return all;
}

inline topology::Platform random_platform(Rng& rng) {
  topology::Platform p;
  p.name = "random";
  p.node = one_of(rng, node_types());
  p.nodes = 1 << rng.below(6);
  if (p.node.nics.count == 0) p.nodes = 1;
  p.fabric.present = p.nodes > 1;
  p.fabric.kind = p.node.nics.kind;
  if (rng.below(2) == 0) p.ingest = topology::Ingest{gbit_per_s(1 + 40 * rng.uniform()), 0.5 + 0.5 * rng.uniform()};
  if (rng.below(2) == 0) {
    topology::Volume volume;
    volume.read = gbyte_per_s(0.2 + 10 * rng.uniform());
    volume.write = gbyte_per_s(0.2 + 10 * rng.uniform());
    volume.iops = rng.below(2) == 0 ? 0 : 1e4 + 1e5 * rng.uniform();
    p.volume = volume;
  }
  if (rng.below(2) == 0) p.reliability = {seconds(3600.0 * double(100 + rng.below(5000))), seconds(600)};
  return p;
}

// Degrees of tensor, pipeline, context and expert parallelism that divide both the model and the GPUs.
inline workload::Parallelism random_parallelism(Rng& rng, const workload::Model& model, int gpus, int node_gpus) {
  workload::Parallelism p;
  const workload::Tower& t = model.towers.front();
  const auto may = [&](int degree) { return gpus % (p.tp * p.pp * p.cp * degree) == 0; };
  const auto splits = [&](int tp) {
    return std::all_of(model.towers.begin(), model.towers.end(),
                       [&](const auto& tower) { return tower.heads % tp == 0 && (tower.kv_heads % tp == 0 || tp % tower.kv_heads == 0); });
  };
  const int tp = 1 << rng.below(4);
  if (tp <= node_gpus && may(tp) && splits(tp)) p.tp = tp;
  const int pp = 1 << rng.below(4);
  if (model.towers.size() == 1 && pp <= t.layers && may(pp)) p.pp = pp;
  if (p.pp > 1 && rng.below(2) == 0 && t.layers % (p.pp * 2) == 0) p.vpp = 2;
  const int cp = 1 << rng.below(2);
  if (!t.is_vision() && model.towers.size() == 1 && may(cp)) p.cp = cp;
  p.dp = gpus / (p.tp * p.pp * p.cp);
  if (t.experts.count > 0) {
    p.etp = rng.below(2) == 0 ? 1 : p.tp;
    const int ep = 1 << rng.below(4);
    if (t.experts.count % ep == 0 && (p.tp * p.cp * p.dp) % (ep * p.etp) == 0) p.ep = ep;
  }
  p.sharding = workload::Sharding(rng.below(5));
  p.sequence_parallel = p.tp > 1 && rng.below(2) == 0;
  if (p.vpp == 1) p.schedule = workload::Schedule(rng.below(4));
  return p;
}

inline Case random_case(Rng& rng) {
  Case c;
  c.platform = random_platform(rng);
  workload::Job& job = c.job;
  job.model = one_of(rng, models());
  job.framework = workload::Framework(rng.below(15));
  job.parallelism = random_parallelism(rng, job.model, c.platform.gpus(), c.platform.node.gpus);
  if (rng.below(8) == 0 && job.model.towers.front().vocab > 0) job.kind = workload::TrainingKind::lora;
  job.optimizer = workload::Optimizer(rng.below(4));
  job.recompute = workload::Recompute(rng.below(3));
  if (job.recompute == workload::Recompute::full && rng.below(2) == 0) job.recompute_share = rng.uniform();
  const catalog::Precision precisions[] = {catalog::Precision::bf16, catalog::Precision::fp16, catalog::Precision::fp8,
                                           catalog::Precision::fp4, catalog::Precision::fp32};
  job.precision.compute = precisions[rng.below(5)];
  const bool narrow = job.precision.compute == catalog::Precision::fp8 || job.precision.compute == catalog::Precision::fp4;
  if (narrow && !c.platform.node.gpu.supports(job.precision.compute)) job.precision.compute = catalog::Precision::bf16;
  job.precision.parameters = workload::parameter_habit(job.framework, job.precision.compute);
  job.compile = rng.below(2) == 0;
  if (rng.below(3) == 0) job.flash_attention = rng.below(2) == 0;
  job.batch.micro = std::int64_t(1) << rng.below(4);
  job.batch.sequence = std::int64_t(256) << rng.below(4);
  job.batch.global = job.batch.micro * job.parallelism.dp * std::int64_t(1 + rng.below(12));
  if (rng.below(2) == 0) {
    workload::Data data;
    data.samples = 1e5 + 1e7 * rng.uniform();
    data.bytes_per_sample = Bytes(1000 + std::int64_t(rng.below(5'000'000)));
    data.source = workload::DataSource(rng.below(3));
    data.staging = data.source == workload::DataSource::ingest ? workload::Staging(rng.below(3)) : workload::Staging::none;
    job.data = data;
    if (rng.below(2) == 0) job.run.epochs = 1 + double(rng.below(5));
  }
  if (rng.below(2) == 0) {
    job.checkpoint = workload::Checkpoint{std::int64_t(1 + rng.below(2000)), workload::CheckpointTarget(rng.below(2)),
                                          workload::CheckpointMode(rng.below(2))};
  }
  if (!job.run.epochs && rng.below(2) == 0) job.run.steps = double(100 + rng.below(100'000));
  return c;
}

inline std::string described(const Case& c) {
  const auto& p = c.job.parallelism;
  return c.job.model.name + " with " + workload::name_of(c.job.framework) + " on " + std::to_string(c.platform.nodes) + " × " +
         c.platform.node.id + ", tp " + std::to_string(p.tp) + ", pp " + std::to_string(p.pp) + ", vpp " + std::to_string(p.vpp) + ", cp " +
         std::to_string(p.cp) + ", ep " + std::to_string(p.ep) + ", etp " + std::to_string(p.etp) + ", dp " + std::to_string(p.dp) + ", " +
         workload::name_of(p.sharding) + ", " + workload::name_of(p.schedule) + ", recompute " + workload::name_of(c.job.recompute) +
         ", micro " + std::to_string(c.job.batch.micro) + ", global " + std::to_string(c.job.batch.global) + ", sequence " +
         std::to_string(c.job.batch.sequence) + ", " + catalog::name_of(c.job.precision.compute);
}

}  // namespace trunkline::property
