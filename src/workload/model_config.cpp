// Which family a Hugging Face configuration belongs to.
#include <fmt/format.h>

#include <array>

#include "base/text.hpp"
#include "workload/model_families.hpp"

namespace trunkline::workload {
namespace {

struct Family {
  const char* type;          // `model_type`
  const char* class_prefix;  // of the names under `architectures`: LlamaForCausalLM
  void (*read)(ConfigReader&, Model&);
};

constexpr std::array kFamilies{
    Family{"llama", "Llama", families::llama},
    Family{"mistral", "Mistral", families::mistral},
    Family{"qwen2", "Qwen2", families::qwen2},
    Family{"qwen3", "Qwen3", families::qwen3},
    Family{"gemma", "Gemma", families::gemma},
    Family{"gemma2", "Gemma2", families::gemma2},
    Family{"phi3", "Phi3", families::phi3},
    Family{"nemotron", "Nemotron", families::nemotron},
    Family{"gpt2", "GPT2", families::gpt2},
    Family{"gpt_neox", "GPTNeoX", families::gpt_neox},
    Family{"mpt", "MPT", families::mpt},
    Family{"mpt", "Mpt", families::mpt},
    Family{"opt", "OPT", families::opt},
    Family{"falcon", "Falcon", families::falcon},
    Family{"bloom", "Bloom", families::bloom},
    Family{"bert", "Bert", families::bert},
    Family{"roberta", "Roberta", families::roberta},
    Family{"mixtral", "Mixtral", families::mixtral},
    Family{"qwen2_moe", "Qwen2Moe", families::qwen2_moe},
    Family{"qwen3_moe", "Qwen3Moe", families::qwen3_moe},
    Family{"deepseek_v2", "DeepseekV2", families::deepseek_v2},
    Family{"deepseek_v3", "DeepseekV3", families::deepseek_v3},
    Family{"dbrx", "Dbrx", families::dbrx},
    Family{"grok-1", "Grok1", families::grok},
    Family{"llama4", "Llama4", families::llama4},
    Family{"llama4_text", "Llama4Text", families::llama4},
    Family{"vit", "ViT", families::vit},
    Family{"clip", "CLIP", families::clip},
};

// "LlamaForCausalLM" → "Llama", "GPT2LMHeadModel" → "GPT2".
std::string class_prefix(std::string_view architecture) {
  for (const char* suffix : {"For", "LMHead", "Model"}) {
    if (const auto at = architecture.find(suffix); at != std::string_view::npos && at > 0) return std::string(architecture.substr(0, at));
  }
  return std::string(architecture);
}

const Family* by_type(std::string_view type) {
  for (const Family& family : kFamilies) {
    if (type == family.type) return &family;
  }
  return nullptr;
}

const Family* by_architectures(const io::Value* architectures) {
  if (!architectures || !architectures->is_list()) return nullptr;
  for (const io::Value& item : architectures->items()) {
    if (!item.is_scalar()) continue;
    const std::string prefix = class_prefix(item.text());
    for (const Family& family : kFamilies) {
      if (prefix == family.class_prefix) return &family;
    }
  }
  return nullptr;
}

Result<const Family*> family_of(const io::Value& value) {
  const io::Value* type = value.find("model_type");
  const io::Value* architectures = value.find("architectures");
  if (type && type->is_scalar()) {
    if (const Family* family = by_type(type->text())) return family;
  }
  if (const Family* family = by_architectures(architectures)) return family;
  std::vector<std::string> known;
  for (const Family& family : kFamilies) {
    if (known.empty() || known.back() != family.type) known.emplace_back(family.type);
  }
  const io::Value& culprit = type ? *type : architectures ? *architectures : value;
  const std::string found = culprit.is_scalar() ? culprit.text().substr(0, 60) : std::string();
  return bad_input(
      culprit.where(),
      fmt::format("{}: {} is a model family that is not known here", type ? "model_type" : "architectures", culprit.describe()),
      or_short_form(did_you_mean(found, known)));
}

}  // namespace

Result<Model> model_from_config(const io::Value& value, const std::string& name) {
  TRUNKLINE_ASSIGN(family, family_of(value));
  Model model;
  model.name = name;
  ConfigReader reader(value, fmt::format("{} configuration", family->type), model.assumed);
  family->read(reader, model);
  TRUNKLINE_TRY(reader.status());
  TRUNKLINE_TRY(check_model(model, value));
  return model;
}

}  // namespace trunkline::workload
