#include "workload/memory.hpp"

#include <algorithm>
#include <array>
#include <cmath>

namespace trunkline::workload {
namespace {

constexpr double kFourBit = 4.127 / 8;  // QLoRA (2305.14314): NF4 with double quantisation, bits a weight

// Absurd sizes saturate, low enough that all parts together stay countable.
Bytes to_bytes(double x) { return Bytes(std::llround(std::min(x, 1e18))); }

// Parameters of one tower, split by how parallelism shares them out.
struct TowerState {
  const Tower* tower = nullptr;
  TowerParameters parameters;
  double experts = 0;  // routed experts' parameters in one MoE layer
};

TowerState state_of(const Tower& t) {
  TowerState s{&t, parameters_of(t), 0};
  if (t.experts.count > 0) s.experts = double(t.experts.count) * (t.gated ? 3 : 2) * double(t.hidden) * double(t.experts.ffn);
  return s;
}

struct Layers {
  double dense = 0, experts = 0;
};

// Which layers a pipeline stage holds (job_check.cpp says which splits exist). Uneven stages: the first ones hold one more.
class Split {
 public:
  Split(const Tower& t, const Parallelism& p) : t_(t), pp_(p.pp), vpp_(p.vpp), chunks_(p.pp * p.vpp), every_(std::max(1, t.experts.every)) {
    for (const int ends : {0, 1, 2}) {
      if (vpp_ > 1 && (t.layers + ends) % chunks_ == 0) {
        equal_ = (t.layers + ends) / chunks_;
        first_short_ = ends == 2;
        break;
      }
    }
  }

  Layers of_stage(int stage) const {
    int all = 0, with_experts = 0;
    for (int v = 0; v < vpp_; ++v) {
      const int from = start(v * pp_ + stage), to = start(v * pp_ + stage + 1);
      all += to - from;
      with_experts += moe_before(to) - moe_before(from);
    }
    return {double(all - with_experts), double(with_experts)};
  }

  int first_stage_with_experts() const {
    for (int stage = 0; stage < pp_; ++stage) {
      if (start(stage + 1) > t_.experts.first_dense_layers) return stage;
    }
    return 0;
  }

 private:
  int start(int chunk) const {
    if (chunk >= chunks_) return t_.layers;
    if (equal_ > 0) return std::max(0, chunk * equal_ - (first_short_ ? 1 : 0));
    return chunk * (t_.layers / chunks_) + std::min(chunk, t_.layers % chunks_);
  }
  int moe_before(int layer) const {
    if (t_.experts.count == 0) return 0;
    return std::max(0, (layer - t_.experts.first_dense_layers + every_ - 1) / every_);
  }

  const Tower& t_;
  int pp_, vpp_, chunks_, every_;
  int equal_ = 0;
  bool first_short_ = false;
};

// Micro-batches whose activations a stage holds at once, in units of all its layers.
double in_flight(const Parallelism& p, int stage, double micro_batches) {
  if (p.pp == 1) return 1;
  switch (p.schedule) {
    case Schedule::gpipe: return micro_batches;
    case Schedule::zero_bubble_2p: return std::min(2.0 * (p.pp - stage) - 1, micro_batches);
    default: break;
  }
  if (p.vpp == 1) return std::min(double(p.pp - stage), micro_batches);
  const double chunks = 2.0 * (p.pp - stage - 1) + double(p.vpp - 1) * p.pp + 1;  // Megatron's warm-up, and the one in work
  return std::min(chunks, micro_batches * p.vpp) / p.vpp;
}

// Parameters of one stage on one GPU before data-parallel sharding.
struct StageState {
  double shared = 0;    // in data-parallel groups of dp·cp
  double experts = 0;   // in expert-data-parallel groups
  double layer = 0;     // the largest layer: what sharding gathers at once
  double output = 0;    // the output layer, where the stage holds it
  double matrix = 0;    // the widest single matrix
  double adapters = 0;  // LoRA's
  double plain = 0;     // of `shared`: embeddings and norms, which stay in 16 bits under QLoRA
};

double adapter_parameters(const Tower& t, const Job& job, double layers_dense, double layers_experts) {
  const double h = double(t.hidden), q = double(t.heads) * t.head_dim, kv = double(t.kv_heads) * t.head_dim, inputs = t.gated ? 2 : 1;
  const double attention = (h + q) + 2 * (h + kv) + (q + h);
  const double dense = job.lora.all_linear ? (inputs + 1) * (h + double(t.ffn)) : 0;
  const double experts = job.lora.all_linear ? (inputs + 1) * (h + double(t.experts.ffn)) * (t.experts.count + t.experts.shared) : 0;
  return job.lora.rank * (attention * (layers_dense + layers_experts) + dense * layers_dense + experts * layers_experts);
}

void add_tower(StageState& stage, const TowerState& s, const Job& job, const Layers& layers, bool first, bool last) {
  const Parallelism& p = job.parallelism;
  const Tower& t = *s.tower;
  const double tp = p.tp, etp = p.etp > 0 ? p.etp : p.tp;
  const double around_experts = s.parameters.moe_layer - s.experts;
  const double layer_experts = s.experts / (p.ep * etp);
  stage.shared += (s.parameters.layer * layers.dense + around_experts * layers.experts) / tp;
  stage.experts += layer_experts * layers.experts;
  if (layers.dense > 0) stage.layer = std::max(stage.layer, s.parameters.layer / tp);
  if (layers.experts > 0) stage.layer = std::max(stage.layer, around_experts / tp + layer_experts);
  stage.matrix = std::max(stage.matrix, double(t.hidden) * double(t.ffn) / tp);
  const double vocabulary = t.head ? double(t.vocab) * double(t.hidden) / tp : 0;
  double ends = (first ? s.parameters.embedding : 0) / tp + (last ? s.parameters.head : 0) / tp;
  if (last && !first && t.tied) ends += vocabulary;  // the last stage keeps its own copy of the embedding
  stage.shared += ends;
  stage.plain += ends;
  if (last) stage.output = std::max(stage.output, vocabulary);
  stage.adapters += adapter_parameters(t, job, layers.dense, layers.experts) / tp;
}

struct Shards {
  double shared = 1, experts = 1;
};

Shards shards_of(const Job& job, const MemoryRules& r) {
  const Parallelism& p = job.parallelism;
  if (p.sharding == Sharding::none) return {};
  const double etp = p.etp > 0 ? p.etp : p.tp;
  Shards s{double(p.dp) * p.cp, std::max(1.0, double(p.dp) * p.cp * p.tp / (p.ep * etp))};
  if (p.sharding == Sharding::hsdp) {
    const double group = p.shard_group > 0 ? p.shard_group : r.node_gpus;
    s.shared = std::min(s.shared, group);
    s.experts = std::min(s.experts, group);
  }
  return s;
}

double moments(Optimizer optimizer) {
  switch (optimizer) {
    case Optimizer::adamw: return 2;
    case Optimizer::lion:
    case Optimizer::sgd: return 1;
    case Optimizer::adafactor: return 0;  // a row and a column a matrix
  }
  return 2;
}

struct StateBytes {
  double weights = 0, gradients = 0, optimizer = 0, step_temporary = 0;
};

// Full training of `trained` parameters whose optimizer, gradients and weights are shared over `shards` as the sharding says.
StateBytes trained_state(double trained, double shards, const Job& job, const MemoryRules& r) {
  const Sharding sharding = job.parallelism.sharding;
  const bool all = sharding == Sharding::zero3 || sharding == Sharding::hsdp;
  const bool gradients = all || sharding == Sharding::zero2;
  StateBytes b;
  b.weights = trained * r.weight / (all || (sharding == Sharding::zero2 && r.gathers_weights) ? shards : 1);
  if (sharding == Sharding::zero2 && r.gathers_weights) b.weights += trained * r.gathered;
  if (!r.gathers_weights) b.weights += trained * r.weight_copies / (all ? shards : 1);
  b.gradients = trained * r.gradient / (gradients ? shards : 1);
  if (sharding == Sharding::none && job.parallelism.dp > 1) b.gradients += trained * r.gradient_buckets;
  b.optimizer = trained * (r.master + r.moment * moments(job.optimizer) + r.optimizer_gradient) / shards;
  b.step_temporary = trained * r.step_temporary / shards;
  return b;
}

double frozen_bytes(const StageState& stage, const Job& job, const MemoryRules& r, const Shards& shards) {
  const bool all = job.parallelism.sharding == Sharding::zero3 || job.parallelism.sharding == Sharding::hsdp;
  const double linear = job.kind == TrainingKind::qlora ? kFourBit : r.frozen;
  return (linear * (stage.shared - stage.plain) + 2 * stage.plain) / (all ? shards.shared : 1) +
         linear * stage.experts / (all ? shards.experts : 1);
}

void add_state(MemoryParts& parts, double& step_temporary, const StageState& stage, const Job& job, const MemoryRules& r) {
  const Shards shards = shards_of(job, r);
  StateBytes sum;
  const auto add = [&](const StateBytes& b) {
    sum.weights += b.weights;
    sum.gradients += b.gradients;
    sum.optimizer += b.optimizer;
    sum.step_temporary += b.step_temporary;
  };
  if (job.kind == TrainingKind::full) {
    add(trained_state(stage.shared, shards.shared, job, r));
    add(trained_state(stage.experts, shards.experts, job, r));
  } else {
    sum.weights = frozen_bytes(stage, job, r, shards);
    add(trained_state(stage.adapters, shards.shared, job, r));
  }
  parts.weights = to_bytes(sum.weights);
  parts.gradients = to_bytes(sum.gradients);
  parts.optimizer = to_bytes(sum.optimizer);
  step_temporary = sum.step_temporary;
}

struct Dynamic {
  double kept = 0;  // between forward and backward
  double logits = 0;
  double backward = 0;  // one layer's backward: what it computes again, and its gradients
  double last = 0;      // the same of the layer that runs it last, with what that layer had kept

  void beside_backward(double bytes) { backward += bytes, last += bytes; }
};

void add_activations(Dynamic& d, const Tower& t, const Job& job, const MemoryRules& r, const Layers& layers, double flight, bool first,
                     bool last) {
  const Parallelism& p = job.parallelism;
  const double tokens = double(job.batch.micro) * double(t.tokens(job.batch.sequence)) / (t.is_vision() ? 1 : p.cp);
  const double stream = double(t.hidden) * tokens * (p.sequence_parallel ? 1.0 / p.tp : 1);
  const double ffn = std::max(layers.dense > 0 ? double(t.ffn) : 0,
                              layers.experts > 0 ? double(t.experts.ffn) * (t.experts.per_token + t.experts.shared) : 0);
  const double gradients = r.element * (stream + (t.gated ? 3 : 2) * ffn / p.tp * tokens);
  for (const bool with_experts : {false, true}) {
    const double count = with_experts ? layers.experts : layers.dense;
    if (count == 0) continue;
    const LayerActivations a = layer_activations(t, job, r, with_experts);
    const double full = a.full * job.recompute_share + a.none * (1 - job.recompute_share);
    const double kept = job.recompute == Recompute::none ? a.none : job.recompute == Recompute::selective ? a.selective : full;
    d.kept += kept * count * flight;
    d.backward = std::max(d.backward, gradients + a.none - kept);
    d.last = std::max(d.last, gradients + a.none);
  }
  if (p.pp > 1 && r.keeps_stage_output) d.kept += r.residual * stream * flight;
  if (first && (t.dropout || (r.dropout && t.norm == Norm::layer))) d.kept += stream * flight;
  if (first && t.is_vision()) d.kept += 4.0 * double(job.batch.micro) * t.channels * t.image * t.image;
  if (!last) return;
  d.kept += (r.residual + r.element) * stream;  // inputs of the final norm and of the output layer
  if (t.head && t.vocab > 0) d.logits += r.logit * tokens * double(t.vocab) / p.tp;
}

MemoryParts stage_memory(const std::array<TowerState, 8>& towers, std::size_t count, const Job& job, const MemoryRules& r, int stage) {
  const Parallelism& p = job.parallelism;
  const bool first = stage == 0, last = stage == p.pp - 1;
  const double micro_batches = std::max(1.0, double(job.batch.global) / (double(p.dp) * double(job.batch.micro)));
  StageState state;
  Dynamic d;
  for (std::size_t i = 0; i < count; ++i) {
    const Tower& t = *towers[i].tower;
    const Layers layers = Split(t, p).of_stage(stage);
    add_tower(state, towers[i], job, layers, first, last);
    add_activations(d, t, job, r, layers, in_flight(p, stage, micro_batches), first, last);
  }
  if (job.model.kind == Model::Kind::contrastive) {  // both directions' similarities with the whole batch, and their gradients
    d.logits += 4 * 4.0 * double(job.batch.micro) * double(job.batch.global);
  }
  if (job.kind == TrainingKind::qlora) d.beside_backward(2 * state.matrix);  // one matrix in 16 bits at a time

  MemoryParts parts;
  parts.stage = stage;
  double step_temporary = 0;
  add_state(parts, step_temporary, state, job, r);
  const bool gathers = p.sharding == Sharding::zero3 || p.sharding == Sharding::hsdp ||
                       (r.gathers_weights && r.weight > r.gathered && p.sharding != Sharding::zero2);
  double gathered = 0;
  if (gathers) {
    gathered = r.gathered * (2 * state.layer + state.output);  // the layer in work, the next one, the output layer
    if (job.kind == TrainingKind::full) d.beside_backward((r.gathered + r.reduced) * std::max(state.layer, state.output));
  }
  double workspace = std::max(0.0, d.backward - d.logits);
  const double busy = d.kept + d.logits + workspace;
  if (r.frees_gradients && micro_batches <= 1) {
    // Gradients appear as activations go: the peak is the loss without them, or the end of backward with them, where the first layer's
    // activations are still there, kept or computed again.
    const double at_the_end = double(parts.gradients.count()) + std::max(d.last, step_temporary);
    parts.gradients = to_bytes(std::max(0.0, at_the_end - busy));
  } else {
    workspace += std::max(0.0, step_temporary - busy);
  }
  parts.weights += to_bytes(gathered);
  parts.activations = to_bytes(d.kept);
  parts.logits = to_bytes(d.logits);
  parts.workspace = to_bytes(workspace);
  const double stranded = job.recompute == Recompute::none || r.logit == 0 ? 0 : r.stranded_logit / r.logit * d.logits;
  parts.fragmentation = to_bytes(r.fragmentation * (busy + gathered) + stranded);
  const int groups = (p.tp > 1) + 2 * (p.pp > 1) + (p.dp * p.cp > 1) + (p.cp > 1) + (p.ep > 1) + (p.gpus() > 1);
  parts.communication = groups * r.communicator + (p.dp > 1 ? r.bucket : Bytes(0)) + (p.gpus() > 1 ? r.library : Bytes(0)) +
                        (std::min(p.ep, r.node_gpus) - 1) * r.all_to_all_peer;
  parts.framework = r.context;
  return parts;
}

}  // namespace

double checkpoint_bytes(const Job& job) {
  const MemoryRules r = memory_rules(job);
  double trained = job.model.parameters();
  if (job.kind != TrainingKind::full) {
    trained = 0;
    for (const Tower& t : job.model.towers) {
      const int with_experts = moe_layers(t);
      trained += adapter_parameters(t, job, t.layers - with_experts, with_experts);
    }
  }
  return trained * (r.weight + r.master + r.moment * moments(job.optimizer));
}

MemoryParts memory_of(const Job& job, const MemoryRules& rules) {
  std::array<TowerState, 8> towers;
  const std::size_t count = std::min(towers.size(), job.model.towers.size());
  for (std::size_t i = 0; i < count; ++i) towers[i] = state_of(job.model.towers[i]);
  MemoryParts worst = stage_memory(towers, count, job, rules, 0);
  const int pp = job.parallelism.pp;
  if (pp == 1 || count == 0) return worst;
  // The first stage holds the most micro-batches, the last one the logits; in between, memory only falls, except where
  // the first layers with experts lie behind dense ones.
  const int with_experts = Split(*towers[0].tower, job.parallelism).first_stage_with_experts();
  for (const int stage : {1, with_experts, with_experts + 1, pp - 1}) {
    if (stage <= 0 || stage >= pp) continue;
    const MemoryParts parts = stage_memory(towers, count, job, rules, stage);
    if (parts.total() > worst.total()) worst = parts;
  }
  return worst;
}

MemoryParts memory_needed(const Job& job) {
  const MemoryRules rules = memory_rules(job);
  MemoryParts parts = memory_of(job, rules);
  parts.fragmentation = Bytes(0);
  const Bytes in_use = parts.total() - parts.framework - parts.communication;
  parts.fragmentation = scaled(in_use, rules.pinned);
  return parts;
}

}  // namespace trunkline::workload
