#include <fmt/format.h>

#include <cmath>

#include "base/text.hpp"
#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

using io::FieldType;

std::vector<io::FieldSpec> fields() {
  return {required("vendor", FieldType::text, "who makes it"),
          required("form", FieldType::text, "SXM5, PCIe, OAM, …"),
          required("architecture", FieldType::text, "as the maker calls it"),
          choice("generation", "the family whose constants it has", generation_names()),
          optional("compute_capability", FieldType::integer, "CUDA compute capability without its dot"),
          optional("sms", FieldType::integer, "streaming multiprocessors; compute units on AMD"),
          optional("fp64", FieldType::flop_rate, "vector rate"),
          optional("fp64_tensor", FieldType::flop_rate, "matrix rate"),
          optional("fp32", FieldType::flop_rate, "vector rate"),
          optional("tf32", FieldType::flop_rate, "dense matrix rate"),
          optional("bf16", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
          optional("fp16", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
          optional("fp8", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
          optional("fp4", FieldType::flop_rate, "dense matrix rate, fp32 accumulation"),
          required("memory", FieldType::bytes, "device memory as sold"),
          optional("memory_visible", FieldType::bytes, "device memory as the driver shows it"),
          optional("memory_type", FieldType::text, "HBM3, GDDR6, …"),
          required("memory_bandwidth", FieldType::bandwidth, "reads and writes together"),
          choice("link_family", "what joins GPUs besides PCIe", {"none", "nvlink", "xgmi"}),
          optional("link_generation", FieldType::integer, "of the links"),
          optional("links", FieldType::integer, "links of one GPU"),
          optional("link_rate", FieldType::bandwidth, "one link, one direction"),
          optional("link_bandwidth", FieldType::bandwidth, "all links, one direction"),
          optional("c2c_bandwidth", FieldType::bandwidth, "to a CPU in the same module, one direction"),
          optional("pcie_generation", FieldType::integer, "of the slot, or towards the NICs"),
          optional("pcie_lanes", FieldType::integer, "of the slot"),
          optional("tdp", FieldType::text, "the power limit as delivered, such as 400 W")};
}

// "400 W" → 400; absent → 0.
Result<double> watts(const io::Value& map, std::string_view key) {
  const io::Value* value = map.find(key);
  if (!value) return 0.0;
  std::string_view text = trim(value->text());
  const bool unit = text.ends_with(" W");
  if (unit) text.remove_suffix(2);
  const auto number = parse_number(text);
  if (!unit || !number || *number <= 0) {
    return bad_input(value->where(), fmt::format("{}: found {}, expected a power such as 400 W", key, value->describe()));
  }
  return *number;
}

LinkFamily link_family_named(std::string_view name) {
  for (const auto family : {LinkFamily::nvlink, LinkFamily::xgmi}) {
    if (name == name_of(family)) return family;
  }
  return LinkFamily::none;
}

// The printed total must be the printed number of links times the printed rate of one.
Result<void> check_links(const io::Value& values, const Gpu& gpu) {
  const auto one = io::get_bandwidth(values, "link_rate");
  if (!one || gpu.links == 0) return {};
  const double total = gpu.links * one->si();
  if (std::abs(total - gpu.link_bandwidth.si()) <= 1e-3 * total) return {};
  return bad_input(values.where(), fmt::format("{}: {} links of {} are {}, not {}", gpu.id, gpu.links, to_text(*one),
                                               to_text(byte_per_s(total)), to_text(gpu.link_bandwidth)));
}

}  // namespace

const PartForm& gpu_form() {
  static const PartForm form{PartKind::gpu, "gpus", {"gpu", "A GPU's limits.", fields()}};
  return form;
}

Result<Gpu> gpu_from(const PartEntry& entry) {
  const io::Value& values = entry.values;
  const auto integer = [&](std::string_view key, int absent) { return int(io::get_integer(values, key).value_or(absent)); };
  const auto rate = [&](std::string_view key) { return io::get_flop_rate(values, key).value_or(FlopRate{}); };
  const auto bandwidth = [&](std::string_view key) { return io::get_bandwidth(values, key).value_or(Bandwidth{}); };
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
  const auto sold = io::get_bytes(values, "memory").value_or(Bytes{});
  gpu.memory = io::get_bytes(values, "memory_visible").value_or(sold);
  gpu.memory_bandwidth = bandwidth("memory_bandwidth");
  gpu.link_family = link_family_named(io::get_text(values, "link_family").value_or(""));
  gpu.link_generation = integer("link_generation", 0);
  gpu.links = integer("links", 0);
  gpu.link_bandwidth = bandwidth("link_bandwidth");
  gpu.c2c_bandwidth = bandwidth("c2c_bandwidth");
  gpu.pcie_generation = integer("pcie_generation", 0);
  gpu.pcie_lanes = integer("pcie_lanes", 16);
  TRUNKLINE_ASSIGN(power, watts(values, "tdp"));
  gpu.tdp_w = power;
  TRUNKLINE_TRY(check_links(values, gpu));
  return gpu;
}

}  // namespace trunkline::catalog
