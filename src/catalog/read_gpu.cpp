#include <fmt/format.h>

#include "base/text.hpp"
#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

using io::FieldSpec;
using io::FieldType;

FieldSpec field(std::string name, FieldType type, std::string doc, bool required = false) {
  FieldSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.doc = std::move(doc);
  spec.required = required;
  return spec;
}

FieldSpec choice(std::string name, std::string doc, std::vector<std::string> choices) {
  FieldSpec spec = field(std::move(name), FieldType::choice, std::move(doc), true);
  spec.choices = std::move(choices);
  return spec;
}

// "400 W" → 400.
Result<double> watts(const io::Value& map, std::string_view key) {
  const io::Value* value = map.find(key);
  if (!value) return 0.0;
  std::string_view text = trim(value->text());
  const bool unit = text.ends_with(" W");
  if (unit) text.remove_suffix(2);
  const auto number = parse_number(text);
  if (!unit || !number || *number <= 0) return bad_input(value->where(), fmt::format("{}: found {}, expected a power such as 400 W", key, value->describe()));
  return *number;
}

}  // namespace

const PartForm& gpu_form() {
  static const PartForm form{
      PartKind::gpu,
      "gpus",
      {"gpu",
       "A GPU's limits.",
       {field("vendor", FieldType::text, "who makes it", true),
        field("form", FieldType::text, "SXM5, PCIe, OAM, …", true),
        field("architecture", FieldType::text, "as the maker calls it", true),
        choice("generation", "the family whose constants it has",
               {"kepler_to_pascal", "volta", "turing", "ampere", "ada", "hopper", "blackwell", "blackwell_consumer", "cdna2", "cdna3", "cdna4", "other"}),
        field("compute_capability", FieldType::integer, "CUDA compute capability without its dot"),
        field("sms", FieldType::integer, "streaming multiprocessors; compute units on AMD"),
        field("fp64", FieldType::flop_rate, "vector rate"),
        field("fp64_tensor", FieldType::flop_rate, "matrix rate"),
        field("fp32", FieldType::flop_rate, "vector rate"),
        field("tf32", FieldType::flop_rate, "dense matrix rate"),
        field("bf16", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
        field("fp16", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
        field("fp8", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
        field("fp4", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
        field("memory", FieldType::bytes, "device memory", true),
        field("memory_type", FieldType::text, "HBM3, GDDR6, …"),
        field("memory_bandwidth", FieldType::bandwidth, "read or write, all together", true),
        choice("link_family", "what joins GPUs besides PCIe", {"none", "nvlink", "xgmi"}),
        field("link_generation", FieldType::integer, "of the links"),
        field("links", FieldType::integer, "links of one GPU"),
        field("link_rate", FieldType::bandwidth, "one link, one direction"),
        field("link_bandwidth", FieldType::bandwidth, "all links, one direction"),
        field("pcie_generation", FieldType::integer, "of the host or NIC side"),
        field("pcie_lanes", FieldType::integer, "of the slot"),
        field("tdp", FieldType::text, "the power limit as delivered, such as 400 W")}}};
  return form;
}

Result<Gpu> gpu_from(const PartEntry& entry) {
  const io::Value& values = entry.values;
  const auto integer = [&](std::string_view key, int absent) { return int(io::get_integer(values, key).value_or(absent)); };
  const auto rate = [&](std::string_view key) { return io::get_flop_rate(values, key).value_or(FlopRate{}); };
  Gpu gpu;
  gpu.id = entry.part.id;
  gpu.name = entry.part.name;
  gpu.vendor = io::get_text(values, "vendor").value_or("");
  gpu.form = io::get_text(values, "form").value_or("");
  gpu.generation = generation_named(io::get_text(values, "generation").value_or("")).value_or(Generation::other);
  gpu.compute_capability = integer("compute_capability", 0);
  gpu.sms = integer("sms", 0);
  gpu.fp32 = rate("fp32");
  gpu.tf32 = rate("tf32");
  gpu.fp16 = rate("fp16");
  gpu.bf16 = rate("bf16");
  gpu.fp8 = rate("fp8");
  gpu.fp4 = rate("fp4");
  gpu.memory = io::get_bytes(values, "memory").value_or(Bytes{});
  gpu.memory_bandwidth = io::get_bandwidth(values, "memory_bandwidth").value_or(Bandwidth{});
  const std::string family = io::get_text(values, "link_family").value_or("none");
  gpu.link_family = family == "nvlink" ? LinkFamily::nvlink : family == "xgmi" ? LinkFamily::xgmi : LinkFamily::none;
  gpu.link_generation = integer("link_generation", 0);
  gpu.links = integer("links", 0);
  gpu.link_bandwidth = io::get_bandwidth(values, "link_bandwidth").value_or(Bandwidth{});
  gpu.pcie_generation = integer("pcie_generation", 0);
  gpu.pcie_lanes = integer("pcie_lanes", 16);
  TRUNKLINE_ASSIGN(power, watts(values, "tdp"));
  gpu.tdp_w = power;
  return gpu;
}

}  // namespace trunkline::catalog
