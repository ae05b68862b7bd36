#include "workload/model.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "workload/operations.hpp"

namespace trunkline::workload {
namespace {

struct Published {
  const char* name;
  double parameters;
  double tolerance;  // 0: exact
  const char* source;
};

// Exact counts are those of the weights that the authors put on Hugging Face (or, for GPT-2, of OpenAI's files).
const Published kPublished[] = {
    {"llama-2-7b", 6'738'415'616, 0, "meta-llama/Llama-2-7b-hf"},
    {"llama-2-13b", 13'015'864'320, 0, "meta-llama/Llama-2-13b-hf"},
    {"llama-2-70b", 68'976'648'192, 0, "meta-llama/Llama-2-70b-hf"},
    {"llama-3-8b", 8'030'261'248, 0, "meta-llama/Meta-Llama-3-8B"},
    {"llama-3-70b", 70'553'706'496, 0, "meta-llama/Meta-Llama-3-70B"},
    {"llama-3.1-8b", 8'030'261'248, 0, "meta-llama/Llama-3.1-8B"},
    {"llama-3.1-70b", 70'553'706'496, 0, "meta-llama/Llama-3.1-70B"},
    {"llama-3.1-405b", 405'853'388'800, 0, "meta-llama/Llama-3.1-405B"},
    {"llama-3.2-1b", 1'235'814'400, 0, "meta-llama/Llama-3.2-1B"},
    {"llama-3.2-3b", 3'212'749'824, 0, "meta-llama/Llama-3.2-3B"},
    {"mistral-7b", 7'241'732'096, 0, "mistralai/Mistral-7B-v0.1"},
    {"mixtral-8x7b", 46'702'792'704, 0, "mistralai/Mixtral-8x7B-v0.1"},
    {"mixtral-8x22b", 140'620'634'112, 0, "mistralai/Mixtral-8x22B-v0.1"},
    {"deepseek-v3", 671'026'419'200, 0, "deepseek-ai/DeepSeek-V3, without the multi-token prediction layer"},
    {"qwen2.5-7b", 7'615'616'512, 0, "Qwen/Qwen2.5-7B"},
    {"qwen2.5-72b", 72'706'203'648, 0, "Qwen/Qwen2.5-72B"},
    {"qwen3-32b", 32'762'123'264, 0, "Qwen/Qwen3-32B"},
    {"qwen3-30b-a3b", 30'532'122'624, 0, "Qwen/Qwen3-30B-A3B"},
    {"gpt2", 124'439'808, 0, "openai-community/gpt2"},
    {"gpt2-xl", 1'557'611'200, 0, "openai-community/gpt2-xl"},
    {"gpt3-175b", 175e9, 0.01, "GPT-3 (2005.14165), printed as 175 B"},
    {"gpt-neox-20b", 20'554'567'680, 0, "EleutherAI/gpt-neox-20b"},
    {"mpt-7b", 6'649'286'656, 0, "mosaicml/mpt-7b"},
    {"mpt-30b", 29'957'200'896, 0.001, "mosaicml/mpt-30b, printed as 30 B"},
    {"mpt-70b", 64'862'000'000, 0.01, "LLM Foundry's MPT-70b throughput table"},
    {"nemotron-4-15b", 3.2e9 + 12.5e9, 0.01, "2402.16819: 3.2 B embedding, 12.5 B other"},
    {"nemotron-4-340b", 9.4e9 + 331.6e9, 0.001, "2406.11704: 9.4 B embedding, 331.6 B other"},
    {"grok-1", 314e9, 0.01, "xai-org/grok-1, printed as 314 B"},
    {"bloom-176b", 176'247'271'424, 0, "bigscience/bloom"},
    {"vit-l-16", 304'326'632, 0, "ViT-L/16 with 1,000 classes"},
    {"clip-vit-b-32", 151'277'313, 0, "openai/clip-vit-base-patch32"},
    {"clip-vit-l-14", 427'616'513, 0, "openai/clip-vit-large-patch14"},
    {"clip-vit-h-14", 986'109'441, 0, "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"},
    {"clip-vit-bigg-14", 2'539'567'105, 0, "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k"},
    {"bert-large", 335'174'458, 0, "bert-large-uncased with its masked-language head"},
};

TEST(Model, ParametersAreThePublishedOnes) {
  for (const Published& row : kPublished) {
    const auto model = builtin_model(row.name);
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_NEAR(model->parameters(), row.parameters, row.tolerance * row.parameters) << row.name << " (" << row.source << ")";
    EXPECT_EQ(model->name, row.name);
  }
}

TEST(Model, EveryBuiltInModelIsCheckedAndStatesItsArchitectureInFull) {
  std::set<std::string> checked{"clip-vit-b-16", "clip-vit-g-14"};  // against open_clip's table below
  for (const Published& row : kPublished) checked.insert(row.name);
  for (const std::string& name : builtin_model_names()) {
    EXPECT_TRUE(checked.contains(name)) << name << " has no published count here";
    const auto model = builtin_model(name);
    ASSERT_TRUE(model) << model.error().text();
    for (const auto& [key, taken] : model->assumed) {
      EXPECT_TRUE(taken.starts_with("not modelled")) << name << " leaves out " << key;  // our own files leave nothing to a default
    }
  }
  EXPECT_EQ(builtin_model_names().size(), checked.size());
}

// open_clip's model_configs and docs/model_profile.csv: millions of parameters, GFLOPs of one image and one text forward.
// A profiler counts what runs, with the masked half of causal attention; the model's own FLOPs are slightly fewer.
TEST(Model, ClipAgreesWithOpenClipsProfile) {
  struct Row {
    const char* name;
    double millions, gflops;
  };
  for (const Row& row : {Row{"clip-vit-b-32", 151.28, 14.78}, Row{"clip-vit-b-16", 149.62, 41.09}, Row{"clip-vit-l-14", 427.62, 175.33},
                         Row{"clip-vit-h-14", 986.11, 381.68}, Row{"clip-vit-g-14", 1366.68, 581.15}}) {
    const auto model = builtin_model(row.name);
    ASSERT_TRUE(model) << model.error().text();
    EXPECT_NEAR(model->parameters() / 1e6, row.millions, 0.005) << row.name;
    EXPECT_NEAR(forward_flops_per_sample(*model, 0) / 1e9, row.gflops, 0.02 * row.gflops) << row.name;
  }
}

TEST(Model, ActiveParametersCountOnlyTheExpertsThatATokenVisits) {
  EXPECT_NEAR(builtin_model("mixtral-8x7b")->active_parameters(), 12.9e9, 0.05e9);  // 2401.04088: 13 B
  EXPECT_NEAR(builtin_model("mixtral-8x22b")->active_parameters(), 39.1e9, 0.1e9);  // mistral.ai: 39 B
  EXPECT_NEAR(builtin_model("deepseek-v3")->active_parameters(), 37e9, 1e9);        // 2412.19437: 37 B
  EXPECT_NEAR(builtin_model("qwen3-30b-a3b")->active_parameters(), 3.3e9, 0.1e9);   // Qwen's card: 3.3 B
  const auto dense = builtin_model("llama-3-8b");
  EXPECT_EQ(dense->active_parameters(), dense->parameters());
}

TEST(Model, LayerOfLlamaByHand) {
  const auto model = builtin_model("llama-2-7b");
  const TowerParameters p = parameters_of(model->towers.front());
  // Four square attention matrices, three of the gated block, two norms.
  EXPECT_EQ(p.layer, 4.0 * 4096 * 4096 + 3.0 * 4096 * 11008 + 2 * 4096);
  EXPECT_EQ(p.embedding, 32000.0 * 4096);
  EXPECT_EQ(p.head, 32000.0 * 4096 + 4096);
  EXPECT_EQ(p.moe_layer, 0);
}

TEST(Model, LayerOfGptByHand) {
  const auto model = builtin_model("gpt2");
  const TowerParameters p = parameters_of(model->towers.front());
  // 12 h² in matrices, 9 h of biases beside the 4 h of two norms.
  EXPECT_EQ(p.layer, 12.0 * 768 * 768 + 13 * 768);
  EXPECT_EQ(p.head, 2 * 768);  // the output layer is the embedding
}

TEST(Model, ExpertLayersBehindDenseOnes) {
  Tower t = builtin_model("deepseek-v3")->towers.front();
  EXPECT_EQ(moe_layers(t), 58);
  t.experts.every = 2;
  EXPECT_EQ(moe_layers(t), 29);
  t.experts.count = 0;
  EXPECT_EQ(moe_layers(t), 0);
}

TEST(Model, TokensOfASample) {
  const auto clip = builtin_model("clip-vit-b-32");
  EXPECT_EQ(clip->towers[0].tokens(4096), 50);  // 7 × 7 patches and the class token, whatever the job's sequence
  EXPECT_EQ(clip->towers[1].tokens(0), 77);
  EXPECT_EQ(builtin_model("llama-2-7b")->towers[0].tokens(2048), 2048);
  Tower odd = clip->towers[0];
  odd.image = 378;
  odd.patch = 14;
  EXPECT_EQ(odd.tokens(0), 27 * 27 + 1);
}

TEST(Model, TyingSavesOneEmbedding) {
  Tower t = builtin_model("llama-2-7b")->towers.front();
  const double apart = parameters_of(t).head;
  t.tied = true;
  EXPECT_EQ(apart - parameters_of(t).head, double(t.vocab * t.hidden));
}

TEST(Model, UnknownBuiltInNameNamesTheNearest) {
  const auto model = builtin_model("llama2-70b");
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().hint.find("llama-2-70b"), std::string::npos) << model.error().text();
  EXPECT_NE(model.error().hint.find("layers: 32"), std::string::npos);  // the short form as the way out
  EXPECT_FALSE(builtin_model("../models/gpt2"));
  EXPECT_FALSE(builtin_model(""));
}

}  // namespace
}  // namespace trunkline::workload
