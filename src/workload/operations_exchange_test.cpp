#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "workload/operations.hpp"
#include "workload/operations_testing.hpp"

namespace trunkline::workload {

using namespace testing_operations;

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
