#include "predict/constants.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#include "io/embedded.hpp"
#include "io/spec.hpp"

namespace trunkline::predict {
namespace {

using catalog::Generation;

constexpr Generation kGenerations[] = {Generation::kepler_to_pascal,
                                       Generation::volta,
                                       Generation::turing,
                                       Generation::ampere,
                                       Generation::ada,
                                       Generation::hopper,
                                       Generation::blackwell,
                                       Generation::blackwell_consumer,
                                       Generation::cdna2,
                                       Generation::cdna3,
                                       Generation::cdna4,
                                       Generation::other};

std::optional<Generation> generation_from(const std::string& name) {
  for (Generation g : kGenerations) {
    if (catalog::name_of(g) == name) return g;
  }
  return std::nullopt;
}

const io::ObjectSpec& entry_spec() {
  static const io::ObjectSpec spec{"factor",
                                   "one fitted constant",
                                   {{"table", io::FieldType::text, "published table"},
                                    {"framework", io::FieldType::text, "framework"},
                                    {"generation", io::FieldType::text, "GPU generation"},
                                    {"value", io::FieldType::number, "factor on kernel time, or an effect on its logarithm", true},
                                    {"tables", io::FieldType::integer, "published tables it rests on"},
                                    {"rows", io::FieldType::integer, "published rows it rests on"}}};
  return spec;
}

const io::ObjectSpec& constants_spec() {
  static const io::ObjectSpec interval{"interval",
                                       "measured / predicted",
                                       {{"low", io::FieldType::number, "10th percentile", true},
                                        {"high", io::FieldType::number, "90th percentile", true},
                                        {"low_unseen", io::FieldType::number, "10th percentile without results of the same kind", true},
                                        {"high_unseen", io::FieldType::number, "90th percentile without results of the same kind", true}}};
  static const io::ObjectSpec spec{
      "step constants",
      "constants fitted to published results",
      {{"evidence", io::FieldType::list, "what each published table says, as a logarithm", true, {}, &entry_spec()},
       {"factors", io::FieldType::list, "a framework and generation", true, {}, &entry_spec()},
       {"generation_effects", io::FieldType::list, "for pairs not listed", true, {}, &entry_spec()},
       {"framework_effects", io::FieldType::list, "for pairs not listed", true, {}, &entry_spec()},
       {"interval", io::FieldType::object, "80 % interval", true, {}, &interval}}};
  return spec;
}

}  // namespace

Result<Constants> constants_from(const io::Value& value) {
  TRUNKLINE_TRY(io::check(value, constants_spec()));
  Constants c;
  for (const bool evidence : {true, false}) {
    for (const auto& item : value.find(evidence ? "evidence" : "factors")->items()) {
      const auto framework = workload::framework_from(io::get_text(item, "framework").value_or(""));
      const auto generation = generation_from(io::get_text(item, "generation").value_or(""));
      if (!framework || !generation) return bad_input(item.where(), "an entry names a framework and a generation");
      const double number = *io::get_number(item, "value");
      const int rows = int(io::get_integer(item, "rows").value_or(0));
      if (evidence)
        c.evidence.push_back({io::get_text(item, "table").value_or(""), *framework, *generation, number, rows});
      else
        c.factors.push_back({*framework, *generation, number, int(io::get_integer(item, "tables").value_or(0)), rows});
    }
  }
  for (const auto& item : value.find("generation_effects")->items()) {
    const auto generation = generation_from(io::get_text(item, "generation").value_or(""));
    if (!generation) return bad_input(item.where(), "a generation effect names a generation");
    c.generation_effect.emplace_back(*generation, *io::get_number(item, "value"));
  }
  for (const auto& item : value.find("framework_effects")->items()) {
    const auto framework = workload::framework_from(io::get_text(item, "framework").value_or(""));
    if (!framework) return bad_input(item.where(), "a framework effect names a framework");
    c.framework_effect.emplace_back(*framework, *io::get_number(item, "value"));
  }
  const io::Value& interval = *value.find("interval");
  c.low = *io::get_number(interval, "low");
  c.high = *io::get_number(interval, "high");
  c.low_unseen = *io::get_number(interval, "low_unseen");
  c.high_unseen = *io::get_number(interval, "high_unseen");
  return c;
}

const Constants& Constants::builtin() {
  static const Constants constants = [] {
    constexpr const char* path = "calibration/step_constants.yaml";
    const auto value = io::parse_yaml(io::embedded_file(path).value_or(""), path);
    auto read = value ? constants_from(*value) : Result<Constants>(fail(value.error()));
    if (!read) {  // our own fault: a unit test reads the file
      std::fprintf(stderr, "the built-in step constants are broken: %s\n", read.error().text().c_str());
      std::abort();
    }
    return std::move(*read);
  }();
  return constants;
}

bool Constants::seen(workload::Framework framework, Generation generation) const {
  for (const auto& f : factors) {
    if (f.framework == framework && f.generation == generation) return true;
  }
  return false;
}

double Constants::factor(workload::Framework framework, Generation generation) const {
  for (const auto& f : factors) {
    if (f.framework == framework && f.generation == generation) return f.value;
  }
  // A generation without published results is taken as the mean of those that have some: every one of them slows kernels down, so that
  // none at all would promise more of an unknown GPU than any known one gives.
  double log_factor = 0, sum = 0;
  bool known = false;
  for (const auto& [g, v] : generation_effect) {
    sum += v;
    if (g == generation) log_factor = v, known = true;
  }
  if (!known && !generation_effect.empty()) log_factor = sum / double(generation_effect.size());
  for (const auto& [f, v] : framework_effect) {
    if (f == framework) log_factor += v;
  }
  return std::exp(log_factor);
}

std::string to_yaml(const Constants& c) {
  std::string out =
      "# Fitted by `trunkline validate --fit` to published training results; time of kernels and launches × factor.\n# The logarithm of "
      "the factor at which the median row of a table is met exactly:\nevidence:\n";
  for (const auto& e : c.evidence) {
    out += fmt::format("  - {{table: {}, framework: {}, generation: {}, value: {:.5f}, rows: {}}}\n", e.table,
                       workload::name_of(e.framework), catalog::name_of(e.generation), e.log_factor, e.rows);
  }
  out += "# The median over tables, drawn towards the effects below as by one more table:\nfactors:\n";
  for (const auto& f : c.factors) {
    out += fmt::format("  - {{framework: {}, generation: {}, value: {:.4f}, tables: {}, rows: {}}}\n", workload::name_of(f.framework),
                       catalog::name_of(f.generation), f.value, f.tables, f.rows);
  }
  out += "# Without a factor of its own, a pair has exp(generation effect + framework effect).\ngeneration_effects:\n";
  for (const auto& [g, v] : c.generation_effect) out += fmt::format("  - {{generation: {}, value: {:.4f}}}\n", catalog::name_of(g), v);
  out += "framework_effects:\n";
  for (const auto& [f, v] : c.framework_effect) out += fmt::format("  - {{framework: {}, value: {:.4f}}}\n", workload::name_of(f), v);
  out += fmt::format(
      "# measured / predicted, 10th and 90th percentile, each table judged by constants fitted without it\ninterval: {{low: {:.4f}, high: "
      "{:.4f}, low_unseen: {:.4f}, high_unseen: {:.4f}}}\n",
      c.low, c.high, c.low_unseen, c.high_unseen);
  return out;
}

}  // namespace trunkline::predict
