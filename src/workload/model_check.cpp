// What no model can be, whichever file it came from.
#include <fmt/format.h>

#include <array>

#include "workload/model_reader.hpp"

namespace trunkline::workload {
namespace {

// The names under which configurations write one thing.
using Keys = std::array<const char*, 5>;

// The line of the first of these keys that the file has, else of the whole block.
Where line_of(const io::Value& value, const Keys& keys) {
  for (const char* key : keys) {
    if (!key) break;
    if (const io::Value* found = value.find(key)) return found->where();
  }
  return value.where();
}

constexpr Keys kLayerKeys{"layers", "num_hidden_layers", "n_layer", "n_layers"};
constexpr Keys kHeadKeys{"heads", "num_attention_heads", "n_head", "n_heads"};
constexpr Keys kKvKeys{"kv_heads", "num_key_value_heads", "num_kv_heads", "n_head_kv"};
constexpr Keys kExpertKeys{"experts", "num_experts", "num_local_experts", "n_routed_experts"};
constexpr Keys kWidthKeys{"hidden", "hidden_size", "n_embd", "d_model", "n_embed"};

Result<void> check_sizes(const Tower& t, const io::Value& value) {
  struct Limit {
    const char* what;
    double found, low, high;
    Keys keys;
  };
  const std::array limits{
      Limit{"layers", double(t.layers), 1, 1e4, kLayerKeys},
      Limit{"hidden", double(t.hidden), 1, 1e6, kWidthKeys},
      Limit{"heads", double(t.heads), 1, 1e5, kHeadKeys},
      Limit{"kv_heads", double(t.kv_heads), 1, 1e5, kKvKeys},
      Limit{"head_dim", double(t.head_dim), 1, 1e5, {"head_dim"}},
      Limit{"ffn", double(t.ffn), 1, 1e7, {"ffn", "intermediate_size", "n_inner", "ffn_dim"}},
      Limit{"vocab", double(t.vocab), 0, 1e8, {"vocab", "vocab_size"}},
      Limit{"max_positions", double(t.max_positions), 0, 1e9, {"max_positions", "max_position_embeddings"}},
      Limit{"image", double(t.image), 0, 1e5, {"image", "image_size"}},
      Limit{"channels", double(t.channels), 1, 1e4, {"channels", "num_channels"}},
      Limit{"experts", double(t.experts.count), 0, 1e5, kExpertKeys},
      Limit{"shared experts", double(t.experts.shared), 0, 1e3, {"experts", "n_shared_experts"}},
      Limit{"expert ffn", double(t.experts.ffn), 0, 1e7, {"experts", "moe_intermediate_size"}},
      Limit{"classes", double(t.classes), 0, 1e8, {"classes", "num_labels"}},
      Limit{"projection", double(t.projection), 0, 1e6, {"projection", "projection_dim"}},
      Limit{"token types", double(t.token_types), 0, 1e6, {"token_types", "type_vocab_size"}},
      Limit{"norms", double(t.norms), 0, 8, {"norms"}},
  };
  for (const Limit& limit : limits) {
    if (limit.found >= limit.low && limit.found <= limit.high) continue;
    return bad_input(line_of(value, limit.keys),
                     fmt::format("{} {}: found {}, expected {} to {:.0f}", t.name, limit.what, limit.found, limit.low, limit.high),
                     limit.found < limit.low ? "a model needs at least one" : "no model comes near this size: check the figure");
  }
  return {};
}

Result<void> check_heads(const Tower& t, const io::Value& value) {
  const io::Value* stated = value.find("head_dim");
  const bool derived = (!stated || stated->is_null()) && t.latent.kv_rank == 0 && t.head_dim == t.hidden / t.heads;
  if (derived && t.hidden % t.heads != 0) {
    return bad_input(line_of(value, kHeadKeys), fmt::format("{}: {} heads do not divide the width {}", t.name, t.heads, t.hidden),
                     "choose heads that divide it, or state head_dim");
  }
  if (t.heads % t.kv_heads != 0) {
    return bad_input(line_of(value, kKvKeys), fmt::format("{}: {} key-value heads do not divide {} heads", t.name, t.kv_heads, t.heads),
                     "every key-value head serves the same number of heads: choose a divisor");
  }
  return {};
}

Result<void> check_experts(const Tower& t, const io::Value& value) {
  const Experts& e = t.experts;
  if (e.count == 0) return {};
  const auto wrong = [&](std::string message, std::string hint) {
    return bad_input(line_of(value, kExpertKeys), t.name + ": " + std::move(message), std::move(hint));
  };
  if (e.per_token < 1 || e.per_token > e.count) {
    return wrong(fmt::format("a token visits {} of {} experts", e.per_token, e.count),
                 "expected experts per token from 1 to the number of experts");
  }
  if (e.ffn < 1) return wrong("the experts have no inner width", "state ffn inside experts: the inner width of one expert");
  if (e.every < 1 || e.first_dense_layers < 0 || e.first_dense_layers >= t.layers) {
    return wrong(fmt::format("first_dense_layers {} and every {} leave no layer with experts", e.first_dense_layers, e.every),
                 fmt::format("expected fewer dense layers than the {} layers, and every at least 1", t.layers));
  }
  if ((t.layers - e.first_dense_layers) % e.every != 0) {
    return wrong(fmt::format("{} layers behind the first {} are not a multiple of every {}", t.layers - e.first_dense_layers,
                             e.first_dense_layers, e.every),
                 "layers with experts must come round evenly");
  }
  return {};
}

Result<void> check_inputs(const Tower& t, const io::Value& value) {
  if (t.image > 0 && (t.patch < 1 || t.patch > t.image)) {
    return bad_input(line_of(value, {"patch", "patch_size"}),
                     fmt::format("{}: patch {} does not fit an image of {}", t.name, t.patch, t.image),
                     "expected a patch from 1 to the image's side");
  }
  if (t.image == 0 && t.vocab == 0) {
    return bad_input(value.where(), fmt::format("{}: neither vocab nor image: the model has no input", t.name),
                     "state vocab for text, or image and patch for pictures");
  }
  if (t.positions == Positions::learned && t.image == 0 && t.max_positions == 0) {
    return bad_input(line_of(value, {"positions"}), fmt::format("{}: learned positions without a length", t.name),
                     "state max_positions: rows of the position table");
  }
  const Latent& l = t.latent;
  if (l.kv_rank > 0 && (l.value_dim < 1 || l.nope_dim + l.rope_dim < 1)) {
    return bad_input(line_of(value, {"latent"}), fmt::format("{}: latent attention lacks head widths", t.name),
                     "state kv_rank, rope_dim, nope_dim and value_dim");
  }
  return {};
}

}  // namespace

Result<void> check_model(const Model& model, const io::Value& value) {
  if (model.towers.empty() || model.towers.size() > 8) {
    return bad_input(value.where(), fmt::format("{} towers found, expected 1 to 8", model.towers.size()), "a tower is one stack of layers");
  }
  for (const Tower& tower : model.towers) {
    TRUNKLINE_TRY(check_sizes(tower, value));
    TRUNKLINE_TRY(check_heads(tower, value));
    TRUNKLINE_TRY(check_experts(tower, value));
    TRUNKLINE_TRY(check_inputs(tower, value));
  }
  return {};
}

}  // namespace trunkline::workload
