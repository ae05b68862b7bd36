#include "workload/split_rules.hpp"

#include <algorithm>

namespace trunkline::workload {
namespace {

bool splits(const Tower& t, int tp) {
  if (t.heads % tp != 0 || t.ffn % tp != 0) return false;
  return t.latent.kv_rank > 0 || t.kv_heads % tp == 0 || tp % t.kv_heads == 0;
}

}  // namespace

bool splits_over(const Model& model, int tp) {
  return tp == 1 || std::all_of(model.towers.begin(), model.towers.end(), [tp](const Tower& t) { return splits(t, tp); });
}

bool holds_stages(const Model& model, int pp, int vpp) {
  if (pp == 1) return vpp == 1;
  if (model.towers.size() != 1) return false;
  const int layers = model.towers.front().layers, chunks = pp * vpp;
  if (vpp == 1) return pp <= layers;
  if (chunks > layers + 2) return false;
  return layers % chunks == 0 || (layers + 1) % chunks == 0 || (layers + 2) % chunks == 0;
}

Splitting splitting_of(Framework framework) {
  switch (framework) {
    // Data parallelism is all that these wrap around a model.
    case Framework::pytorch_eager:
    case Framework::pytorch_compile:
    case Framework::pytorch_ddp: return {.within_model = false, .hybrid = false, .shards_weights = true, .shards_stages = false};
    case Framework::pytorch_fsdp:
    case Framework::composer_fsdp: return {.within_model = false, .hybrid = true, .shards_weights = true, .shards_stages = true};
    case Framework::torchtitan:
    case Framework::maxtext:
    case Framework::pax:
    case Framework::ideal: return {.within_model = true, .hybrid = true, .shards_weights = true, .shards_stages = true};
    // Their pipelines accumulate whole gradients: only the optimizer is shared out beside them.
    case Framework::megatron_deepspeed:
    case Framework::internevo: return {.within_model = true, .hybrid = false, .shards_weights = true, .shards_stages = false};
    case Framework::megatron:
    case Framework::megatron_bridge:
    case Framework::nemo:
    case Framework::mlperf_nvidia: return {.within_model = true, .hybrid = false, .shards_weights = false, .shards_stages = false};
  }
  return {};
}

std::vector<Sharding> shardings(Framework framework, int pp, int ranks) {
  if (ranks == 1) return {Sharding::none};
  const Splitting has = splitting_of(framework);
  std::vector<Sharding> out = {Sharding::none, Sharding::zero1};
  if (!has.shards_weights || (pp > 1 && !has.shards_stages)) return out;
  out.insert(out.end(), {Sharding::zero2, Sharding::zero3});
  if (has.hybrid) out.push_back(Sharding::hsdp);
  return out;
}

}  // namespace trunkline::workload
