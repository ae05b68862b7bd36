// Vision transformers and CLIP.
#include <fmt/format.h>

#include "workload/model_families.hpp"

namespace trunkline::workload::families {
namespace {

constexpr const char* kVisionDefault = "the default of Hugging Face's CLIPVisionConfig";
constexpr const char* kTextDefault = "the default of Hugging Face's CLIPTextConfig";

Tower encoder(const char* name) {
  Tower t;
  t.name = name;
  t.causal = false;
  t.norm = Norm::layer;
  t.biases = true;
  t.positions = Positions::learned;
  t.head = false;
  return t;
}

void set_heads(Tower& t, int heads) {
  t.heads = t.kv_heads = heads;
  t.head_dim = heads > 0 ? int(t.hidden / heads) : 0;
}

// Hugging Face lets `text_config_dict` override `text_config` key by key (older CLIP files carry both).
io::Value merged(ConfigReader& in, const char* block, const char* overrides) {
  const io::Value* base = in.find({block});
  const io::Value* above = in.find({overrides});
  for (const io::Value* part : {base, above}) {
    if (part && !part->is_map()) in.fault(part->where(), fmt::format("{}: found {}, expected a block of keys", block, part->describe()));
  }
  io::Value out = base ? *base : io::Value::map(nullptr, 0, {});
  if (!above) return out;
  for (const auto& [key, value] : above->fields()) {
    if (key.empty() || key.find('.') != std::string::npos) continue;  // no key of the class
    if (const auto ok = out.set(key, value); !ok) in.fault(ok.error().where, ok.error().message, ok.error().hint);
  }
  return out;
}

Tower clip_vision(ConfigReader& in) {
  Tower t = encoder("vision");
  t.hidden = in.integer_or({"hidden_size"}, 768, kVisionDefault);
  t.layers = in.count_or({"num_hidden_layers"}, 12, kVisionDefault);
  t.ffn = in.integer_or({"intermediate_size"}, 3072, kVisionDefault);
  set_heads(t, in.count_or({"num_attention_heads"}, 12, kVisionDefault));
  t.image = in.count_or({"image_size"}, 224, kVisionDefault);
  t.patch = in.count_or({"patch_size"}, 32, kVisionDefault);
  t.channels = in.count_or({"num_channels"}, 3);
  t.patch_bias = false;
  t.embedding_norm = true;
  t.dropout = in.number_or({"attention_dropout"}, 0) > 0;
  t.activation = in.activation("hidden_act", "quick_gelu");
  return t;
}

Tower clip_text(ConfigReader& in) {
  Tower t = encoder("text");
  t.causal = true;
  t.hidden = in.integer_or({"hidden_size"}, 512, kTextDefault);
  t.layers = in.count_or({"num_hidden_layers"}, 12, kTextDefault);
  t.ffn = in.integer_or({"intermediate_size"}, 2048, kTextDefault);
  set_heads(t, in.count_or({"num_attention_heads"}, 8, kTextDefault));
  t.vocab = in.integer_or({"vocab_size"}, 49408, kTextDefault);
  t.max_positions = in.integer_or({"max_position_embeddings"}, 77, kTextDefault);
  t.dropout = in.number_or({"attention_dropout"}, 0) > 0;
  t.activation = in.activation("hidden_act", "quick_gelu");
  return t;
}

}  // namespace

void vit(ConfigReader& in, Model& model) {
  Tower t = encoder("vision");
  t.hidden = in.integer({"hidden_size"}, "the width of the residual stream");
  t.layers = in.count({"num_hidden_layers"}, "the number of transformer layers");
  set_heads(t, in.count({"num_attention_heads"}, "the number of attention heads"));
  t.ffn = in.integer({"intermediate_size"}, "the inner width of the feed-forward block");
  t.image = in.count({"image_size"}, "the side of the square input image in pixels");
  t.patch = in.count({"patch_size"}, "the side of a square patch in pixels");
  t.channels = in.count_or({"num_channels"}, 3);
  t.dropout = in.number_or({"hidden_dropout_prob"}, 0) > 0;
  const io::Value* labels = in.find({"id2label"});
  t.classes = labels && labels->is_map() ? std::int64_t(labels->fields().size())
                                         : in.integer_or({"num_labels"}, 2, "the default of Hugging Face: two labels");
  model.kind = Model::Kind::classifier;
  model.towers = {t};
}

void clip(ConfigReader& in, Model& model) {
  const io::Value vision_block = merged(in, "vision_config", "vision_config_dict");
  const io::Value text_block = merged(in, "text_config", "text_config_dict");
  Assumed vision_assumed, text_assumed;
  ConfigReader vision_reader(vision_block, "vision_config", vision_assumed);
  ConfigReader text_reader(text_block, "text_config", text_assumed);
  Tower vision = clip_vision(vision_reader);
  Tower text = clip_text(text_reader);
  vision.projection = text.projection = in.integer_or({"projection_dim"}, 512, "the default of Hugging Face's CLIPConfig");
  for (const ConfigReader* part : {&vision_reader, &text_reader}) {
    if (const auto ok = part->status(); !ok) in.fault(ok.error().where, ok.error().message, ok.error().hint);
  }
  for (const auto& [key, taken] : vision_assumed) in.assumed().emplace_back("vision_config." + key, taken);
  for (const auto& [key, taken] : text_assumed) in.assumed().emplace_back("text_config." + key, taken);
  model.kind = Model::Kind::contrastive;
  model.towers = {vision, text};
}

}  // namespace trunkline::workload::families
