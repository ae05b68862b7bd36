// A model as its architecture states it: one or more stacks of transformer layers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/value.hpp"

namespace trunkline::workload {

enum class Norm { layer, rms };
enum class Positions { none, learned, rotary, alibi };

struct Experts {
  int count = 0;              // 0 = dense
  int per_token = 0;          // routed experts a token visits
  int shared = 0;             // experts every token visits
  std::int64_t ffn = 0;       // inner width of one expert
  int first_dense_layers = 0; // layers at the front that stay dense
  int every = 1;              // one MoE layer in this many
};

// DeepSeek's multi-head latent attention; all zero = ordinary attention.
struct Latent {
  int q_rank = 0, kv_rank = 0, rope_dim = 0, nope_dim = 0, value_dim = 0;
};

// One stack of equal layers with what stands before and behind it.
struct Tower {
  std::string name;            // "decoder", "vision", "text"
  int layers = 0;
  std::int64_t hidden = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;
  bool gated = false;          // SwiGLU/GeGLU: three matrices instead of two
  bool causal = true;
  bool biases = false;         // linear layers carry biases
  bool qkv_bias = false;
  Norm norm = Norm::rms;
  Positions positions = Positions::rotary;
  std::int64_t max_positions = 0;
  std::int64_t vocab = 0;      // 0 = no token embedding
  bool tied = false;           // output layer shares the embedding
  bool head = true;            // has an output layer over the vocabulary
  int image = 0, patch = 0, channels = 3;  // a vision tower's input; 0 = text
  std::int64_t projection = 0; // contrastive projection width; 0 = none
  std::int64_t classes = 0;    // classifier head
  Experts experts;
  Latent latent;

  // Tokens a sample brings to this stack: patches + 1 for vision, `sequence` (or max_positions for CLIP's text) for text.
  std::int64_t tokens(std::int64_t sequence) const;
};

struct Model {
  enum class Kind { causal_lm, masked_lm, classifier, contrastive };
  std::string name;
  Kind kind = Kind::causal_lm;
  std::vector<Tower> towers;

  double parameters() const;         // all
  double active_parameters() const;  // those a token passes (MoE: routed + shared only)
};

// Parameters of one tower's parts.
struct TowerParameters {
  double layer = 0;        // one layer (a dense one where layers differ)
  double moe_layer = 0;    // one MoE layer, all experts
  double moe_active = 0;   // one MoE layer, what a token passes
  double embedding = 0;    // token and position embeddings, patch projection
  double head = 0;         // final norm, untied output layer, projection
};
TowerParameters parameters_of(const Tower& tower);

// From a Hugging Face config.json (Llama/Mistral/Qwen, GPT-2, GPT-NeoX, MPT, Mixtral, DeepSeek, ViT, CLIP, …) or the short
// YAML form with the same words as the struct above; a built-in name ("llama-2-70b") finds data/models/NAME/config.json.
Result<Model> model_from(const io::Value& value, const std::string& name);
Result<Model> read_model(const std::string& path);
Result<Model> builtin_model(const std::string& name);

}  // namespace trunkline::workload
