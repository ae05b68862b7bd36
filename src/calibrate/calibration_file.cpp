// The file of measured efficiencies, and its use.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "calibrate/values.hpp"

namespace trunkline::calibrate {
namespace {

using io::FieldSpec;
using io::FieldType;
using io::ObjectSpec;

FieldSpec field(std::string name, FieldType type, std::string doc) {
  return {.name = std::move(name), .type = type, .doc = std::move(doc)};
}

FieldSpec block(std::string name, std::string doc, const ObjectSpec& spec, FieldType type = FieldType::object) {
  FieldSpec out = field(std::move(name), type, std::move(doc));
  out.object = &spec;
  return out;
}

FieldSpec field_of(const ValueKind& kind) {
  FieldSpec out =
      field(kind.key.substr(kind.key.rfind('.') + 1), kind.form == Form::bandwidth ? FieldType::bandwidth : FieldType::number, kind.doc);
  if (kind.form == Form::share) out.min = 1e-3, out.max = 2;
  if (kind.form == Form::per_second) out.min = 0;
  return out;
}

// The block whose values have keys that begin with `prefix`.
ObjectSpec spec_of(const std::string& prefix, std::string doc) {
  ObjectSpec out{"calibration." + prefix, std::move(doc), {}};
  for (const ValueKind& kind : value_kinds()) {
    if (kind.key.starts_with(prefix + ".")) out.fields.push_back(field_of(kind));
  }
  return out;
}

const ObjectSpec& origin_spec() {
  static const ObjectSpec spec{
      "calibration.measured",
      "where the values come from",
      {field("results", FieldType::list, "the result files"), field("host", FieldType::text, "of the first of them"),
       field("date", FieldType::text, "of the first of them, UTC"), field("tool_version", FieldType::text, "that measured")}};
  return spec;
}

const ObjectSpec& evidence_spec() {
  static const ObjectSpec spec{
      "calibration.evidence",
      "what one value rests on",
      {field("value", FieldType::text, "its place, such as links.share"), field("from", FieldType::text, "the metrics"),
       field("n", FieldType::integer, "repetitions"), field("low", FieldType::number, "least, SI units"),
       field("high", FieldType::number, "greatest, SI units")}};
  return spec;
}

const ObjectSpec& storage_spec() {
  static const ObjectSpec volume = spec_of("storage.volume", "shared or attached storage outside the nodes");
  static const ObjectSpec disk = spec_of("storage.local_disk", "the disks of one node, together");
  static const ObjectSpec spec{
      "calibration.storage", "storage as measured", {block("volume", volume.doc, volume), block("local_disk", disk.doc, disk)}};
  return spec;
}

// The scalar at a dotted path, or nullptr.
const io::Value* at(const io::Value& root, std::string_view path) {
  const io::Value* v = &root;
  for (std::string_view key : split(path, '.')) {
    if (!v || !v->is_map()) return nullptr;
    v = v->find(key);
  }
  return v && v->is_scalar() ? v : nullptr;
}

Result<double> value_at(const io::Value& scalar, const ValueKind& kind) {
  if (kind.form == Form::bandwidth) {
    TRUNKLINE_ASSIGN(rate, parse_bandwidth(scalar.text()));
    return rate.si();
  }
  TRUNKLINE_ASSIGN(number, parse_number(scalar.text()));
  return kind.form == Form::power ? number * 1e12 : number;
}

Result<void> read_values(const io::Value& root, Calibration& out) {
  for (const ValueKind& kind : value_kinds()) {
    const io::Value* scalar = at(root, kind.key);
    if (!scalar) continue;
    auto value = value_at(*scalar, kind);
    if (!value || *value <= 0)
      return bad_input(scalar->where(), fmt::format("{}: found {}, expected a value above 0", kind.key, scalar->describe()));
    out.values.push_back({kind.key, *value, {}, 0, {}, {}});
  }
  return {};
}

void read_evidence(const io::Value& root, Calibration& out) {
  const io::Value* list = root.find("evidence");
  for (const io::Value& item : list && list->is_list() ? list->items() : std::vector<io::Value>{}) {
    const auto key = io::get_text(item, "value");
    const auto value = std::find_if(out.values.begin(), out.values.end(), [&](const Measured& m) { return m.key == key; });
    if (value == out.values.end()) continue;
    value->from = io::get_text(item, "from").value_or("");
    value->n = std::size_t(std::max<std::int64_t>(0, io::get_integer(item, "n").value_or(0)));
    value->low = io::get_number(item, "low");
    value->high = io::get_number(item, "high");
  }
}

void read_origin(const io::Value& root, Calibration& out) {
  const io::Value* origin = root.find("measured");
  if (!origin || !origin->is_map()) return;
  out.host = io::get_text(*origin, "host").value_or("");
  out.date = io::get_text(*origin, "date").value_or("");
  out.tool_version = io::get_text(*origin, "tool_version").value_or("");
  const io::Value* results = origin->find("results");
  for (const io::Value& item : results && results->is_list() ? results->items() : std::vector<io::Value>{}) {
    if (item.is_scalar()) out.results.push_back(item.text());
  }
}

std::string origin_text(const Calibration& c) {
  std::vector<std::string> quoted;
  for (const auto& r : c.results) quoted.push_back(io::json_quoted(r));
  std::string out = "measured:\n  results: [" + join(quoted, ", ") + "]\n";
  const auto line = [&](const char* key, const std::string& value) {
    if (!value.empty()) out += fmt::format("  {}: {}\n", key, io::json_quoted(value));
  };
  line("host", c.host);
  line("date", c.date);
  line("tool_version", c.tool_version);
  return out;
}

// Nested blocks from dotted keys that are in order.
std::string values_text(const Calibration& c) {
  std::string out;
  std::vector<std::string> open;
  for (const Measured& m : c.values) {
    std::vector<std::string> path;
    for (const auto part : split(m.key, '.')) path.emplace_back(part);
    const std::string leaf = path.back();
    path.pop_back();
    std::size_t same = 0;
    while (same < std::min(open.size(), path.size()) && open[same] == path[same]) ++same;
    for (std::size_t i = same; i < path.size(); ++i) out += std::string(2 * i, ' ') + path[i] + ":\n";
    out += std::string(2 * path.size(), ' ') + leaf + ": " + file_text(*kind_of(m.key), m.value) + "\n";
    open = path;
  }
  return out;
}

std::string evidence_text(const Calibration& c) {
  std::string out = "evidence:\n";
  for (const Measured& m : c.values) {
    out += fmt::format("  - {{value: {}, from: {}, n: {}", m.key, io::json_quoted(m.from), m.n);
    if (m.low && m.high) out += fmt::format(", low: {:.6g}, high: {:.6g}", *m.low, *m.high);
    out += "}\n";
  }
  return out;
}

}  // namespace

const ObjectSpec& calibration_spec() {
  static const ObjectSpec links = spec_of("links", "links between the GPUs of a node");
  static const ObjectSpec pcie = spec_of("pcie", "between host and GPU");
  static const ObjectSpec nics = spec_of("nics", "network cards");
  static const ObjectSpec ingest = spec_of("ingest", "the line over which a dataset arrives");
  static const ObjectSpec spec{
      "calibration",
      "Measured efficiencies, as trunkline calibrate writes them; what is left out keeps its default",
      {block("measured", origin_spec().doc, origin_spec()),
       field("gpu", FieldType::text, "catalogue id of the GPU that kernels, links and slot were measured on"),
       field("nic", FieldType::text, "kind of the cards that nics was measured on"),
       block("kernels", "kernels of that GPU", kernels::measured_spec()), block("links", links.doc, links), block("pcie", pcie.doc, pcie),
       block("nics", nics.doc, nics), block("storage", storage_spec().doc, storage_spec()), block("ingest", ingest.doc, ingest),
       block("evidence", evidence_spec().doc, evidence_spec(), FieldType::list)}};
  return spec;
}

std::string to_yaml(const Calibration& c) {
  std::string out =
      "# Measured efficiencies, written by `trunkline calibrate`; used by `trunkline predict --calibration`. What stands here replaces\n"
      "# the catalogued value; what does not keeps it.\n";
  out += origin_text(c);
  if (!c.gpu.empty()) out += "gpu: " + c.gpu + "\n";
  if (!c.nic.empty()) out += "nic: " + c.nic + "\n";
  return out + values_text(c) + evidence_text(c);
}

Result<Calibration> calibration_from(const io::Value& value) {
  TRUNKLINE_TRY(io::check(value, calibration_spec()));
  Calibration out;
  out.file = value.where().file;
  out.gpu = io::get_text(value, "gpu").value_or("");
  out.nic = io::get_text(value, "nic").value_or("");
  TRUNKLINE_TRY(read_values(value, out));
  read_evidence(value, out);
  read_origin(value, out);
  if (const io::Value* kernels = value.find("kernels"); kernels && kernels->is_map()) out.kernels = *kernels;
  if (out.values.empty() && !out.kernels)
    return bad_input({out.file, 0}, "no measured value in it", "trunkline calibrate writes such a file");
  return out;
}

Result<Calibration> read_calibration(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  return calibration_from(value);
}

}  // namespace trunkline::calibrate
