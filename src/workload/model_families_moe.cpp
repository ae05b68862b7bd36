// Mixtures of experts.
#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "workload/model_families.hpp"

namespace trunkline::workload::families {
namespace {

constexpr const char* kCount = "the number of routed experts a layer";
constexpr const char* kPerToken = "the routed experts that a token visits";
constexpr const char* kExpertWidth = "the inner width of one expert";

// Qwen lists layers that stay dense one by one; the tower knows only a run of them at the front.
void dense_layers_at_front(ConfigReader& in, Tower& t) {
  const io::Value* list = in.find({"mlp_only_layers"});
  if (!list) return;
  for (std::size_t i = 0; i < list->items().size(); ++i) {
    const auto index = parse_integer(list->items()[i].text());
    if (!index || *index != std::int64_t(i)) {
      in.fault(list->where(), "mlp_only_layers: only a run of layers from 0 on is modelled", or_short_form());
      return;
    }
  }
  t.experts.first_dense_layers = int(list->items().size());
}

Tower qwen_moe_tower(ConfigReader& in) {
  Tower t = llama_tower(in, false);
  Experts& e = t.experts;
  e.count = in.count({"num_experts"}, kCount);
  e.per_token = in.count({"num_experts_per_tok"}, kPerToken);
  e.ffn = in.integer({"moe_intermediate_size"}, kExpertWidth);
  e.every = in.count_or({"decoder_sparse_step"}, 1);
  dense_layers_at_front(in, t);
  return t;
}

void latent_attention(ConfigReader& in, Tower& t) {
  Latent& l = t.latent;
  l.q_rank = in.count_or({"q_lora_rank"}, 0);  // null: queries are not compressed (DeepSeek-V2-Lite)
  l.kv_rank = in.count({"kv_lora_rank"}, "the width of the compressed keys and values");
  l.rope_dim = in.count({"qk_rope_head_dim"}, "the rotary part of a query head");
  l.nope_dim = in.count({"qk_nope_head_dim"}, "the part of a query head without positions");
  l.value_dim = in.count({"v_head_dim"}, "the width of a value head");
  t.head_dim = l.rope_dim + l.nope_dim;
  t.kv_heads = t.heads;  // every head has its own keys once they are expanded
}

void deepseek(ConfigReader& in, Model& model, bool router_bias) {
  Tower t = llama_tower(in, false);
  latent_attention(in, t);
  Experts& e = t.experts;
  e.count = in.count({"n_routed_experts"}, kCount);
  e.per_token = in.count({"num_experts_per_tok"}, kPerToken);
  e.shared = in.count_or({"n_shared_experts"}, 0, "no shared experts where the key is absent");
  e.ffn = in.integer({"moe_intermediate_size"}, kExpertWidth);
  e.first_dense_layers = in.count_or({"first_k_dense_replace"}, 0, "no dense layers where the key is absent");
  e.every = in.count_or({"moe_layer_freq"}, 1);
  e.router_bias = router_bias;
  if (in.integer_or({"num_nextn_predict_layers"}, 0) > 0) {
    in.assumed().emplace_back("num_nextn_predict_layers", "not modelled: the multi-token prediction layers are left out");
  }
  model.towers = {t};
}

}  // namespace

void mixtral(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, false);
  t.experts.count = in.count({"num_local_experts"}, kCount);
  t.experts.per_token = in.count({"num_experts_per_tok"}, kPerToken);
  t.experts.ffn = t.ffn;
  model.towers = {t};
}

void qwen2_moe(ConfigReader& in, Model& model) {
  Tower t = qwen_moe_tower(in);
  t.qkv_bias = true;
  t.out_bias = false;
  const std::int64_t shared = in.integer({"shared_expert_intermediate_size"}, "the inner width of the shared expert");
  if (shared % t.experts.ffn != 0) {
    in.fault(in.where({"shared_expert_intermediate_size"}),
             fmt::format("shared_expert_intermediate_size: {} is no multiple of moe_intermediate_size {}", shared, t.experts.ffn),
             "a shared expert is modelled as so many experts of the routed width");
  }
  t.experts.shared = int(shared / t.experts.ffn);
  t.experts.shared_gate = true;
  model.towers = {t};
}

void qwen3_moe(ConfigReader& in, Model& model) {
  Tower t = qwen_moe_tower(in);
  t.qk_norm = true;
  model.towers = {t};
}

void deepseek_v2(ConfigReader& in, Model& model) { deepseek(in, model, false); }
void deepseek_v3(ConfigReader& in, Model& model) { deepseek(in, model, true); }

void dbrx(ConfigReader& in, Model& model) {
  Tower t;
  t.name = "decoder";
  t.layers = in.count({"n_layers"}, "the number of transformer layers");
  t.hidden = in.integer({"d_model"}, "the width of the residual stream");
  t.heads = in.count({"n_heads"}, "the number of attention heads");
  t.head_dim = int(t.hidden / t.heads);
  t.vocab = in.integer({"vocab_size"}, "the number of tokens in the vocabulary");
  t.max_positions = in.integer_or({"max_seq_len"}, 0);
  t.gated = true;
  t.norm = Norm::layer;
  t.norm_bias = false;
  t.tied = in.flag_or({"tie_word_embeddings"}, false, "the default of Hugging Face's DbrxConfig");
  static const io::Value nothing;
  const io::Value* attention_block = in.find({"attn_config"});
  const io::Value* expert_block = in.find({"ffn_config"});
  ConfigReader attention(attention_block ? *attention_block : nothing, "attn_config", in.assumed());
  ConfigReader experts(expert_block ? *expert_block : nothing, "ffn_config", in.assumed());
  t.kv_heads = attention.count({"kv_n_heads"}, "the number of key and value heads");
  t.experts.count = experts.count({"moe_num_experts"}, kCount);
  t.experts.per_token = experts.count({"moe_top_k"}, kPerToken);
  t.experts.ffn = t.ffn = experts.integer({"ffn_hidden_size"}, kExpertWidth);
  for (const ConfigReader* part : {&attention, &experts}) {
    if (const auto ok = part->status(); !ok) {
      const Where where = ok.error().where.file.empty() ? in.map().where() : ok.error().where;
      in.fault(where, ok.error().message, ok.error().hint);
    }
  }
  model.towers = {t};
}

// Norms before and after each block; the embedding is the output layer.
void grok(ConfigReader& in, Model& model) {
  Tower t = llama_tower(in, true);
  t.norms = 4;
  t.experts.count = in.count({"num_experts", "num_local_experts"}, kCount);
  t.experts.per_token = in.count({"num_experts_per_tok", "num_selected_experts"}, kPerToken);
  t.experts.ffn = t.ffn;
  model.towers = {t};
}

// The text model only: images pass through a separate encoder that pre-training of text does not run.
void llama4(ConfigReader& outer, Model& model) {
  const io::Value* text = outer.find({"text_config"});
  if (text && outer.find({"vision_config"})) outer.assumed().emplace_back("vision_config", "not modelled: the text model alone");
  ConfigReader in(text ? *text : outer.map(), "llama4 text configuration", outer.assumed());
  Tower t = llama_tower(in, false);
  Experts& e = t.experts;
  e.count = in.count({"num_local_experts"}, kCount);
  e.per_token = in.count({"num_experts_per_tok"}, kPerToken);
  e.ffn = t.ffn;
  e.shared = 1;
  e.every = in.count_or({"interleave_moe_layer_step"}, 1, "the default of Hugging Face's Llama4TextConfig");
  t.ffn = in.integer({"intermediate_size_mlp"}, "the inner width of the dense layers");
  if (const auto ok = in.status(); !ok) outer.fault(ok.error().where, ok.error().message, ok.error().hint);
  model.towers = {t};
}

}  // namespace trunkline::workload::families
