// The short YAML form of a model, alone or as overrides of a configuration.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "workload/model_reader.hpp"

namespace trunkline::workload {
namespace {

using io::FieldSpec;
using io::FieldType;

FieldSpec whole(const char* name, const char* doc, double min = 0) {
  return {.name = name, .type = FieldType::integer, .doc = doc, .min = min, .max = kLargestSize};
}
FieldSpec yes_no(const char* name, const char* doc) { return {.name = name, .type = FieldType::boolean, .doc = doc}; }
FieldSpec word(const char* name, const char* doc, std::vector<std::string> choices) {
  return {.name = name, .type = FieldType::choice, .doc = doc, .choices = std::move(choices)};
}
FieldSpec text(const char* name, const char* doc) { return {.name = name, .type = FieldType::text, .doc = doc}; }
FieldSpec block(const char* name, const char* doc, FieldType type, const io::ObjectSpec* object) {
  return {.name = name, .type = type, .doc = doc, .object = object};
}

const io::ObjectSpec& experts_spec() {
  static const io::ObjectSpec spec{
      "model.experts",
      "a mixture of experts in place of the feed-forward block",
      {whole("count", "routed experts a layer", 1), whole("per_token", "routed experts a token visits", 1),
       whole("shared", "experts every token visits"), whole("ffn", "inner width of one expert", 1),
       whole("first_dense_layers", "layers at the front that stay dense"), whole("every", "one layer with experts in this many", 1),
       yes_no("shared_gate", "a learned gate scales the shared experts"), yes_no("router_bias", "the router carries a bias an expert")}};
  return spec;
}

const io::ObjectSpec& latent_spec() {
  static const io::ObjectSpec spec{
      "model.latent",
      "multi-head latent attention (DeepSeek)",
      {whole("q_rank", "width of the compressed queries; 0 = not compressed"),
       whole("kv_rank", "width of the compressed keys and values", 1), whole("rope_dim", "rotary part of a query head", 1),
       whole("nope_dim", "part of a query head without positions"), whole("value_dim", "width of a value head", 1)}};
  return spec;
}

std::vector<FieldSpec> tower_fields() {
  return {
      whole("layers", "transformer layers", 1),
      whole("hidden", "width of the residual stream", 1),
      whole("heads", "attention heads", 1),
      whole("kv_heads", "key and value heads; absent = as heads", 1),
      whole("head_dim", "width of a head; absent = hidden / heads", 1),
      whole("ffn", "inner width of the feed-forward block", 1),
      whole("vocab", "tokens in the vocabulary; 0 = no token embedding"),
      yes_no("gated", "gated feed-forward block (SwiGLU, GeGLU): three matrices instead of two"),
      yes_no("causal", "a token attends only to those before it"),
      yes_no("biases", "linear layers carry biases"),
      yes_no("qkv_bias", "query, key and value projections carry biases"),
      yes_no("out_bias", "attention's output projection carries a bias"),
      word("norm", "kind of the norms", {"layer", "rms"}),
      whole("norms", "norms a layer"),
      yes_no("norm_bias", "layer norms carry a bias"),
      yes_no("qk_norm", "queries and keys are normalised head by head"),
      word("positions", "how positions enter", {"none", "learned", "rotary", "alibi"}),
      whole("max_positions", "longest sequence; rows of a learned position table"),
      yes_no("tied", "the output layer shares the token embedding"),
      yes_no("head", "has an output layer over the vocabulary"),
      yes_no("embedding_norm", "a norm right behind the embedding"),
      yes_no("final_norm", "a norm behind the last layer"),
      yes_no("dropout", "trained with dropout"),
      whole("image", "side of the square input image in pixels"),
      whole("patch", "side of a square patch in pixels", 1),
      whole("channels", "colour channels of the image", 1),
      yes_no("patch_bias", "the patch projection carries a bias"),
      whole("projection", "width of the contrastive projection"),
      whole("classes", "classes of a classifier"),
      block("experts", "mixture of experts", FieldType::object, &experts_spec()),
      block("latent", "multi-head latent attention", FieldType::object, &latent_spec()),
  };
}

const io::ObjectSpec& tower_spec() {
  static const io::ObjectSpec spec = [] {
    io::ObjectSpec s{"model.tower", "one stack of equal layers", tower_fields()};
    s.fields.insert(s.fields.begin(), text("name", "label of the tower: decoder, vision, text"));
    return s;
  }();
  return spec;
}

template <class T>
void take(const io::Value& map, const char* key, T& field) {
  if constexpr (std::is_same_v<T, bool>) {
    if (const auto value = io::get_bool(map, key)) field = *value;
  } else {
    if (const auto value = io::get_integer(map, key)) field = T(*value);
  }
}

void take_experts(const io::Value& map, Experts& e) {
  take(map, "count", e.count);
  take(map, "per_token", e.per_token);
  take(map, "shared", e.shared);
  take(map, "ffn", e.ffn);
  take(map, "first_dense_layers", e.first_dense_layers);
  take(map, "every", e.every);
  take(map, "shared_gate", e.shared_gate);
  take(map, "router_bias", e.router_bias);
}

void take_latent(const io::Value& map, Latent& l) {
  take(map, "q_rank", l.q_rank);
  take(map, "kv_rank", l.kv_rank);
  take(map, "rope_dim", l.rope_dim);
  take(map, "nope_dim", l.nope_dim);
  take(map, "value_dim", l.value_dim);
}

void take_flags(const io::Value& map, Tower& t) {
  take(map, "gated", t.gated);
  take(map, "causal", t.causal);
  take(map, "biases", t.biases);
  take(map, "qkv_bias", t.qkv_bias);
  take(map, "out_bias", t.out_bias);
  take(map, "norm_bias", t.norm_bias);
  take(map, "qk_norm", t.qk_norm);
  take(map, "tied", t.tied);
  take(map, "head", t.head);
  take(map, "embedding_norm", t.embedding_norm);
  take(map, "final_norm", t.final_norm);
  take(map, "dropout", t.dropout);
  take(map, "patch_bias", t.patch_bias);
}

void take_sizes(const io::Value& map, Tower& t) {
  take(map, "layers", t.layers);
  take(map, "hidden", t.hidden);
  take(map, "heads", t.heads);
  take(map, "kv_heads", t.kv_heads);
  take(map, "head_dim", t.head_dim);
  take(map, "ffn", t.ffn);
  take(map, "vocab", t.vocab);
  take(map, "norms", t.norms);
  take(map, "max_positions", t.max_positions);
  take(map, "image", t.image);
  take(map, "patch", t.patch);
  take(map, "channels", t.channels);
  take(map, "projection", t.projection);
  take(map, "classes", t.classes);
}

void take_words(const io::Value& map, Tower& t) {
  if (const auto name = io::get_text(map, "name")) t.name = *name;
  if (const auto norm = io::get_text(map, "norm")) t.norm = *norm == "layer" ? Norm::layer : Norm::rms;
  if (const auto positions = io::get_text(map, "positions")) {
    t.positions = *positions == "learned"  ? Positions::learned
                  : *positions == "rotary" ? Positions::rotary
                  : *positions == "alibi"  ? Positions::alibi
                                           : Positions::none;
  }
}

bool has(const io::Value& map, const char* key) {
  const io::Value* value = map.find(key);
  return value && !value->is_null();
}

Result<void> require_keys(const io::Value& map, const char* where) {
  std::vector<const char*> needed{"layers", "hidden", "heads"};
  if (has(map, "gated") && *io::get_bool(map, "gated") && !has(map, "experts")) needed.push_back("ffn");
  if (!has(map, "image")) needed.push_back("vocab");
  for (const char* key : needed) {
    if (!has(map, key)) return bad_input(map.where(), fmt::format("{} lacks the key \"{}\"", where, key), or_short_form());
  }
  return {};
}

// Keys that follow from others where the file does not state them; each goes to `assumed`.
void derive(const io::Value& map, Tower& t, const Tower& before, bool fresh, Assumed& assumed) {
  const auto note = [&](const char* key, const std::string& taken) { assumed.emplace_back(fmt::format("model.{}", key), taken); };
  const bool width_changed = t.hidden != before.hidden || t.heads != before.heads;
  if (!has(map, "kv_heads") && (fresh || (before.kv_heads == before.heads && t.heads != before.heads))) {
    t.kv_heads = t.heads;
    note("kv_heads", fmt::format("{} (as heads)", t.kv_heads));
  }
  const bool head_dim_followed = fresh || before.hidden == std::int64_t(before.heads) * before.head_dim;
  if (!has(map, "head_dim") && width_changed && head_dim_followed && t.latent.kv_rank == 0)
    t.head_dim = t.heads > 0 ? int(t.hidden / t.heads) : 0;
  if (t.latent.kv_rank > 0) {
    t.head_dim = t.latent.nope_dim + t.latent.rope_dim;
    t.kv_heads = t.heads;
  }
  if (fresh && t.ffn == 0 && t.experts.count > 0) t.ffn = t.experts.ffn;
  if (fresh && t.ffn == 0) {
    t.ffn = 4 * t.hidden;
    note("ffn", fmt::format("{} (four times hidden)", t.ffn));
  }
  if (fresh && t.experts.count > 0 && t.experts.ffn == 0) {
    t.experts.ffn = t.ffn;
    note("experts.ffn", fmt::format("{} (as ffn)", t.ffn));
  }
}

// A fresh tower says nothing about its style: that of GPT for pictures, of Llama for text, noted once.
void fresh_style(const io::Value& map, Tower& t, Assumed& assumed) {
  const bool picture = has(map, "image");
  if (picture) {
    t.norm = Norm::layer;
    t.positions = Positions::learned;
    t.biases = true;
    t.causal = t.head = false;
  }
  for (const auto& [key, taken] : std::initializer_list<std::pair<const char*, const char*>>{
           {"norm", picture ? "layer" : "rms"}, {"positions", picture ? "learned" : "rotary"}, {"gated", "false"}, {"tied", "false"}}) {
    if (!has(map, key) && !(picture && std::string_view(key) == "tied"))
      assumed.emplace_back(fmt::format("model.{}", key), fmt::format("{} (not stated)", taken));
  }
}

Result<Tower> tower_from(const io::Value& map, const Tower* base, const char* label, Assumed& assumed) {
  Tower t;
  if (base) {
    t = *base;
  } else {
    TRUNKLINE_TRY(require_keys(map, label));
    t.name = has(map, "image") ? "vision" : "decoder";
    fresh_style(map, t, assumed);
  }
  const Tower before = t;
  take_sizes(map, t);
  take_flags(map, t);
  take_words(map, t);
  if (const io::Value* experts = map.find("experts"); experts && experts->is_map()) take_experts(*experts, t.experts);
  if (const io::Value* latent = map.find("latent"); latent && latent->is_map()) take_latent(*latent, t.latent);
  derive(map, t, before, base == nullptr, assumed);
  return t;
}

Model::Kind kind_of(const std::string& word) {
  if (word == "masked_lm") return Model::Kind::masked_lm;
  if (word == "classifier") return Model::Kind::classifier;
  if (word == "contrastive") return Model::Kind::contrastive;
  return Model::Kind::causal_lm;
}

Result<void> several_towers(const io::Value& value, const io::Value& towers, Model& model) {
  for (const FieldSpec& field : tower_fields()) {
    if (has(value, field.name.c_str())) {
      return bad_input(value.find(field.name)->where(), fmt::format("\"{}\" stands beside towers", field.name),
                       "write it inside the tower that it describes");
    }
  }
  if (towers.items().empty()) return bad_input(towers.where(), "towers: found 0 towers, expected 1 to 8", "a tower is one stack of layers");
  model.towers.clear();
  for (const io::Value& item : towers.items()) {
    TRUNKLINE_ASSIGN(tower, tower_from(item, nullptr, "model.towers", model.assumed));
    TRUNKLINE_TRY(check_model({"", Model::Kind::causal_lm, {tower}, {}}, item));
    model.towers.push_back(std::move(tower));
  }
  return {};
}

}  // namespace

const io::ObjectSpec& model_spec() {
  static const io::ObjectSpec spec = [] {
    io::ObjectSpec s{"model", "a model: the short form, or config with keys that override it", tower_fields()};
    s.fields.insert(
        s.fields.begin(),
        {text("name", "label of the model in reports"), text("config", "path of a Hugging Face config.json, or a built-in name"),
         word("kind", "what the model is trained for", {"causal_lm", "masked_lm", "classifier", "contrastive"})});
    s.fields.push_back(block("towers", "several stacks, for example CLIP's vision and text", FieldType::list, &tower_spec()));
    return s;
  }();
  return spec;
}

Result<Model> model_from_form(const io::Value& value, const std::string& name, const Model* base) {
  TRUNKLINE_TRY(io::check(value, model_spec()));
  Model model;
  if (base) model = *base;
  model.name = name;
  const io::Value* towers = value.find("towers");
  if (towers && towers->is_list()) {
    TRUNKLINE_TRY(several_towers(value, *towers, model));
  } else if (base && base->towers.size() != 1) {
    return bad_input(
        value.where(),
        fmt::format("{} has {} towers: a key beside config does not say which one it changes", base->name, base->towers.size()),
        "write the whole model as towers: [{name: vision, …}, {name: text, …}]");
  } else {
    TRUNKLINE_ASSIGN(tower, tower_from(value, base ? &base->towers.front() : nullptr, "model", model.assumed));
    model.towers = {std::move(tower)};
  }
  if (!base) {
    model.kind = model.towers.size() > 1          ? Model::Kind::contrastive
                 : model.towers.front().image > 0 ? Model::Kind::classifier
                 : model.towers.front().causal    ? Model::Kind::causal_lm
                                                  : Model::Kind::masked_lm;
  }
  if (const auto kind = io::get_text(value, "kind")) model.kind = kind_of(*kind);
  TRUNKLINE_TRY(check_model(model, value));
  return model;
}

}  // namespace trunkline::workload
