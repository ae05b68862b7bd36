// Hugging Face configurations of every family, and the short form: what they come to, and what is wrong with wrong ones.
#include <gtest/gtest.h>

#include "workload/model.hpp"

namespace trunkline::workload {
namespace {

Result<Model> from_json(const std::string& text) {
  auto value = io::parse_json(text, "config.json");
  EXPECT_TRUE(value) << value.error().text();
  return model_from(*value, "test");
}

Result<Model> from_yaml(const std::string& text) {
  auto value = io::parse_yaml(text, "job.yaml");
  EXPECT_TRUE(value) << value.error().text();
  return model_of_job(*value, "");
}

struct Family {
  const char* name;
  double parameters;  // of the weights published under that name
  const char* config;
};

// The architecture keys of public configurations, as their authors wrote them.
const Family kFamilies[] = {
    {"google/gemma-2b", 2'506'172'416,
     R"({"model_type":"gemma","hidden_size":2048,"intermediate_size":16384,"num_hidden_layers":18,"num_attention_heads":8,
         "num_key_value_heads":1,"head_dim":256,"vocab_size":256000})"},
    {"google/gemma-7b", 8'537'680'896,
     R"({"model_type":"gemma","hidden_size":3072,"intermediate_size":24576,"num_hidden_layers":28,"num_attention_heads":16,
         "num_key_value_heads":16,"head_dim":256,"vocab_size":256000})"},
    {"google/gemma-2-9b", 9'241'705'984,
     R"({"model_type":"gemma2","hidden_size":3584,"intermediate_size":14336,"num_hidden_layers":42,"num_attention_heads":16,
         "num_key_value_heads":8,"head_dim":256,"vocab_size":256000,"sliding_window":4096})"},
    {"microsoft/Phi-3-mini-4k", 3'821'079'552,
     R"({"model_type":"phi3","hidden_size":3072,"intermediate_size":8192,"num_hidden_layers":32,"num_attention_heads":32,
         "num_key_value_heads":32,"vocab_size":32064,"tie_word_embeddings":false})"},
    {"Qwen/Qwen2-0.5B", 494'032'768,
     R"({"model_type":"qwen2","hidden_size":896,"intermediate_size":4864,"num_hidden_layers":24,"num_attention_heads":14,
         "num_key_value_heads":2,"vocab_size":151936,"tie_word_embeddings":true})"},
    {"Qwen/Qwen3-0.6B", 596'049'920,
     R"({"model_type":"qwen3","hidden_size":1024,"intermediate_size":3072,"num_hidden_layers":28,"num_attention_heads":16,
         "num_key_value_heads":8,"head_dim":128,"vocab_size":151936,"tie_word_embeddings":true})"},
    {"Qwen/Qwen1.5-MoE-A2.7B", 14'315'784'192,
     R"({"model_type":"qwen2_moe","hidden_size":2048,"intermediate_size":5632,"moe_intermediate_size":1408,
         "shared_expert_intermediate_size":5632,"num_experts":60,"num_experts_per_tok":4,"decoder_sparse_step":1,
         "num_hidden_layers":24,"num_attention_heads":16,"num_key_value_heads":16,"vocab_size":151936,"tie_word_embeddings":false})"},
    {"deepseek-ai/DeepSeek-V2", 235'741'434'880,
     R"({"model_type":"deepseek_v2","hidden_size":5120,"intermediate_size":12288,"moe_intermediate_size":1536,"num_hidden_layers":60,
         "num_attention_heads":128,"num_key_value_heads":128,"q_lora_rank":1536,"kv_lora_rank":512,"qk_nope_head_dim":128,
         "qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":160,"n_shared_experts":2,"num_experts_per_tok":6,
         "first_k_dense_replace":1,"moe_layer_freq":1,"vocab_size":102400,"tie_word_embeddings":false})"},
    {"deepseek-ai/DeepSeek-V2-Lite", 15'706'484'224,
     R"({"model_type":"deepseek_v2","hidden_size":2048,"intermediate_size":10944,"moe_intermediate_size":1408,"num_hidden_layers":27,
         "num_attention_heads":16,"num_key_value_heads":16,"q_lora_rank":null,"kv_lora_rank":512,"qk_nope_head_dim":128,
         "qk_rope_head_dim":64,"v_head_dim":128,"n_routed_experts":64,"n_shared_experts":2,"num_experts_per_tok":6,
         "first_k_dense_replace":1,"moe_layer_freq":1,"vocab_size":102400,"tie_word_embeddings":false})"},
    {"databricks/dbrx-base", 131'596'523'520,
     R"({"model_type":"dbrx","d_model":6144,"n_layers":40,"n_heads":48,"vocab_size":100352,"max_seq_len":32768,
         "attn_config":{"kv_n_heads":8},"ffn_config":{"ffn_hidden_size":10752,"moe_num_experts":16,"moe_top_k":4},"tie_word_embeddings":false})"},
    {"tiiuae/falcon-7b", 6'921'720'704,
     R"({"model_type":"falcon","hidden_size":4544,"num_hidden_layers":32,"num_attention_heads":71,"vocab_size":65024,"bias":false,
         "multi_query":true,"new_decoder_architecture":false,"parallel_attn":true,"alibi":false})"},
    {"tiiuae/falcon-40b", 41'303'293'952,
     R"({"model_type":"falcon","hidden_size":8192,"num_hidden_layers":60,"num_attention_heads":128,"num_kv_heads":8,"vocab_size":65024,
         "bias":false,"new_decoder_architecture":true,"parallel_attn":true,"alibi":false})"},
    {"facebook/opt-125m", 125'239'296,
     R"({"model_type":"opt","hidden_size":768,"ffn_dim":3072,"num_hidden_layers":12,"num_attention_heads":12,"vocab_size":50272,
         "max_position_embeddings":2048,"word_embed_proj_dim":768,"do_layer_norm_before":true})"},
    {"facebook/opt-6.7b", 6'658'473'984,
     R"({"model_type":"opt","hidden_size":4096,"ffn_dim":16384,"num_hidden_layers":32,"num_attention_heads":32,"vocab_size":50272,
         "max_position_embeddings":2048,"word_embed_proj_dim":4096,"do_layer_norm_before":true})"},
    {"EleutherAI/pythia-1.4b", 1'414'647'808,
     R"({"model_type":"gpt_neox","hidden_size":2048,"intermediate_size":8192,"num_hidden_layers":24,"num_attention_heads":16,
         "vocab_size":50304,"max_position_embeddings":2048,"tie_word_embeddings":false})"},
    {"bigscience/bloom-560m", 559'214'592,
     R"({"model_type":"bloom","n_embed":1024,"n_layer":24,"num_attention_heads":16,"vocab_size":250880})"},
    {"bert-base-uncased", 109'514'298,
     R"({"model_type":"bert","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,"vocab_size":30522,
         "max_position_embeddings":512,"type_vocab_size":2})"},
    {"roberta-base", 124'697'433,
     R"({"model_type":"roberta","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,
         "vocab_size":50265,"max_position_embeddings":514,"type_vocab_size":1})"},
    {"ViT-B/16", 86'567'656,
     R"({"model_type":"vit","hidden_size":768,"intermediate_size":3072,"num_hidden_layers":12,"num_attention_heads":12,"image_size":224,
         "patch_size":16,"num_labels":1000})"},
};

TEST(ModelConfig, EveryFamilyComesToItsPublishedSize) {
  for (const Family& family : kFamilies) {
    const auto model = from_json(family.config);
    ASSERT_TRUE(model) << family.name << ": " << model.error().text();
    EXPECT_EQ(model->parameters(), family.parameters) << family.name;
  }
}

TEST(ModelConfig, Llama4CountsItsTextModel) {
  const auto model = from_json(R"({"model_type":"llama4","vision_config":{},"text_config":{"hidden_size":5120,"intermediate_size":8192,
      "intermediate_size_mlp":16384,"num_hidden_layers":48,"num_attention_heads":40,"num_key_value_heads":8,"head_dim":128,
      "num_local_experts":128,"num_experts_per_tok":1,"interleave_moe_layer_step":2,"vocab_size":202048,"tie_word_embeddings":false}})");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_NEAR(model->parameters(), 400e9, 2e9);        // Meta's card: 400 B
  EXPECT_NEAR(model->active_parameters(), 17e9, 1e9);  // 17 B
}

TEST(ModelConfig, ClipTakesTheDefaultsOfHuggingFacesClassesAndSaysSo) {
  const auto model = from_json(R"({"model_type":"clip"})");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->parameters(), 151'277'313);  // an empty CLIPConfig is ViT-B/32
  bool said = false;
  for (const auto& [key, taken] : model->assumed)
    said = said || (key == "vision_config.hidden_size" && taken == "768 (the default of Hugging Face's CLIPVisionConfig)");
  EXPECT_TRUE(said);
}

TEST(ModelConfig, ClipsOlderDictOverridesItsConfig) {
  const auto model = from_json(R"({"model_type":"clip","projection_dim":768,
      "text_config":{"hidden_size":512,"num_attention_heads":8},"text_config_dict":{"hidden_size":768,"intermediate_size":3072,"num_attention_heads":12},
      "vision_config":null,"vision_config_dict":{"hidden_size":1024,"intermediate_size":4096,"num_hidden_layers":24,"num_attention_heads":16,"patch_size":14}})");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->parameters(), builtin_model("clip-vit-l-14")->parameters());
}

TEST(ModelConfig, ArchitecturesDecideWhereTheTypeIsUnknown) {
  const auto model = from_json(R"({"model_type":"my_llama","architectures":["LlamaForCausalLM"],"hidden_size":64,"intermediate_size":128,
      "num_hidden_layers":2,"num_attention_heads":4,"vocab_size":100})");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->towers.front().kv_heads, 4);
}

TEST(ModelConfig, UnknownKeysAreNoFault) {
  EXPECT_TRUE(
      from_json(R"({"model_type":"gpt2","n_embd":8,"n_layer":1,"n_head":2,"n_positions":4,"vocab_size":10,"summary_use_proj":true})"));
}

struct Wrong {
  const char* config;
  int line;
  const char* message;  // part of what is said
  const char* hint;     // part of the next step
};

TEST(ModelConfig, WrongConfigurationsSayWhereWhatAndWhatNext) {
  for (const Wrong& wrong : {
           Wrong{"{\n\"model_type\":\"lama\"}", 2, "\"lama\"", "did you mean llama"},
           Wrong{"{\n\"model_type\":\"whisper\"}", 2, "whisper", "write the short form"},
           Wrong{"{\n\"architectures\":[\"T5ForConditionalGeneration\"]}", 2, "architectures", "write the short form"},
           Wrong{"{\"model_type\":\"llama\",\"num_hidden_layers\":2,\"num_attention_heads\":4}", 1, "lacks the key \"hidden_size\"",
                 "a whole number"},
           Wrong{"{\"model_type\":\"llama\",\"hidden_size\":100,\n\"num_attention_heads\":7,\n\"num_hidden_layers\":2,\"intermediate_"
                 "size\":8,\"vocab_size\":10}",
                 2, "7 heads do not divide the width 100", "head_dim"},
           Wrong{
               "{\"model_type\":\"llama\",\"hidden_size\":96,\"num_attention_heads\":6,\n\"num_key_value_heads\":4,\"num_hidden_layers\":2,"
               "\"intermediate_size\":8,\"vocab_size\":10}",
               2, "4 key-value heads do not divide 6 heads", "divisor"},
           Wrong{"{\"model_type\":\"llama\",\"hidden_size\":96,\"num_attention_heads\":6,\n\"num_hidden_layers\":0,\"intermediate_size\":8,"
                 "\"vocab_size\":10}",
                 2, "num_hidden_layers: found 0", ""},
           Wrong{"{\"model_type\":\"llama\",\"hidden_size\":96,\"num_attention_heads\":6,\n\"num_hidden_layers\":-3,\"intermediate_size\":"
                 "8,\"vocab_size\":10}",
                 2, "out of range", ""},
           Wrong{"{\"model_type\":\"llama\",\"hidden_size\":96,\"num_attention_heads\":6,\n\"num_hidden_layers\":20000,\"intermediate_"
                 "size\":8,\"vocab_size\":10}",
                 2, "expected 1 to 10000", "check the figure"},
           Wrong{"{\"model_type\":\"llama\",\n\"hidden_size\":\"wide\",\"num_attention_heads\":6,\"num_hidden_layers\":2,\"intermediate_"
                 "size\":8,\"vocab_size\":10}",
                 2, "hidden_size", "number"},
           Wrong{"{\"model_type\":\"llama\",\n\"hidden_size\":[1],\"num_attention_heads\":6,\"num_hidden_layers\":2,\"intermediate_size\":"
                 "8,\"vocab_size\":10}",
                 2, "found a list, expected a whole number", ""},
           Wrong{"{\"model_type\":\"llama\",\"hidden_size\":96,\"num_attention_heads\":6,\"num_hidden_layers\":2,\"intermediate_size\":8,"
                 "\"vocab_size\":10,\n"
                 "\"tie_word_embeddings\":\"perhaps\"}",
                 2, "expected true or false", ""},
           Wrong{"{\"model_type\":\"mixtral\",\"hidden_size\":96,\"num_attention_heads\":6,\"num_hidden_layers\":2,\"intermediate_size\":8,"
                 "\"vocab_size\":10,\n"
                 "\"num_local_experts\":2,\"num_experts_per_tok\":3}",
                 2, "a token visits 3 of 2 experts", "from 1"},
           Wrong{"{\"model_type\":\"opt\",\"hidden_size\":64,\"num_attention_heads\":4,\"num_hidden_layers\":2,\"ffn_dim\":8,\"vocab_"
                 "size\":10,"
                 "\"max_position_embeddings\":8,\n\"word_embed_proj_dim\":32}",
                 2, "word_embed_proj_dim", "short form"},
           Wrong{"{\"model_type\":\"vit\",\"hidden_size\":64,\"num_attention_heads\":4,\"num_hidden_layers\":2,\"intermediate_size\":8,"
                 "\"image_size\":16,\n"
                 "\"patch_size\":32}",
                 2, "patch 32 does not fit an image of 16", ""},
           Wrong{"{\"model_type\":\"clip\",\n\"text_config_dict\":3}", 2, "expected a block of keys", ""},
           Wrong{"{\"model_type\":\"clip\",\"vision_config\":{\n\"hidden_size\":\"x\"}}", 2, "hidden_size", "number"},
       }) {
    const auto model = from_json(wrong.config);
    ASSERT_FALSE(model) << wrong.config;
    const Error& error = model.error();
    EXPECT_EQ(error.where.file, "config.json") << wrong.config;
    EXPECT_EQ(error.where.line, wrong.line) << error.text();
    EXPECT_NE(error.message.find(wrong.message), std::string::npos) << error.text();
    EXPECT_NE(error.hint.find(wrong.hint), std::string::npos) << error.text();
  }
}

TEST(ModelForm, ShortFormOfLlama2) {
  const auto model = from_yaml(
      "{layers: 80, hidden: 8192, heads: 64, kv_heads: 8, ffn: 28672, vocab: 32000, gated: true, norm: rms, positions: rotary, tied: "
      "false}");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->parameters(), 68'976'648'192);
  EXPECT_TRUE(model->assumed.empty());
  EXPECT_EQ(model->kind, Model::Kind::causal_lm);
}

TEST(ModelForm, ExpertsTowersAndLatentAttention) {
  const auto mixtral = from_yaml(
      "{layers: 32, hidden: 4096, heads: 32, kv_heads: 8, ffn: 14336, vocab: 32000, gated: true, norm: rms, positions: rotary, tied: "
      "false, "
      "experts: {count: 8, per_token: 2, ffn: 14336}}");
  ASSERT_TRUE(mixtral) << mixtral.error().text();
  EXPECT_EQ(mixtral->parameters(), 46'702'792'704);

  const auto deepseek = from_yaml(
      "{layers: 61, hidden: 7168, heads: 128, ffn: 18432, vocab: 129280, gated: true, norm: rms, positions: rotary, tied: false, latent: "
      "{q_rank: 1536, "
      "kv_rank: 512, rope_dim: 64, nope_dim: 128, value_dim: 128}, experts: {count: 256, per_token: 8, shared: 1, ffn: 2048, "
      "first_dense_layers: 3, "
      "router_bias: true}}");
  ASSERT_TRUE(deepseek) << deepseek.error().text();
  EXPECT_EQ(deepseek->parameters(), 671'026'419'200);

  const auto clip = from_yaml(
      "towers:\n"
      "  - {name: vision, layers: 12, hidden: 768, heads: 12, ffn: 3072, image: 224, patch: 32, patch_bias: false, embedding_norm: true, "
      "projection: 512}\n"
      "  - {name: text, layers: 12, hidden: 512, heads: 8, ffn: 2048, vocab: 49408, max_positions: 77, norm: layer, positions: learned, "
      "biases: true, "
      "head: false, projection: 512}\n");
  ASSERT_TRUE(clip) << clip.error().text();
  EXPECT_EQ(clip->parameters(), 151'277'313);
  EXPECT_EQ(clip->kind, Model::Kind::contrastive);
}

TEST(ModelForm, WhatItTakesForGrantedIsListed) {
  const auto model = from_yaml("{layers: 2, hidden: 64, heads: 4, vocab: 100}");
  ASSERT_TRUE(model) << model.error().text();
  std::string all;
  for (const auto& [key, taken] : model->assumed) all.append(key).append("=").append(taken).append(";");
  for (const char* expected : {"model.kv_heads=4 (as heads)", "model.ffn=256 (four times hidden)", "model.norm=rms",
                               "model.positions=rotary", "model.tied=false"}) {
    EXPECT_NE(all.find(expected), std::string::npos) << all;
  }
}

TEST(ModelForm, OverridesChangeOneThingAndKeepTheRest) {
  const auto base = builtin_model("llama-2-70b");
  const auto shorter = from_yaml("{config: llama-2-70b, layers: 8}");
  ASSERT_TRUE(shorter) << shorter.error().text();
  EXPECT_EQ(base->parameters() - shorter->parameters(), 72 * parameters_of(base->towers.front()).layer);
  // A head keeps its width where the configuration states one: Qwen3's 128 is not hidden / heads.
  EXPECT_EQ(from_yaml("{config: qwen3-30b-a3b, layers: 4}")->towers.front().head_dim, 128);
  // And follows the width where it did.
  EXPECT_EQ(from_yaml("{config: llama-2-7b, hidden: 2048}")->towers.front().head_dim, 64);
  EXPECT_EQ(from_yaml("{config: mixtral-8x7b, experts: {count: 16}}")->towers.front().experts.per_token, 2);
}

TEST(ModelForm, WrongFormsSayWhereWhatAndWhatNext) {
  for (const Wrong& wrong : {
           Wrong{"layers: 80\nhiden: 8192", 2, "unknown key \"hiden\" in model", "did you mean hidden"},
           Wrong{"layers: 80\nheads: 8\nvocab: 10", 1, "lacks the key \"hidden\"", "short form"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nvocab: 10\ngated: true", 1, "lacks the key \"ffn\"", "short form"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8", 1, "lacks the key \"vocab\"", "short form"},
           Wrong{"layers: 80\nhidden: 64\nheads: 7\nvocab: 10", 3, "7 heads do not divide the width 64", "head_dim"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nkv_heads: 3\nvocab: 10", 4, "3 key-value heads do not divide 8 heads", "divisor"},
           Wrong{"layers: 0\nhidden: 64\nheads: 8\nvocab: 10", 1, "0 is below 1", "at least 1"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nvocab: 10\nnorm: rsm", 5, "\"rsm\"", "rms"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nvocab: 10\npositions: learned", 5, "learned positions without a length",
                 "max_positions"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nvocab: 10\nexperts: {count: 8, per_tokens: 2}", 5, "per_tokens", "per_token"},
           Wrong{"layers: 80\nhidden: 64\nheads: 8\nvocab: 10\nexperts: {count: 8, per_token: 9}", 5, "9 of 8", "from 1"},
           Wrong{"layers: 5\nhidden: 64\nheads: 8\nvocab: 10\nexperts: {count: 8, per_token: 2, every: 2}", 5, "not a multiple of every 2",
                 "evenly"},
           Wrong{"layers: 5\nhidden: 64\nheads: 8\nvocab: 10\nexperts: {count: 8, per_token: 2, first_dense_layers: 5}", 5,
                 "leave no layer", "fewer"},
           Wrong{"config: clip-vit-b-32\nlayers: 8", 1, "2 towers", "towers: ["},
           Wrong{"config: llama-2-7\nlayers: 8", 1, "llama-2-7", "llama-2-7b"},
           Wrong{"config: no/where/config.json", 1, "no file", "built-in name"},
           Wrong{"towers: []", 1, "0 towers", ""},
           Wrong{"towers: [{layers: 2, hidden: 8, heads: 2, vocab: 9}]\nlayers: 3", 2, "beside towers", "inside the tower"},
       }) {
    const auto model = from_yaml(wrong.config);
    ASSERT_FALSE(model) << wrong.config;
    const Error& error = model.error();
    EXPECT_EQ(error.where.file, "job.yaml") << error.text();
    EXPECT_EQ(error.where.line, wrong.line) << error.text();
    EXPECT_NE(error.message.find(wrong.message), std::string::npos) << error.text();
    EXPECT_NE(error.hint.find(wrong.hint), std::string::npos) << error.text();
  }
}

TEST(ModelForm, ReadsAFileAndNamesItByItsFolder) {
  const auto model = read_model(std::string(TRUNKLINE_SOURCE_DIR) + "/data/models/llama-2-7b/config.json");
  ASSERT_TRUE(model) << model.error().text();
  EXPECT_EQ(model->name, "llama-2-7b");
  EXPECT_FALSE(read_model("no/such/config.json"));
}

}  // namespace
}  // namespace trunkline::workload
