// A model as its architecture states it: one or more stacks of transformer layers.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/spec.hpp"
#include "io/value.hpp"

namespace trunkline::workload {

enum class Norm { layer, rms };
enum class Positions { none, learned, rotary, alibi };
// What stands between the feed-forward matrices, by how many of PyTorch's kernels it is where nothing is fused.
enum class Activation {
  single,      // ReLU, GELU, SiLU: one kernel
  quick_gelu,  // x·sigmoid(1.702·x)
  gelu_new,    // x/2·(1 + tanh(√(2/π)·(x + 0.044715·x³)))
};
// Tensors of the inner width that it keeps for backward when each of its operations runs as a kernel of its own.
double kept_tensors(Activation activation);

struct Experts {
  int count = 0;               // 0 = dense
  int per_token = 0;           // routed experts a token visits
  int shared = 0;              // experts every token visits
  std::int64_t ffn = 0;        // inner width of one expert
  int first_dense_layers = 0;  // layers at the front that stay dense
  int every = 1;               // one MoE layer in this many, counted from the first that may be one
  bool shared_gate = false;    // the shared experts' output is scaled by a learned gate
  bool router_bias = false;    // the router carries a bias an expert
};

// DeepSeek's multi-head latent attention; all zero = ordinary attention.
struct Latent {
  int q_rank = 0, kv_rank = 0, rope_dim = 0, nope_dim = 0, value_dim = 0;
};

// One stack of equal layers with what stands before and behind it.
struct Tower {
  std::string name;  // "decoder", "vision", "text"
  int layers = 0;
  std::int64_t hidden = 0;
  int heads = 0, kv_heads = 0, head_dim = 0;
  std::int64_t ffn = 0;
  bool gated = false;  // SwiGLU/GeGLU: three matrices instead of two
  bool causal = true;
  bool biases = false;  // linear layers carry biases
  bool qkv_bias = false;
  Norm norm = Norm::rms;
  Positions positions = Positions::rotary;
  std::int64_t max_positions = 0;
  std::int64_t vocab = 0;                  // 0 = no token embedding
  bool tied = false;                       // output layer shares the embedding
  bool head = true;                        // has an output layer over the vocabulary
  int image = 0, patch = 0, channels = 3;  // a vision tower's input; 0 = text
  std::int64_t projection = 0;             // contrastive projection width; 0 = none
  std::int64_t classes = 0;                // classifier head
  Experts experts;
  Latent latent;                     // where set, head_dim is the width of a query: nope_dim + rope_dim
  int norms = 2;                     // norms a layer: 1 (one for both blocks), 2, or 4 (before and after each block)
  bool norm_bias = true;             // layer norms carry a bias; rms norms never do
  bool qk_norm = false;              // queries and keys are normalised head by head
  bool out_bias = false;             // attention's output projection carries a bias
  bool embedding_norm = false;       // a norm right behind the embedding
  bool final_norm = true;            // a norm behind the last layer
  bool patch_bias = true;            // the patch projection carries a bias
  bool head_transform = false;       // BERT's output layer: dense + norm before it, a bias behind it
  std::int64_t extra_positions = 0;  // rows of the position table that no token uses (OPT)
  std::int64_t token_types = 0;      // segment embeddings (BERT)
  bool dropout = false;              // the architecture is trained with dropout (GPT-2, BERT)
  Activation activation = Activation::single;
  bool fused_qkv = false;  // queries, keys and values come out of one matrix

  // Tokens a sample brings to this stack: patches + 1 (the class token) for vision; for text `sequence`, or
  // max_positions where the job states none (CLIP's text has one fixed length).
  std::int64_t tokens(std::int64_t sequence) const;
  bool is_vision() const { return image > 0; }
};

// How many layers of the tower hold experts: those from first_dense_layers on, one in `every`.
int moe_layers(const Tower& tower);

struct Model {
  enum class Kind { causal_lm, masked_lm, classifier, contrastive };
  std::string name;
  Kind kind = Kind::causal_lm;
  std::vector<Tower> towers;
  std::vector<std::pair<std::string, std::string>> assumed;  // keys the file left out and what was taken, in words

  double parameters() const;         // all
  double active_parameters() const;  // those a token passes (MoE: routed + shared only)
};

// Parameters of one tower's parts: the sum of its matrices, biases and norms, exact (below 2^53).
// Validated by the published counts of some thirty models (model_test.cpp).
struct TowerParameters {
  double layer = 0;       // one layer (a dense one where layers differ)
  double moe_layer = 0;   // one MoE layer, all experts
  double moe_active = 0;  // one MoE layer, what a token passes
  double embedding = 0;   // token and position embeddings, patch projection
  double head = 0;        // final norm, untied output layer, projection
};
TowerParameters parameters_of(const Tower& tower);

// From a Hugging Face config.json (Llama/Mistral/Qwen, GPT-2, GPT-NeoX, MPT, Mixtral, DeepSeek, ViT, CLIP, …) or the short
// YAML form with the same words as the struct above. A key that Hugging Face's configuration class gives a documented
// default may be absent: the default is taken and listed in `assumed`. Errors name file, key and what was expected.
Result<Model> model_from(const io::Value& value, const std::string& name);
Result<Model> read_model(const std::string& path);
// "llama-2-70b": data/models/NAME/config.json, built into the program.
Result<Model> builtin_model(const std::string& name);
std::vector<std::string> builtin_model_names();

// What may stand under `model:` of a job file: the short form, or `config` with keys that override it.
const io::ObjectSpec& model_spec();
// The value of a job's `model:` key: a built-in name, {config: path or name, overrides…}, or the short form. A relative
// path is looked up beside the job file (`base_directory`), then in the current directory.
Result<Model> model_of_job(const io::Value& value, const std::string& base_directory);

}  // namespace trunkline::workload
