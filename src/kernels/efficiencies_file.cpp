// Efficiencies from YAML: the classes built into the program, and blocks that `trunkline calibrate` writes.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

#include "base/text.hpp"
#include "kernels/efficiencies.hpp"

namespace trunkline::kernels {
namespace {

using io::FieldSpec;
using io::FieldType;
using io::ObjectSpec;

constexpr std::array<const char*, kMemoryKinds> kMemoryNames{"elementwise",   "math",      "norm_forward", "norm_backward",
                                                             "cross_entropy", "optimizer", "copy"};

FieldSpec share(std::string name, std::string doc, double most = 2) {
  FieldSpec spec;
  spec.name = std::move(name);
  spec.type = FieldType::number;
  spec.doc = std::move(doc);
  spec.min = 1e-3;
  spec.max = most;
  return spec;
}

FieldSpec number(std::string name, std::string doc, double most) {
  FieldSpec spec = share(std::move(name), std::move(doc), most);
  spec.min = 0;
  return spec;
}

FieldSpec of_type(std::string name, FieldType type, std::string doc) {
  FieldSpec spec;
  spec.name = std::move(name);
  spec.type = type;
  spec.doc = std::move(doc);
  return spec;
}

FieldSpec block(std::string name, std::string doc, const ObjectSpec& object) {
  FieldSpec spec = of_type(std::move(name), FieldType::object, std::move(doc));
  spec.object = &object;
  return spec;
}

std::vector<FieldSpec> by_precision(const std::string& doc, double most) {
  std::vector<FieldSpec> fields;
  for (std::size_t p = 0; p < kPrecisions; ++p) fields.push_back(share(name_of(catalog::Precision(p)), doc, most));
  return fields;
}

const ObjectSpec& matrix_spec() {
  static const ObjectSpec spec{"matrix", "Share of the catalogued dense rate in the inner loop of a large GEMM.",
                               by_precision("share of the dense rate", 2)};
  return spec;
}

const ObjectSpec& power_spec() {
  static const ObjectSpec spec{"power", "Matrix rate that 1 W per SM sustains.", by_precision("TFLOP/s of an SM at 1 W per SM", 1000)};
  return spec;
}

const ObjectSpec& gemm_spec() {
  static const ObjectSpec spec{
      "gemm",
      "Costs of a GEMM beside its inner loop.",
      {number("overhead_k", "what a tile costs beside its inner loop, as a length of k", 1e5),
       number("tile_intensity", "how much smaller tiles lose", 1e4), of_type("latency", FieldType::time, "what no GEMM is faster than"),
       of_type("split_latency", FieldType::time, "what cutting k adds once")}};
  return spec;
}

const ObjectSpec& memory_spec() {
  static const ObjectSpec spec = [] {
    ObjectSpec made{"memory", "Kernels bound by memory.", {}};
    for (const char* name : kMemoryNames) made.fields.push_back(share(name, "share of the memory bandwidth"));
    made.fields.push_back(of_type("latency", FieldType::time, "what no such kernel is faster than"));
    return made;
  }();
  return spec;
}

const ObjectSpec& flash_spec() {
  static const ObjectSpec spec{"flash",
                               "A fused attention kernel, one direction.",
                               {share("share", "of the catalogued matrix rate, head size 128, long sequences"),
                                number("head_exponent", "the share falls with (head size/128)^this", 2),
                                number("overhead_keys", "what starting a block of queries costs, in keys", 1e5),
                                number("tail", "part of the longest block's time left uncovered", 1),
                                of_type("latency", FieldType::time, "start and drain of its kernels"),
                                number("passes", "passes over the query tensor beside the main kernel", 100)}};
  return spec;
}

std::vector<FieldSpec> value_fields() {
  return {number("watts_per_sm", "power limit per SM, where the catalogue has none", 100),
          block("matrix", "matrix units", matrix_spec()),
          block("gemm", "costs of a GEMM beside its inner loop", gemm_spec()),
          block("power", "what the power limit leaves", power_spec()),
          block("memory", "kernels bound by memory", memory_spec()),
          block("flash2_forward", "fused attention, forward", flash_spec()),
          block("flash2_backward", "fused attention, backward", flash_spec()),
          block("flash3_forward", "newest fused attention, forward", flash_spec()),
          block("flash3_backward", "newest fused attention, backward", flash_spec())};
}

const ObjectSpec& class_spec() {
  static const ObjectSpec spec = [] {
    FieldSpec basis = of_type("basis", FieldType::choice, "where the numbers come from");
    basis.choices = {"measured", "published", "assumed"};
    ObjectSpec made{"kernel class", "GPUs that behave alike.", {}};
    made.fields = {of_type("name", FieldType::text, "of the class"), of_type("generation", FieldType::text, "as in the catalogue"), basis,
                   of_type("source", FieldType::text, "who says so")};
    for (auto& field : made.fields) field.required = true;
    made.fields.push_back(of_type("compute_capability", FieldType::integer, "only these of the generation"));
    made.fields.push_back(number("sm_rate", "bf16 TFLOP/s of an SM that the shares hold for", 1000));
    for (auto& field : value_fields()) made.fields.push_back(field);
    return made;
  }();
  return spec;
}

const ObjectSpec& classes_spec() {
  static const ObjectSpec spec = [] {
    FieldSpec list = of_type("classes", FieldType::list, "one block a class");
    list.required = true;
    list.object = &class_spec();
    return ObjectSpec{"kernel efficiencies", "Defaults of the kernel models.", {list}};
  }();
  return spec;
}

void read(const io::Value& map, const char* key, double& into, double unit = 1) {
  into = io::get_number(map, key).value_or(into / unit) * unit;
}

void read_time(const io::Value& map, const char* key, double& into) { into = io::get_seconds(map, key).value_or(seconds(into)).si(); }

void read_precisions(const io::Value* map, ByPrecision& into, double unit) {
  if (!map) return;
  for (std::size_t p = 0; p < kPrecisions; ++p) read(*map, name_of(catalog::Precision(p)).c_str(), into[p], unit);
}

void read_flash(const io::Value* map, FlashShare& into) {
  if (!map) return;
  read(*map, "share", into.share);
  read(*map, "head_exponent", into.head_exponent);
  read(*map, "overhead_keys", into.overhead_keys);
  read(*map, "tail", into.tail);
  read_time(*map, "latency", into.latency_s);
  read(*map, "passes", into.passes);
}

// `block` has passed check().
void read_values(const io::Value& block, Efficiencies& into) {
  read(block, "watts_per_sm", into.watts_per_sm);
  read_precisions(block.find("matrix"), into.matrix, 1);
  read_precisions(block.find("power"), into.power, 1e12);
  if (const io::Value* gemm = block.find("gemm")) {
    read(*gemm, "overhead_k", into.overhead_k);
    read(*gemm, "tile_intensity", into.tile_intensity);
    read_time(*gemm, "latency", into.gemm_latency_s);
    read_time(*gemm, "split_latency", into.split_latency_s);
  }
  if (const io::Value* memory = block.find("memory")) {
    for (std::size_t kind = 0; kind < kMemoryKinds; ++kind) read(*memory, kMemoryNames[kind], into.memory[kind]);
    read_time(*memory, "latency", into.memory_latency_s);
  }
  read_flash(block.find("flash2_forward"), into.flash2_forward);
  read_flash(block.find("flash2_backward"), into.flash2_backward);
  if (!block.find("flash3_forward") && into.flash3_forward.share == 0) into.flash3_forward = into.flash2_forward;
  if (!block.find("flash3_backward") && into.flash3_backward.share == 0) into.flash3_backward = into.flash2_backward;
  read_flash(block.find("flash3_forward"), into.flash3_forward);
  read_flash(block.find("flash3_backward"), into.flash3_backward);
}

// A class must state everything that a formula divides by: nothing is filled in silently.
Result<void> complete(const io::Value& block, const Efficiencies& e) {
  const auto missing = [&](const char* what) {
    return bad_input(block.where(), fmt::format("the class states no {}", what), "state it, with its source");
  };
  if (std::any_of(e.matrix.begin(), e.matrix.end(), [](double v) { return v <= 0; })) return missing("matrix share for every precision");
  if (std::any_of(e.memory.begin(), e.memory.end(), [](double v) { return v <= 0; })) return missing("memory share for every kind");
  if (e.flash2_forward.share <= 0 || e.flash2_backward.share <= 0) return missing("flash2 share");
  if (e.gemm_latency_s <= 0 || e.memory_latency_s <= 0 || e.watts_per_sm <= 0) return missing("latency or watts_per_sm");
  return {};
}

}  // namespace

const ObjectSpec& measured_spec() {
  static const ObjectSpec spec{"measured kernels", "Measured efficiencies of one GPU; what is left out keeps its default.", value_fields()};
  return spec;
}

Result<Efficiencies> with_measured(Efficiencies defaults, const io::Value& measured) {
  TRUNKLINE_TRY(io::check(measured, measured_spec()));
  read_values(measured, defaults);
  return defaults;
}

Result<std::vector<EfficiencyClass>> read_classes(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(root, io::parse_yaml(text, file));
  TRUNKLINE_TRY(io::check(root, classes_spec()));
  std::vector<EfficiencyClass> classes;
  for (const io::Value& block : root.find("classes")->items()) {
    EfficiencyClass made;
    made.name = io::get_text(block, "name").value_or("");
    const std::string generation = io::get_text(block, "generation").value_or("");
    const auto known = catalog::generation_named(generation);
    if (!known)
      return bad_input(block.where(), fmt::format("generation \"{}\" is not known", generation), "use a generation of the catalogue");
    made.generation = *known;
    made.compute_capability = int(io::get_integer(block, "compute_capability").value_or(0));
    made.basis = io::get_text(block, "basis").value_or("");
    made.source = io::get_text(block, "source").value_or("");
    made.sm_rate = io::get_number(block, "sm_rate").value_or(0) * 1e12;
    read_values(block, made.values);
    TRUNKLINE_TRY(complete(block, made.values));
    classes.push_back(std::move(made));
  }
  const bool has_other = std::any_of(classes.begin(), classes.end(),
                                     [](const auto& c) { return c.generation == catalog::Generation::other && c.compute_capability == 0; });
  if (!has_other) return bad_input({file, 0}, "no class for the generation \"other\"", "add one: it stands for every GPU without its own");
  return classes;
}

}  // namespace trunkline::kernels
