#include <gtest/gtest.h>

#include <cmath>
#include <string>

#include "workload/job.hpp"
#include "workload/operations.hpp"

namespace trunkline::workload {
namespace {

struct Case {
  std::string model;
  int batch, sequence;
  std::string mode = "eager", weights = "fp32", more = "";
};

StepWork work_of(const Case& c) {
  const std::string text = "model: " + c.model + "\ntraining: {kind: full, precision: {compute: bf16, parameters: " + c.weights +
                           ", optimizer: " + c.weights + "}, framework: pytorch-" + c.mode + ", recompute: none" + c.more +
                           "}\nbatch: {global: " + std::to_string(c.batch) + ", micro: " + std::to_string(c.batch) +
                           (c.sequence > 0 ? ", sequence: " + std::to_string(c.sequence) : "") +
                           "}\nparallelism: {tp: 1, pp: 1, dp: 1, sharding: none}\n";
  const auto value = io::parse_yaml(text, "job.yaml");
  const auto job = job_from(*value, ".");
  EXPECT_TRUE(job) << job.error().text();
  return operations_of(*job, behaviour_of(*job, catalog::Generation::hopper));
}

template <class Sum>
double over_all(const StepWork& work, Sum&& of) {
  double sum = 0;
  const auto add = [&](const Pass& pass, double times) {
    for (const Op& op : pass.ops) sum += times * of(op);
  };
  for (const TowerWork& tower : work.towers) {
    add(tower.dense.forward, tower.dense.count), add(tower.dense.backward, tower.dense.count);
    add(tower.before_forward, 1), add(tower.before_backward, 1), add(tower.after_forward, 1), add(tower.after_backward, 1);
  }
  return sum;
}

double launches(const Case& c) {
  return over_all(work_of(c), [](const Op& op) { return double(op.launches); });
}

const Op* find(const Pass& pass, const std::string& name) {
  for (const Op& op : pass.ops) {
    if (op.name == name) return &op;
  }
  return nullptr;
}

// Kernels that one step of the unedited models started on an H200, without memsets and the optimizer's
// (data/calibration/h200_step_kernels.csv and data/results/h200/torch_steps.csv, eager).
TEST(PlainOps, kernels_are_as_many_as_were_counted) {
  struct Counted {
    Case what;
    double kernels;
  };
  for (const Counted& c :
       {Counted{{"gpt2-xl", 16, 1024}, 4863 - 737 - 82}, Counted{{"gpt2-xl", 16, 1024, "eager", "bf16"}, 3515 - 738 - 82},
        Counted{{"llama-3.2-1b", 8, 2048}, 2788 - 421 - 62}, Counted{{"llama-3.2-1b", 8, 2048, "eager", "bf16"}, 2375 - 421 - 62},
        Counted{{"vit-l-16", 256, 0}, 2471 - 488 - 20}, Counted{{"vit-l-16", 256, 0, "eager", "bf16"}, 1640 - 485 - 16},
        Counted{{"clip-vit-b-32", 1024, 77}, 2887 - 553 - 17}}) {
    EXPECT_NEAR(launches(c.what) / c.kernels, 1, 0.30) << c.what.model << ' ' << c.what.weights << ": " << launches(c.what);
  }
}

// Under autocast a linear layer behind a norm casts its own input: three for queries, keys and values, one where they are fused.
TEST(PlainOps, every_product_casts_its_own_input) {
  const double tokens = 2 * 2048, hidden = 2048;
  const auto llama = work_of({"llama-3.2-1b", 2, 2048});
  const Op* cast = find(llama.towers[0].dense.forward, "cast input");
  ASSERT_NE(cast, nullptr);
  EXPECT_EQ(cast->bytes, 3 * 6 * tokens * hidden);  // reads 4, writes 2
  const auto gpt2 = work_of({"gpt2-xl", 2, 1024});
  EXPECT_EQ(find(gpt2.towers[0].dense.forward, "cast input")->bytes, 6.0 * 2 * 1024 * 1600);
  const auto half = work_of({"llama-3.2-1b", 2, 2048, "eager", "bf16"});
  EXPECT_EQ(find(half.towers[0].dense.forward, "cast input"), nullptr);
  EXPECT_EQ(find(half.towers[0].dense.forward, "cast weights"), nullptr);
}

// A gradient is added to another from the second micro-batch on: nothing of it with one, half of it with two.
TEST(PlainOps, gradients_are_added_from_the_second_micro_batch_on) {
  const auto one = work_of({"llama-3.2-1b", 2, 2048, "eager", "bf16"});
  EXPECT_EQ(find(one.towers[0].dense.backward, "weight gradient"), nullptr);
}

// A vocabulary of 50,257 makes odd rows; compiled, it is padded. Llama's 128,256 is a multiple of 8.
TEST(PlainOps, odd_vocabularies_are_unaligned_where_nothing_pads_them) {
  EXPECT_TRUE(find(work_of({"gpt2-xl", 2, 1024}).towers[0].after_forward, "output layer")->unaligned);
  EXPECT_FALSE(find(work_of({"gpt2-xl", 2, 1024, "compile"}).towers[0].after_forward, "output layer")->unaligned);
  EXPECT_FALSE(find(work_of({"llama-3.2-1b", 2, 1024}).towers[0].after_forward, "output layer")->unaligned);
}

// transformers hands compiled attention a mask; torch.nn does not. 197 tokens leave no fused kernel for a mask.
TEST(PlainOps, a_mask_as_a_tensor_hides_causality) {
  const auto attention = [](const Case& c) { return *find(work_of(c).towers[0].dense.forward, "attention"); };
  EXPECT_TRUE(attention({"llama-3.2-1b", 2, 2048}).causal);
  EXPECT_FALSE(attention({"llama-3.2-1b", 2, 2048, "compile"}).causal);
  EXPECT_TRUE(attention({"llama-3.2-1b", 2, 2048, "compile"}).masked);
  EXPECT_TRUE(attention({"llama-3.2-1b", 2, 2048, "compile", "fp32", ", library: plain"}).causal);
  EXPECT_FALSE(attention({"vit-l-16", 2, 0, "compile"}).flash);
  EXPECT_TRUE(attention({"vit-l-16", 2, 0}).flash);
  EXPECT_TRUE(attention({"clip-vit-b-32", 2, 77, "compile"}).flash);
}

// Images need no gradient: the patches' product has one companion in backward, not two.
TEST(PlainOps, images_get_no_gradient) {
  const auto vit = work_of({"vit-l-16", 4, 0});
  int products = 0;
  for (const Op& op : vit.towers[0].before_backward.ops) products += op.kind == Op::Kind::gemm;
  EXPECT_EQ(products, 1);
  EXPECT_TRUE(find(vit.towers[0].before_forward, "patches")->convolution);
}

// Fewer bytes with 16-bit weights, whatever the model.
TEST(PlainOps, half_weights_move_less) {
  const auto bytes = [](const Case& c) { return over_all(work_of(c), [](const Op& op) { return op.bytes; }); };
  for (const char* model : {"gpt2-xl", "llama-3.2-3b", "vit-l-16", "clip-vit-b-32"}) {
    const int sequence = std::string(model).starts_with("vit") ? 0 : 77;
    EXPECT_LT(bytes({model, 4, sequence, "eager", "bf16"}), bytes({model, 4, sequence})) << model;
    EXPECT_LT(bytes({model, 4, sequence, "compile"}), bytes({model, 4, sequence})) << model;
  }
}

}  // namespace
}  // namespace trunkline::workload
