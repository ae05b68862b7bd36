// Llama and the families that changed little about it.
#include "workload/model_families.hpp"

namespace trunkline::workload::families {

Tower llama_tower(ConfigReader& in, bool tied_by_default) {
  Tower t;
  t.name = "decoder";
  t.layers = in.count({"num_hidden_layers"}, "the number of transformer layers");
  t.hidden = in.integer({"hidden_size"}, "the width of the residual stream");
  t.heads = in.count({"num_attention_heads"}, "the number of attention heads");
  t.kv_heads = in.count_or({"num_key_value_heads"}, t.heads, "as num_attention_heads, the default of Hugging Face");
  t.head_dim = in.count_or({"head_dim"}, t.hidden / t.heads);
  t.ffn = in.integer({"intermediate_size"}, "the inner width of the feed-forward block");
  t.vocab = in.integer({"vocab_size"}, "the number of tokens in the vocabulary");
  t.max_positions = in.integer_or({"max_position_embeddings", "max_sequence_length"}, 0);
  t.gated = true;
  t.norm = Norm::rms;
  t.positions = Positions::rotary;
  t.qkv_bias = t.out_bias = in.flag_or({"attention_bias"}, false);
  if (in.flag_or({"mlp_bias"}, false)) {
    t.biases = t.qkv_bias;
    if (!t.qkv_bias) in.fault(in.where({"mlp_bias"}), "mlp_bias without attention_bias is not modelled", or_short_form());
  }
  t.dropout = in.number_or({"attention_dropout"}, 0) > 0;
  t.tied = in.flag_or({"tie_word_embeddings"}, tied_by_default, "the default of Hugging Face for this family");
  return t;
}

void llama(ConfigReader& in, Model& model) { model.towers = {llama_tower(in, false)}; }

void mistral(ConfigReader& in, Model& model) {
  model.towers = {llama_tower(in, false)};
  const std::int64_t window = in.integer_or({"sliding_window"}, 0);
  if (window > 0)
    in.assumed().emplace_back("sliding_window", "not modelled: attention counts the whole sequence (exact up to that length)");
}

void qwen2(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, false);
  t.qkv_bias = true;
  t.out_bias = false;
  model.towers = {t};
}

void qwen3(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, false);
  t.head_dim = in.count_or({"head_dim"}, 128, "the default of Hugging Face's Qwen3Config");
  t.qk_norm = true;
  model.towers = {t};
}

void gemma(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, true);
  t.head_dim = in.count_or({"head_dim"}, 256, "the default of Hugging Face's GemmaConfig");
  model.towers = {t};
}

void gemma2(ConfigReader& in, Model& model) {
  gemma(in, model);
  model.towers.front().norms = 4;
  in.assumed().emplace_back("sliding_window", "not modelled: every layer's attention counts the whole sequence");
}

void phi3(ConfigReader& in, Model& model) { model.towers = {llama_tower(in, false)}; }

// Squared ReLU (two matrices), layer norms with biases, no other biases.
void nemotron(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, false);
  t.gated = false;
  t.norm = Norm::layer;
  model.towers = {t};
}

}  // namespace trunkline::workload::families
