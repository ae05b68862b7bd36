// GPT-2 and the families with layer norms and two feed-forward matrices, and BERT.
#include "workload/model_families.hpp"

namespace trunkline::workload::families {
namespace {

constexpr const char* kWidth = "the width of the residual stream";
constexpr const char* kLayers = "the number of transformer layers";
constexpr const char* kHeads = "the number of attention heads";
constexpr const char* kVocab = "the number of tokens in the vocabulary";

// The parts that all of them share; biases everywhere, tied output layer.
Tower gpt_tower(std::int64_t hidden, int layers, int heads) {
  Tower t;
  t.name = "decoder";
  t.hidden = hidden;
  t.layers = layers;
  t.heads = t.kv_heads = heads;
  t.head_dim = int(hidden / heads);
  t.norm = Norm::layer;
  t.biases = true;
  t.tied = true;
  return t;
}

bool tied(ConfigReader& in, bool by_default) {
  return in.flag_or({"tie_word_embeddings"}, by_default, "the default of Hugging Face for this family");
}

}  // namespace

void gpt2(ConfigReader& in, Model& model) {
  Tower t = gpt_tower(in.integer({"n_embd", "hidden_size"}, kWidth), in.count({"n_layer", "num_hidden_layers"}, kLayers),
                      in.count({"n_head", "num_attention_heads"}, kHeads));
  t.ffn = in.integer_or({"n_inner"}, 4 * t.hidden);  // null in GPT-2's own files
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer({"n_positions", "max_position_embeddings", "n_ctx"}, "the longest sequence: rows of the position table");
  t.positions = Positions::learned;
  t.dropout = in.number_or({"resid_pdrop"}, 0.1) > 0;
  t.activation = in.activation("activation_function", "gelu_new");
  t.tied = in.flag_or({"tie_word_embeddings"}, true);  // absent from GPT-2's own files
  t.fused_qkv = true;
  model.towers = {t};
}

void gpt_neox(ConfigReader& in, Model& model) {
  Tower t =
      gpt_tower(in.integer({"hidden_size"}, kWidth), in.count({"num_hidden_layers"}, kLayers), in.count({"num_attention_heads"}, kHeads));
  t.ffn = in.integer({"intermediate_size"}, "the inner width of the feed-forward block");
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer_or({"max_position_embeddings"}, 0);
  t.positions = Positions::rotary;
  t.dropout = in.number_or({"hidden_dropout"}, 0) > 0;
  t.activation = in.activation("hidden_act", "gelu");
  t.tied = tied(in, false);
  if (!in.flag_or({"attention_bias"}, true))
    in.fault(in.where({"attention_bias"}), "gpt_neox without attention biases is not modelled", or_short_form());
  t.fused_qkv = true;
  model.towers = {t};
}

void mpt(ConfigReader& in, Model& model) {
  Tower t = gpt_tower(in.integer({"d_model"}, kWidth), in.count({"n_layers"}, kLayers), in.count({"n_heads"}, kHeads));
  const double ratio = in.number_or({"expansion_ratio"}, 4);
  t.ffn = std::int64_t(ratio * double(t.hidden));
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer({"max_seq_len"}, "the longest sequence");
  t.biases = t.norm_bias = !in.flag_or({"no_bias"}, true, "the default of Hugging Face's MptConfig");
  t.tied = tied(in, true);
  static const io::Value nothing;
  const io::Value* block = in.find({"attn_config"});
  ConfigReader attention(block ? *block : nothing, "attn_config", in.assumed());
  const bool rotary = attention.flag_or({"rope"}, false);
  const bool alibi = !rotary && attention.flag_or({"alibi"}, true, "the default of Hugging Face's MptAttentionConfig");
  t.positions = rotary ? Positions::rotary : alibi ? Positions::alibi : Positions::learned;
  const std::string type = attention.text_or("attn_type", "multihead_attention");
  if (type == "multiquery_attention") t.kv_heads = 1;
  if (type == "grouped_query_attention") t.kv_heads = attention.count({"kv_n_heads"}, "the number of key and value heads");
  if (const auto ok = attention.status(); !ok) in.fault(ok.error().where, ok.error().message, ok.error().hint);
  t.fused_qkv = true;
  model.towers = {t};
}

void opt(ConfigReader& in, Model& model) {
  Tower t =
      gpt_tower(in.integer({"hidden_size"}, kWidth), in.count({"num_hidden_layers"}, kLayers), in.count({"num_attention_heads"}, kHeads));
  t.ffn = in.integer({"ffn_dim"}, "the inner width of the feed-forward block");
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer({"max_position_embeddings"}, "the longest sequence: rows of the position table");
  t.extra_positions = 2;  // OPT's position table starts at row 2
  t.positions = Positions::learned;
  t.dropout = in.number_or({"dropout"}, 0.1) > 0;
  t.tied = tied(in, true);
  if (in.integer_or({"word_embed_proj_dim"}, t.hidden) != t.hidden) {
    in.fault(in.where({"word_embed_proj_dim"}), "word_embed_proj_dim differs from hidden_size: projected embeddings are not modelled",
             or_short_form());
  }
  t.final_norm = in.flag_or({"do_layer_norm_before"}, true);
  model.towers = {t};
}

void falcon(ConfigReader& in, Model& model) {
  Tower t = gpt_tower(in.integer({"hidden_size"}, kWidth), in.count({"num_hidden_layers", "n_layer"}, kLayers),
                      in.count({"num_attention_heads", "n_head"}, kHeads));
  const bool grouped = in.flag_or({"new_decoder_architecture"}, false, "the default of Hugging Face's FalconConfig");
  if (grouped) {
    t.kv_heads = in.count_or({"num_kv_heads", "n_head_kv"}, t.heads, "as num_attention_heads, the default of Hugging Face's FalconConfig");
  } else if (in.flag_or({"multi_query"}, true, "the default of Hugging Face's FalconConfig")) {
    t.kv_heads = 1;
  }
  const bool parallel = grouped || in.flag_or({"parallel_attn"}, true, "the default of Hugging Face's FalconConfig");
  t.norms = parallel && in.count_or({"num_ln_in_parallel_attn"}, grouped ? 2 : 1) == 1 ? 1 : 2;
  t.ffn = in.integer_or({"ffn_hidden_size"}, 4 * t.hidden);
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer_or({"max_position_embeddings"}, 0);
  t.biases = in.flag_or({"bias"}, false, "the default of Hugging Face's FalconConfig");
  t.positions = in.flag_or({"alibi"}, false, "the default of Hugging Face's FalconConfig") ? Positions::alibi : Positions::rotary;
  t.tied = in.flag_or({"tie_word_embeddings"}, true);
  t.fused_qkv = true;
  model.towers = {t};
}

void bloom(ConfigReader& in, Model& model) {
  Tower t = gpt_tower(in.integer({"hidden_size", "n_embed"}, kWidth), in.count({"n_layer", "num_hidden_layers"}, kLayers),
                      in.count({"n_head", "num_attention_heads"}, kHeads));
  t.ffn = 4 * t.hidden;  // fixed in the architecture
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer_or({"seq_length"}, 0);
  t.positions = Positions::alibi;
  t.embedding_norm = true;
  t.dropout = in.number_or({"hidden_dropout"}, 0) > 0;
  t.tied = tied(in, true);
  t.fused_qkv = true;
  model.towers = {t};
}

void bert(ConfigReader& in, Model& model) {
  Tower t =
      gpt_tower(in.integer({"hidden_size"}, kWidth), in.count({"num_hidden_layers"}, kLayers), in.count({"num_attention_heads"}, kHeads));
  t.name = "encoder";
  t.causal = false;
  t.ffn = in.integer({"intermediate_size"}, "the inner width of the feed-forward block");
  t.vocab = in.integer({"vocab_size"}, kVocab);
  t.max_positions = in.integer({"max_position_embeddings"}, "the longest sequence: rows of the position table");
  t.token_types = in.integer_or({"type_vocab_size"}, 2, "the default of Hugging Face for this family");
  t.positions = Positions::learned;
  t.embedding_norm = true;
  t.final_norm = false;  // each block ends with its norm
  t.head_transform = true;
  t.dropout = in.number_or({"hidden_dropout_prob"}, 0.1) > 0;
  t.tied = in.flag_or({"tie_word_embeddings"}, true);
  model.kind = Model::Kind::masked_lm;
  model.towers = {t};
}

void roberta(ConfigReader& in, Model& model) { bert(in, model); }

}  // namespace trunkline::workload::families
