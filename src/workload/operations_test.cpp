#include "workload/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace trunkline::workload {
namespace {

// A job with nothing left open: one GPU, one sample of `sequence` tokens a micro-batch.
Job job_of(const Model& model, std::int64_t sequence = 512) {
  Job job;
  job.model = model;
  job.framework = Framework::megatron;
  job.batch = {8, 1, sequence};
  return job;
}

Job job_of(const std::string& name, std::int64_t sequence = 512) { return job_of(*builtin_model(name), sequence); }

Behaviour plain() {
  Behaviour b;
  b.tensor_overlap = 0.5;
  return b;
}

StepWork work_of(const Job& job, bool sequence_parallel = false) {
  Behaviour b = plain();
  b.sequence_parallel = sequence_parallel;
  return operations_of(job, b);
}

// What a kernel computes of the model's mathematics: attention counted over the whole score matrix, its backward twice the
// forward (what flash kernels compute again is theirs).
double flops(const Op& op) {
  if (op.kind == Op::Kind::gemm) return 2 * op.batch * op.m * op.n * op.k;
  if (op.kind != Op::Kind::attention) return 0;
  return (op.backward ? 8 : 4) * op.sequences * op.heads * op.query_length * op.key_length * op.head_dim;
}

double flops(const Pass& pass, Op::Kind kind) {
  double sum = 0;
  for (const Op& op : pass.ops) sum += op.kind == kind ? flops(op) : 0;
  return sum;
}
double flops(const Pass& pass) { return flops(pass, Op::Kind::gemm) + flops(pass, Op::Kind::attention); }

// Sums over one GPU of a single pipeline stage.
template <class Of>
double over_layers(const StepWork& work, Of of) {
  double sum = 0;
  for (const TowerWork& t : work.towers) sum += t.dense.count * of(t.dense) + t.experts.count * of(t.experts);
  return sum;
}
double forward_flops(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return flops(l.forward); });
  for (const TowerWork& t : work.towers) sum += flops(t.before_forward) + flops(t.after_forward);
  return sum;
}
double backward_flops(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return flops(l.backward); });
  for (const TowerWork& t : work.towers) sum += flops(t.before_backward) + flops(t.after_backward);
  return sum;
}
double parameters(const StepWork& work) {
  double sum = over_layers(work, [](const LayerWork& l) { return l.parameters; });
  for (const TowerWork& t : work.towers) sum += t.before_parameters + t.after_parameters;
  return sum;
}

const Op* find(const Pass& pass, const std::string& name) {
  for (const Op& op : pass.ops) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

struct Traffic {
  int count = 0;
  double bytes = 0;
};
Traffic exchanged(const Pass& pass, Exchange exchange, Group group) {
  Traffic t;
  for (const Op& op : pass.ops) {
    if (op.kind == Op::Kind::exchange && op.exchange == exchange && op.group == group) ++t.count, t.bytes += op.size;
  }
  return t;
}

bool contrastive(const Model& model) { return model.kind == Model::Kind::contrastive; }

// What every tensor-parallel rank holds in full: norms, positions, the biases that are added behind a sum over the ranks,
// and small matrices that nobody splits (router, patches, latent down-projections, projections and class heads).
double replicated(const Tower& t) {
  const double h = double(t.hidden), norm = t.norm == Norm::layer && t.norm_bias ? 2 * h : h;
  const bool latent = t.latent.kv_rank > 0;
  double layer = t.norms * norm + (t.biases || t.out_bias ? h : 0) + (t.qk_norm ? 2.0 * t.head_dim : 0);
  if (latent) layer += h * (t.latent.q_rank + t.latent.kv_rank + t.latent.rope_dim) + t.latent.q_rank + t.latent.kv_rank;
  const Experts& e = t.experts;
  const double with_experts = e.count > 0 ? e.count * (h + (e.router_bias ? 1 : 0)) + (e.shared_gate ? h : 0) : 0;
  double ends = double(t.token_types) * h + (t.embedding_norm ? norm : 0) + (t.final_norm ? norm : 0);
  if (t.is_vision()) ends += double(t.channels) * t.patch * t.patch * h + (t.patch_bias ? h : 0) + h;
  if (t.positions == Positions::learned) ends += double((t.is_vision() ? t.tokens(0) : t.max_positions) + t.extra_positions) * h;
  if (t.head_transform) ends += h * h + h + norm;
  ends += double(t.projection) * h + double(t.classes) * (h + 1);
  const int moe = moe_layers(t);
  return layer * t.layers + (t.biases ? h * (t.layers - moe) : 0) + with_experts * moe + ends;
}

}  // namespace

// ------------------------------------------------------------------------------------------------ parameters

TEST(Operations, ParametersOfEveryModelAddUp) {
  for (const std::string& name : builtin_model_names()) {
    const Model model = *builtin_model(name);
    EXPECT_EQ(parameters(work_of(job_of(model))) + (contrastive(model) ? 1 : 0), model.parameters()) << name;  // CLIP's logit scale
  }
}

// Σ over tensor-parallel ranks = parameters + (tp − 1) · what each holds in full.
TEST(Operations, TensorParallelRanksShareAllButWhatTheyReplicate) {
  for (const std::string& name : builtin_model_names()) {
    const Model model = *builtin_model(name);
    double twice = 0;
    bool divides = true;
    for (const Tower& t : model.towers) {
      twice += replicated(t);
      divides = divides && t.heads % 2 == 0 && (t.latent.kv_rank > 0 || t.kv_heads % 2 == 0);
    }
    if (!divides) continue;
    Job job = job_of(model);
    job.parallelism.tp = 2;
    EXPECT_EQ(2 * parameters(work_of(job)) + (contrastive(model) ? 1 : 0), model.parameters() + twice) << name;
  }
}

// More ranks than key-value heads: each holds one head, so 8 heads exist 16/8 times.
TEST(Operations, KeyValueHeadsAreReplicatedWhenRanksOutnumberThem) {
  Job job = job_of("llama-3-70b");
  job.parallelism.tp = 16;
  const Tower& t = job.model.towers[0];
  const double again = 2.0 * double(t.hidden) * 8 * t.head_dim * t.layers;
  EXPECT_EQ(16 * parameters(work_of(job)), job.model.parameters() + 15 * replicated(t) + again);
  EXPECT_EQ(find(work_of(job).towers[0].dense.forward, "attention")->kv_heads, 1);
  EXPECT_EQ(find(work_of(job).towers[0].dense.forward, "attention")->heads, 4);
}

// A pipeline's last stage keeps its own copy of an embedding that the output layer shares.
TEST(Operations, TiedOutputLayerIsHeldTwiceInAPipeline) {
  Job job = job_of("gpt2");
  const double alone = parameters(work_of(job));
  job.parallelism.pp = 2;
  EXPECT_EQ(parameters(work_of(job)) - alone, 50257.0 * 768);
}

// ep·etp ranks hold all experts once; what is not an expert does not notice.
TEST(Operations, ExpertsAreSharedOutOverExpertAndExpertTensorRanks) {
  const Model model = *builtin_model("mixtral-8x7b");
  const double experts = 32 * 8 * 3.0 * 4096 * 14336;
  for (const auto& [tp, ep, etp] : {std::tuple(1, 1, 0), std::tuple(1, 8, 0), std::tuple(2, 4, 1), std::tuple(2, 4, 2), std::tuple(2, 2, 0),
                                    std::tuple(4, 1, 0), std::tuple(4, 1, 1)}) {
    Job job = job_of(model);
    job.parallelism.tp = tp, job.parallelism.ep = ep, job.parallelism.etp = etp;
    const StepWork work = work_of(job, tp > 1);
    const double held = over_layers(work, [](const LayerWork& l) { return l.expert_parameters; });
    EXPECT_EQ(held * ep * (etp > 0 ? etp : tp), experts) << tp << " " << ep << " " << etp;
    EXPECT_EQ((parameters(work) - held) * tp, model.parameters() - experts + (tp - 1) * replicated(model.towers[0]));
  }
}

// ------------------------------------------------------------------------------------------------ arithmetic

// Of the patches, which images get no gradient through.
double patch_flops(const Model& model) {
  double sum = 0;
  for (const Tower& t : model.towers) {
    if (t.is_vision()) sum += 2 * double(t.tokens(0)) * t.patch * t.patch * t.channels * double(t.hidden);
  }
  return sum;
}

// The step computes what the model's formula says: forward once, backward twice, layer by layer and at both ends.
TEST(Operations, ArithmeticOfEveryModelIsThatOfItsFormula) {
  for (const std::string& name : builtin_model_names()) {
    Job job = job_of(name);
    job.batch.micro = 2;
    if (contrastive(job.model)) job.batch.global = 0;  // the loss compares samples, which no sample's formula counts
    const StepWork work = work_of(job);
    const double formula = 2 * forward_flops_per_sample(job.model, job.batch.sequence);
    EXPECT_NEAR(forward_flops(work) / formula, 1, 1e-12) << name;
    EXPECT_NEAR((backward_flops(work) + 2 * patch_flops(job.model)) / formula, 2, 1e-12) << name;
    EXPECT_NEAR(work.model_flops_per_sample, 1.5 * formula, 1e-9 * formula) << name;
  }
}

// 2 FLOPs a parameter and token in matrices; 4·s²·h a layer for scores and values, the whole matrix counted (PaLM's rule).
TEST(Operations, ForwardOfADenseModelInOneLine) {
  const Model model = *builtin_model("llama-2-7b");
  const double s = 4096, h = 4096, matrices = 32 * (4 * h * h + 3 * h * 11008) + 32000 * h;
  EXPECT_EQ(forward_flops_per_sample(model, 4096), 2 * s * matrices + 32 * 4 * s * s * h);
}

TEST(Operations, ParallelismDividesTheArithmetic) {
  const Job alone = job_of("llama-2-7b", 4096);
  const double whole = forward_flops(work_of(alone));
  for (bool sequence_parallel : {false, true}) {
    for (int tp : {2, 4, 8}) {
      Job job = alone;
      job.parallelism.tp = tp;
      EXPECT_NEAR(tp * forward_flops(work_of(job, sequence_parallel)), whole, 1e-9 * whole) << tp;
    }
  }
  // Context parallelism deals the causal triangle out: its kernels see half of all keys, unmasked.
  for (int cp : {2, 4}) {
    Job job = alone;
    job.parallelism.cp = cp;
    const Pass one = work_of(alone).towers[0].dense.forward, split = work_of(job).towers[0].dense.forward;
    EXPECT_NEAR(cp * flops(split, Op::Kind::gemm), flops(one, Op::Kind::gemm), 1);
    EXPECT_TRUE(find(one, "attention")->causal);
    EXPECT_FALSE(find(split, "attention")->causal);
    EXPECT_NEAR(cp * flops(split, Op::Kind::attention), flops(one, Op::Kind::attention) / 2, 1);
  }
}

// Pipeline and data parallelism do not change what a micro-batch costs; a stage's share of the layers is the timeline's.
TEST(Operations, PipelineAndDataParallelismLeaveTheLayersAlone) {
  const Job alone = job_of("llama-2-7b");
  Job job = alone;
  job.parallelism.pp = 4, job.parallelism.dp = 16;
  EXPECT_EQ(forward_flops(work_of(job)), forward_flops(work_of(alone)));
}

TEST(Operations, GroupedQueriesShrinkKeysAndValuesAlone) {
  Model model = *builtin_model("llama-2-70b");
  const StepWork grouped = work_of(job_of(model));
  const Op* projection = find(grouped.towers[0].dense.forward, "query, key, value");
  EXPECT_EQ(projection->n, 64 * 128 + 2 * 8 * 128);
  EXPECT_EQ(find(grouped.towers[0].dense.forward, "attention")->kv_heads, 8);
  model.towers[0].kv_heads = 64;
  const StepWork all = work_of(job_of(model));
  EXPECT_EQ(find(all.towers[0].dense.forward, "query, key, value")->n, 3 * 8192);
  EXPECT_EQ(flops(all.towers[0].dense.forward, Op::Kind::attention), flops(grouped.towers[0].dense.forward, Op::Kind::attention));
}

// Every token visits per_token experts; wherever they lie, the ranks of a group compute the same in all.
TEST(Operations, ExpertsCostWhatTheirTokensVisit) {
  const Model model = *builtin_model("mixtral-8x7b");
  const double tokens = 512, visits = 2, one = 2 * 3.0 * 4096 * 14336;
  for (const auto& [tp, ep, etp] :
       {std::tuple(1, 1, 0), std::tuple(1, 8, 0), std::tuple(2, 4, 1), std::tuple(2, 4, 2), std::tuple(4, 1, 0), std::tuple(4, 1, 1)}) {
    Job job = job_of(model);
    job.parallelism.tp = tp, job.parallelism.ep = ep, job.parallelism.etp = etp;
    const StepWork work = work_of(job, tp > 1);
    const Pass& forward = work.towers[0].experts.forward;
    EXPECT_NEAR(flops(*find(forward, "up")) + flops(*find(forward, "down")), tokens * visits * one / tp, 1)
        << tp << " " << ep << " " << etp;
    EXPECT_EQ(find(forward, "up")->batch, 8 / ep);
    EXPECT_EQ(find(forward, "up")->n, 2.0 * 14336 / (etp > 0 ? etp : tp));
  }
}

TEST(Operations, LayersWithExpertsStandWhereTheModelPutsThem) {
  const StepWork deepseek = work_of(job_of("deepseek-v3"));
  EXPECT_EQ(deepseek.towers[0].dense.count, 3);
  EXPECT_EQ(deepseek.towers[0].experts.count, 58);
  EXPECT_EQ(deepseek.towers[0].leading_dense, 3);
  EXPECT_EQ(work_of(job_of("llama-2-7b")).towers[0].experts.count, 0);
}

TEST(Operations, VisionTokensArePatchesAndTheClassToken) {
  const StepWork work = work_of(job_of("vit-l-16"));
  EXPECT_EQ(work.towers[0].tokens, 197);
  const Op* patches = find(work.towers[0].before_forward, "patches");
  EXPECT_EQ(patches->k, 16 * 16 * 3);
  EXPECT_FALSE(find(work.towers[0].dense.forward, "attention")->causal);
}

// CLIP: every rank compares its own images and texts with those of the whole batch, gathered once: two matrices of
// own × all, forward and backward.
TEST(Operations, ContrastiveLossComparesOwnSamplesWithAll) {
  Job job = job_of("clip-vit-l-14");
  job.batch.global = 4096, job.batch.micro = 256;
  const StepWork work = work_of(job);
  ASSERT_EQ(work.towers.size(), 2);
  const Pass& loss = work.towers[1].after_forward;
  EXPECT_EQ(find(loss, "similarities")->m * find(loss, "similarities")->n, 256.0 * 4096);
  EXPECT_EQ(exchanged(loss, Exchange::all_gather, Group::data).bytes, 4096.0 * 768 * 2);
}

// ------------------------------------------------------------------------------------------------ recomputation

TEST(Operations, FullRecomputationRepeatsTheForwardOfEveryLayer) {
  Job job = job_of("llama-2-7b");
  job.recompute = Recompute::full;
  job.parallelism.tp = 2;
  const LayerWork layer = work_of(job).towers[0].dense;
  EXPECT_EQ(flops(layer.recompute), flops(layer.forward));
  EXPECT_EQ(layer.recompute.ops.size(), layer.forward.ops.size());
  job.recompute = Recompute::none;
  EXPECT_TRUE(work_of(job).towers[0].dense.recompute.ops.empty());
}

// Frameworks that stop early leave out the layer's last product, whose output nothing in backward reads.
TEST(Operations, RecomputationThatStopsEarlySparesTheLastProduct) {
  Job job = job_of("llama-2-7b");
  job.recompute = Recompute::full;
  Behaviour b = plain();
  b.recompute_stops_early = true;
  const LayerWork layer = operations_of(job, b).towers[0].dense;
  EXPECT_EQ(flops(layer.forward) - flops(layer.recompute), flops(*find(layer.forward, "down")));
}

// Selective: where attention keeps a score matrix, that is computed again; the layer's own products never are.
TEST(Operations, SelectiveRecomputationRepeatsTheAttentionCore) {
  Job job = job_of("gpt3-175b");
  job.recompute = Recompute::selective;
  Behaviour b = plain();
  b.flash_attention = false;
  const LayerWork layer = operations_of(job, b).towers[0].dense;
  EXPECT_EQ(flops(layer.recompute), flops(*find(layer.forward, "attention")));
  EXPECT_EQ(flops(layer.recompute, Op::Kind::gemm), 0);
}

TEST(Operations, RecomputedArithmeticIsCountedForHardwareUtilisation) {
  Job job = job_of("llama-2-7b");
  const StepWork none = work_of(job);
  EXPECT_EQ(none.recomputed_flops_per_sample, 0);
  job.recompute = Recompute::full;
  const double layers = over_layers(none, [](const LayerWork& l) { return flops(l.forward); });
  EXPECT_NEAR(work_of(job).recomputed_flops_per_sample, layers, 1e-9 * layers);
  job.recompute_share = 0.25;
  EXPECT_NEAR(work_of(job).recomputed_flops_per_sample, layers / 4, 1e-9 * layers);
}

// ------------------------------------------------------------------------------------------------ communication

// Megatron (arXiv 1909.08053): two all-reduces of s·b·h forward and two backward a layer.
TEST(Operations, TensorParallelLayerSumsTwiceEachWay) {
  Job job = job_of("llama-2-7b");
  job.parallelism.tp = 4;
  const LayerWork layer = work_of(job).towers[0].dense;
  const double size = 512.0 * 4096 * 2;
  for (const Pass* pass : {&layer.forward, &layer.backward}) {
    EXPECT_EQ(exchanged(*pass, Exchange::all_reduce, Group::tensor).count, 2);
    EXPECT_EQ(exchanged(*pass, Exchange::all_reduce, Group::tensor).bytes, 2 * size);
    EXPECT_EQ(exchanged(*pass, Exchange::all_gather, Group::tensor).count, 0);
  }
}

// With sequence parallelism (arXiv 2205.05198) each all-reduce becomes a reduce-scatter and an all-gather of the same size,
// and backward gathers the two inputs again that were not kept.
TEST(Operations, SequenceParallelLayerGathersAndScatters) {
  Job job = job_of("llama-2-7b");
  job.parallelism.tp = 4;
  const LayerWork layer = work_of(job, true).towers[0].dense;
  const double size = 512.0 * 4096 * 2;
  EXPECT_EQ(exchanged(layer.forward, Exchange::all_gather, Group::tensor).bytes, 2 * size);
  EXPECT_EQ(exchanged(layer.forward, Exchange::reduce_scatter, Group::tensor).bytes, 2 * size);
  EXPECT_EQ(exchanged(layer.backward, Exchange::all_gather, Group::tensor).count, 4);
  EXPECT_EQ(exchanged(layer.backward, Exchange::all_gather, Group::tensor).bytes, 4 * size);
  EXPECT_EQ(exchanged(layer.backward, Exchange::reduce_scatter, Group::tensor).bytes, 2 * size);
  EXPECT_EQ(exchanged(layer.forward, Exchange::all_reduce, Group::tensor).count, 0);
}

// Norms and residuals work on a rank's slice of the tokens.
TEST(Operations, SequenceParallelismDividesWhatIsNotAMatrix) {
  Job job = job_of("llama-2-7b");
  job.parallelism.tp = 4;
  EXPECT_EQ(find(work_of(job, true).towers[0].dense.forward, "norm")->bytes * 4, find(work_of(job).towers[0].dense.forward, "norm")->bytes);
}

// The vocabulary is split: each rank looks up its part (one sum), and the loss exchanges two numbers a token.
TEST(Operations, EndsOfATensorParallelModel) {
  Job job = job_of("llama-2-7b");
  job.parallelism.tp = 4;
  const TowerWork plain_ranks = work_of(job).towers[0], slices = work_of(job, true).towers[0];
  const double size = 512.0 * 4096 * 2;
  EXPECT_EQ(exchanged(plain_ranks.before_forward, Exchange::all_reduce, Group::tensor).bytes, size);
  EXPECT_EQ(exchanged(plain_ranks.before_backward, Exchange::all_gather, Group::tensor).bytes, 0);
  EXPECT_EQ(exchanged(slices.before_forward, Exchange::reduce_scatter, Group::tensor).bytes, size);
  EXPECT_EQ(exchanged(slices.before_backward, Exchange::all_gather, Group::tensor).bytes, size);
  EXPECT_EQ(exchanged(plain_ranks.after_forward, Exchange::all_reduce, Group::tensor).bytes, 512.0 * (4 + 8));
  EXPECT_EQ(plain_ranks.boundary_bytes, size / 4);
}

// Keys and values of this rank go round the ring; backward sends them and their gradients.
TEST(Operations, ContextParallelismPassesKeysAndValues) {
  Job job = job_of("llama-3-8b", 8192);
  job.parallelism.cp = 4;
  const LayerWork layer = work_of(job).towers[0].dense;
  const double keys_and_values = 2 * 8192.0 / 4 * 8 * 128 * 2;
  EXPECT_EQ(exchanged(layer.forward, Exchange::ring_pass, Group::context).bytes, keys_and_values);
  EXPECT_EQ(exchanged(layer.backward, Exchange::ring_pass, Group::context).bytes, 2 * keys_and_values);
}

// Tokens go to their experts and come back, both ways: per_token copies of this rank's tokens each time.
TEST(Operations, ExpertParallelismDispatchesAndCombines) {
  Job job = job_of("mixtral-8x7b");
  job.parallelism.ep = 8;
  const LayerWork layer = work_of(job).towers[0].experts;
  const double copies = 512.0 * 2 * 4096 * 2;
  for (const Pass* pass : {&layer.forward, &layer.backward}) {
    EXPECT_EQ(exchanged(*pass, Exchange::all_to_all, Group::expert).count, 2);
    EXPECT_EQ(exchanged(*pass, Exchange::all_to_all, Group::expert).bytes, 2 * copies);
  }
  job.parallelism.tp = 2, job.parallelism.etp = 1;  // each rank sends its slice of the tokens
  EXPECT_EQ(exchanged(work_of(job, true).towers[0].experts.forward, Exchange::all_to_all, Group::expert).bytes, copies);
}

// Split experts: the ranks that share one first gather each other's tokens, then scatter their sums.
TEST(Operations, SplitExpertsGatherTheTokensOfTheirRanks) {
  Job job = job_of("mixtral-8x7b");
  job.parallelism.tp = 2, job.parallelism.ep = 4, job.parallelism.etp = 2;
  const LayerWork layer = work_of(job, true).towers[0].experts;
  const double copies = 512.0 * 2 * 4096 * 2;  // both ranks' together
  EXPECT_EQ(exchanged(layer.forward, Exchange::all_gather, Group::expert_tensor).bytes, copies);
  EXPECT_EQ(exchanged(layer.forward, Exchange::reduce_scatter, Group::expert_tensor).bytes, copies);
  EXPECT_EQ(exchanged(layer.backward, Exchange::all_gather, Group::expert_tensor).bytes, 2 * copies);
  EXPECT_EQ(exchanged(layer.backward, Exchange::reduce_scatter, Group::expert_tensor).bytes, copies);
}

// Without expert parallelism a layer of experts is split like any other: the same two exchanges each way.
TEST(Operations, ExpertsWithoutExpertParallelismAreSplitLikeAnyBlock) {
  Job job = job_of("mixtral-8x7b");
  job.parallelism.tp = 4;
  const Model dense = *builtin_model("mistral-7b");
  Job like = job_of(dense);
  like.parallelism.tp = 4;
  for (bool sequence_parallel : {false, true}) {
    const LayerWork experts = work_of(job, sequence_parallel).towers[0].experts, layer = work_of(like, sequence_parallel).towers[0].dense;
    for (Exchange exchange : {Exchange::all_reduce, Exchange::all_gather, Exchange::reduce_scatter}) {
      EXPECT_EQ(exchanged(experts.forward, exchange, Group::tensor).bytes, exchanged(layer.forward, exchange, Group::tensor).bytes);
      EXPECT_EQ(exchanged(experts.backward, exchange, Group::tensor).bytes, exchanged(layer.backward, exchange, Group::tensor).bytes);
    }
    EXPECT_EQ(exchanged(experts.forward, Exchange::all_to_all, Group::expert).count, 0);
  }
}

TEST(Operations, OneGpuCommunicatesNothing) {
  for (const char* name : {"llama-2-7b", "mixtral-8x7b", "deepseek-v3", "vit-l-16"}) {
    const StepWork work = work_of(job_of(name));
    for (const TowerWork& t : work.towers) {
      for (const Pass* pass : {&t.dense.forward, &t.dense.backward, &t.experts.forward, &t.experts.backward, &t.before_forward,
                               &t.after_forward, &t.before_backward, &t.after_backward}) {
        for (const Op& op : pass->ops) EXPECT_NE(op.kind, Op::Kind::exchange) << name << " " << op.name;
      }
    }
  }
}

// ------------------------------------------------------------------------------------------------ adapters, precision

// LoRA: the frozen matrices have no weight gradients, so backward costs one product of each instead of two; attention's
// backward stays whole.
TEST(Operations, FrozenWeightsHaveNoGradients) {
  Job job = job_of("llama-2-7b");
  const StepWork full = work_of(job);
  job.kind = TrainingKind::lora;
  job.lora.rank = 16;
  const StepWork lora = work_of(job);
  double products = 0, attention = 0, adapters = 0;
  for (const Op& op : lora.towers[0].dense.backward.ops) {
    if (op.kind == Op::Kind::attention)
      attention += flops(op);
    else if (std::string(op.name).starts_with("adapter"))
      adapters += flops(op);
    else
      products += flops(op);
  }
  EXPECT_EQ(products, flops(full.towers[0].dense.forward, Op::Kind::gemm));
  EXPECT_EQ(attention, flops(full.towers[0].dense.backward, Op::Kind::attention));
  EXPECT_EQ(adapters, 2 * 2 * 512.0 * lora.towers[0].dense.adapter_parameters);
  EXPECT_LT(lora.model_flops_per_sample, full.model_flops_per_sample);
  EXPECT_GT(lora.model_flops_per_sample, 0.66 * full.model_flops_per_sample);
  EXPECT_EQ(lora.towers[0].dense.adapter_parameters, 16.0 * ((4096 + 3 * 4096) + 2 * 4096 + (4096 + 2 * 11008) + (11008 + 4096)));
}

// Formats narrower than 16 bits hold for the layers' products, not for attention and the output layer.
TEST(Operations, NarrowFormatsHoldForTheLayersProducts) {
  Job job = job_of("llama-2-7b");
  job.precision.compute = catalog::Precision::fp8;
  const TowerWork work = work_of(job).towers[0];
  EXPECT_EQ(find(work.dense.forward, "up")->precision, catalog::Precision::fp8);
  EXPECT_EQ(find(work.dense.forward, "attention")->precision, catalog::Precision::bf16);
  EXPECT_EQ(find(work.after_forward, "output layer")->precision, catalog::Precision::bf16);
}

// The gradient products that a zero-bubble schedule may put off are those of the weights: half of a linear layer's backward.
TEST(Operations, WeightGradientsAreMarked) {
  const LayerWork layer = work_of(job_of("llama-2-7b")).towers[0].dense;
  double weights = 0;
  for (const Op& op : layer.backward.ops) weights += op.weight_gradient ? flops(op) : 0;
  EXPECT_EQ(weights, flops(layer.forward, Op::Kind::gemm));
}

// fp32 and tf32 keep activations of 4 bytes: every kernel that moves them, and every exchange, has twice the bytes of bf16.
TEST(Operations, WideFormatsMoveTwiceTheBytes) {
  Job job;
  job.model = *builtin_model("llama-2-7b");
  job.framework = Framework::megatron;
  job.parallelism.tp = job.parallelism.pp = 2;
  job.batch = {4, 1, 2048};
  const StepWork narrow = operations_of(job, behaviour_of(job, catalog::Generation::ampere));
  for (const auto format : {catalog::Precision::fp32, catalog::Precision::tf32}) {
    job.precision.compute = format;
    const StepWork wide = operations_of(job, behaviour_of(job, catalog::Generation::ampere));
    EXPECT_EQ(wide.towers[0].boundary_bytes, 2 * narrow.towers[0].boundary_bytes);
    for (const auto pass : {&LayerWork::forward, &LayerWork::backward}) {
      const auto &a = (narrow.towers[0].dense.*pass).ops, &b = (wide.towers[0].dense.*pass).ops;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(b[i].bytes, 2 * a[i].bytes) << a[i].name;
        EXPECT_EQ(b[i].size, 2 * a[i].size) << a[i].name;
        if (a[i].kind == Op::Kind::gemm) EXPECT_EQ(b[i].output_bytes, 4) << a[i].name;
      }
    }
  }
}

}  // namespace trunkline::workload
