#include "catalog/gpu.hpp"

#include <array>
#include <utility>

namespace trunkline::catalog {
namespace {

constexpr std::array<std::pair<Generation, const char*>, 12> kGenerations{{
    {Generation::kepler_to_pascal, "kepler_to_pascal"},
    {Generation::volta, "volta"},
    {Generation::turing, "turing"},
    {Generation::ampere, "ampere"},
    {Generation::ada, "ada"},
    {Generation::hopper, "hopper"},
    {Generation::blackwell, "blackwell"},
    {Generation::blackwell_consumer, "blackwell_consumer"},
    {Generation::cdna2, "cdna2"},
    {Generation::cdna3, "cdna3"},
    {Generation::cdna4, "cdna4"},
    {Generation::other, "other"},
}};

FlopRate own_rate(const Gpu& gpu, Precision precision) {
  switch (precision) {
    case Precision::fp32: return gpu.fp32;
    case Precision::tf32: return gpu.tf32;
    case Precision::fp16: return gpu.fp16;
    case Precision::bf16: return gpu.bf16;
    case Precision::fp8: return gpu.fp8;
    case Precision::fp4: return gpu.fp4;
  }
  return {};
}

// NVIDIA's tensor cores before Ampere know fp16 alone: bf16 products run on the fp32 units, which read bf16 as cut-off fp32.
bool lacks_bf16(Generation g) { return g == Generation::kepler_to_pascal || g == Generation::volta || g == Generation::turing; }

// What computes where the hardware lacks `precision`; fp32 falls back to itself.
Precision fallback(Precision precision, Generation generation) {
  switch (precision) {
    case Precision::fp4: return Precision::fp8;
    case Precision::fp8: return Precision::bf16;
    case Precision::bf16: return lacks_bf16(generation) ? Precision::fp32 : Precision::fp16;
    case Precision::fp16:
    case Precision::tf32:
    case Precision::fp32: return Precision::fp32;
  }
  return Precision::fp32;
}

}  // namespace

bool Gpu::supports(Precision precision) const { return own_rate(*this, precision).si() > 0; }

Precision Gpu::computes_in(Precision precision) const {
  while (!supports(precision) && precision != Precision::fp32) precision = fallback(precision, generation);
  return precision;
}

FlopRate Gpu::rate(Precision precision) const { return own_rate(*this, computes_in(precision)); }

std::string name_of(Precision precision) {
  switch (precision) {
    case Precision::fp32: return "fp32";
    case Precision::tf32: return "tf32";
    case Precision::fp16: return "fp16";
    case Precision::bf16: return "bf16";
    case Precision::fp8: return "fp8";
    case Precision::fp4: return "fp4";
  }
  return {};
}

std::string name_of(Generation generation) {
  for (const auto& [value, name] : kGenerations) {
    if (value == generation) return name;
  }
  return {};
}

std::optional<Generation> generation_named(std::string_view name) {
  for (const auto& [value, known] : kGenerations) {
    if (name == known) return value;
  }
  return std::nullopt;
}

std::vector<std::string> generation_names() {
  std::vector<std::string> names;
  for (const auto& [value, name] : kGenerations) names.emplace_back(name);
  return names;
}

std::string name_of(LinkFamily family) {
  switch (family) {
    case LinkFamily::none: return "none";
    case LinkFamily::nvlink: return "nvlink";
    case LinkFamily::xgmi: return "xgmi";
  }
  return {};
}

double bytes_per_element(Precision precision) {
  switch (precision) {
    case Precision::fp32:
    case Precision::tf32: return 4;
    case Precision::fp16:
    case Precision::bf16: return 2;
    case Precision::fp8: return 1;
    case Precision::fp4: return 0.5;
  }
  return 4;
}

}  // namespace trunkline::catalog
