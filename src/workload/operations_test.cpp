#include "workload/operations.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "workload/operations_testing.hpp"

namespace trunkline::workload {

using namespace testing_operations;

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

}  // namespace trunkline::workload
