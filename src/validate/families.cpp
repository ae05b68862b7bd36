#include "validate/families.hpp"

#include <utility>

#include "base/text.hpp"

namespace trunkline::validate {
namespace {

using workload::Norm;
using workload::Positions;

// Sources: the families' public model cards and configuration files.
constexpr Family kFamilies[] = {
    {"llama3", true, Norm::rms, Positions::rotary, false, false, 128256},
    {"llama 3", true, Norm::rms, Positions::rotary, false, false, 128256},
    {"llama-3", true, Norm::rms, Positions::rotary, false, false, 128256},
    {"llama", true, Norm::rms, Positions::rotary, false, false, 32000},
    {"internlm", true, Norm::rms, Positions::rotary, true, false, 103168},
    {"mistral", true, Norm::rms, Positions::rotary, false, false, 32000},
    {"mixtral", true, Norm::rms, Positions::rotary, false, false, 32000},
    {"qwen3", true, Norm::rms, Positions::rotary, false, false, 151936},
    {"qwen", true, Norm::rms, Positions::rotary, false, false, 152064},
    {"deepseek", true, Norm::rms, Positions::rotary, false, false, 129280},
    {"gemma", true, Norm::rms, Positions::rotary, false, true, 256000},
    {"grok", true, Norm::rms, Positions::rotary, false, true, 131072},
    {"yi", true, Norm::rms, Positions::rotary, false, false, 64000},
    {"baichuan", true, Norm::rms, Positions::rotary, false, false, 125696},
    {"chatglm", true, Norm::rms, Positions::rotary, false, false, 65024},
    {"nemotron", false, Norm::layer, Positions::rotary, false, false, 256000},
    {"mpt", false, Norm::layer, Positions::learned, false, true, 50368},
    {"neox", false, Norm::layer, Positions::rotary, true, false, 50432},
    {"bloom", false, Norm::layer, Positions::alibi, true, true, 250880},
    {"opt", false, Norm::layer, Positions::learned, true, true, 50272},
    {"rope", false, Norm::layer, Positions::rotary, true, true, 50304},
    {"gpt", false, Norm::layer, Positions::learned, true, true, 51200},
};

}  // namespace

const Family& family_of(std::string_view model_name) {
  const std::string name = lower(model_name);
  for (const Family& family : kFamilies) {
    if (name.find(family.word) != std::string::npos) return family;
  }
  return kFamilies[std::size(kFamilies) - 1];
}

std::string_view builtin_for(std::string_view model_name) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"deepseekv3", "deepseek-v3"},      {"deepseek v3", "deepseek-v3"},     {"deepseek-v3", "deepseek-v3"},
      {"qwen3_30b_a3b", "qwen3-30b-a3b"}, {"qwen3 moe 30b", "qwen3-30b-a3b"}, {"grok-1", "grok-1"},
      {"mixtral 8x7b", "mixtral-8x7b"},   {"mixtral-8x7b", "mixtral-8x7b"},   {"mixtral 8x22b", "mixtral-8x22b"},
      {"mixtral-8x22b", "mixtral-8x22b"},
  };
  const std::string name = lower(model_name);
  for (const auto& [word, builtin] : kNames) {
    if (name.find(word) != std::string::npos) return builtin;
  }
  return {};
}

}  // namespace trunkline::validate
