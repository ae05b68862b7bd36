// One reader for each family of Hugging Face configurations. Used by model_config.cpp and model_families_*.cpp.
//
// Keys, and the defaults taken where a key is absent, are those that the family's configuration class documents.
#pragma once

#include "workload/model_reader.hpp"

namespace trunkline::workload::families {

void llama(ConfigReader& in, Model& model);
void mistral(ConfigReader& in, Model& model);
void qwen2(ConfigReader& in, Model& model);
void qwen3(ConfigReader& in, Model& model);
void gemma(ConfigReader& in, Model& model);
void gemma2(ConfigReader& in, Model& model);
void phi3(ConfigReader& in, Model& model);
void nemotron(ConfigReader& in, Model& model);

void gpt2(ConfigReader& in, Model& model);
void gpt_neox(ConfigReader& in, Model& model);
void mpt(ConfigReader& in, Model& model);
void opt(ConfigReader& in, Model& model);
void falcon(ConfigReader& in, Model& model);
void bloom(ConfigReader& in, Model& model);
void bert(ConfigReader& in, Model& model);
void roberta(ConfigReader& in, Model& model);

void mixtral(ConfigReader& in, Model& model);
void qwen2_moe(ConfigReader& in, Model& model);
void qwen3_moe(ConfigReader& in, Model& model);
void deepseek_v2(ConfigReader& in, Model& model);
void deepseek_v3(ConfigReader& in, Model& model);
void dbrx(ConfigReader& in, Model& model);
void grok(ConfigReader& in, Model& model);
void llama4(ConfigReader& in, Model& model);

void vit(ConfigReader& in, Model& model);
void clip(ConfigReader& in, Model& model);

// Layers, widths, heads, vocabulary and the output layer as Llama's configuration names them.
Tower llama_tower(ConfigReader& in, bool tied_by_default);

}  // namespace trunkline::workload::families
