#include "validate/columns.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::validate {
namespace {

// Bounds are wide of anything built or planned; what lies outside is a slip of the pen, not a machine.
constexpr double kMostGpus = 1e6, kMostOfNode = 72, kMostBytes = 1e18, kMostRate = 1e15;
constexpr double kShortestStep = 1e-5, kLongestStep = 1e7;

constexpr std::string_view kFlag = "0|1";
constexpr std::string_view kFabrics = "infiniband|roce|efa|ethernet|tcp|nvlink|omnipath";
constexpr std::string_view kLinks = "nvswitch|nvlink|nvlink-bridge|nvl72|pcie|xgmi";

constexpr Column kTraining[] = {
    {"row_id", Use::label},
    {"table_id", Use::label},
    {"system", Use::label},
    {"model", Use::searched},
    {"hidden", Use::whole, 1, 1 << 20},
    {"layers", Use::whole, 1, 2000},
    {"heads", Use::whole, 1, 4096},
    {"kv_heads", Use::whole, 1, 4096},
    {"ffn", Use::whole, 1, 1 << 24},
    {"vocab", Use::whole, 1, 1 << 24},
    {"seq_len", Use::whole, 1, 1 << 24},
    {"global_batch_seqs", Use::whole, 1, 1e7},
    {"global_batch_tokens", Use::whole, 1, 1e11},
    {"micro_batch", Use::whole, 1, 1e5},
    {"gpus", Use::whole, 1, kMostGpus},
    {"gpus_per_node", Use::whole, 1, kMostOfNode},
    {"tp", Use::whole, 1, 4096},
    {"pp", Use::whole, 1, 4096},
    {"vpp", Use::whole, 1, 2000},
    {"cp", Use::whole, 1, 4096},
    {"ep", Use::whole, 1, kMostGpus},
    {"dp", Use::ruled, 1, kMostGpus},
    {"sharding", Use::searched},
    {"seq_parallel", Use::ruled},
    {"optimizer", Use::searched},
    {"framework", Use::searched},
    {"tokens_s", Use::number, 1e-3, kMostRate},
    {"iter_time_s", Use::number, kShortestStep, kLongestStep},
    {"extra", Use::searched},
    {"notes", Use::searched},
    {"gpu_norm", Use::ruled},
    {"nic_count", Use::whole, 1, 256},
    {"nic_gbps", Use::number, 0.1, 1e5},
    {"fabric_norm", Use::word, 0, 0, kFabrics},
    {"intra_norm", Use::word, 0, 0, kLinks},
    {"sharding_norm", Use::word, 0, 0, "none|zero1|zero2|zero3|hsdp"},
    {"framework_norm", Use::ruled},
    {"precision_norm", Use::word, 0, 0, "bf16|fp16|fp8|nvfp4|fp8+nvfp4|bf16+fp16"},
    {"recompute_norm", Use::word, 0, 0, "none|selective|full"},
    {"moe", Use::word, 0, 0, kFlag},
    {"proxy", Use::word, 0, 0, kFlag},
    {"dense_eligible", Use::word, 0, 0, kFlag},
    {"exclude_reason", Use::label},
};

constexpr Column kCollectives[] = {
    {"row_id", Use::label},
    {"table_id", Use::label},
    {"system_id", Use::label},
    {"gpu_type", Use::searched},
    {"gpus", Use::whole, 2, kMostGpus},
    {"nodes", Use::whole, 1, kMostGpus},
    {"gpus_per_node", Use::whole, 1, kMostOfNode},
    {"intra_node", Use::searched},
    {"collective", Use::ruled},
    {"size_bytes", Use::whole, 1, 1e15},
    {"time_us", Use::number, 1e-2, 1e10},
    {"busbw_GBs", Use::number, 0, 1e6},
    {"notes", Use::searched},
    {"gpu_norm", Use::ruled},
    {"nic_count", Use::whole, 1, 256},
    {"nic_gbps", Use::number, 0.1, 1e5},
    {"fabric_norm", Use::word, 0, 0, kFabrics},
    {"intra_norm", Use::word, 0, 0, kLinks},
    {"nccl_norm", Use::ruled},
    {"healthy", Use::word, 0, 0, kFlag},
    {"forced", Use::ruled},
    {"exclude_reason", Use::searched},
};

constexpr Column kClip[] = {
    {"row_id", Use::label},
    {"table_id", Use::label},
    {"model", Use::label},
    {"image_size", Use::whole, 8, 8192},
    {"image_width", Use::whole, 64, 1 << 17},
    {"image_layers", Use::whole, 1, 2000},
    {"patch", Use::whole, 1, 1024},
    {"text_width", Use::whole, 64, 1 << 17},
    {"text_layers", Use::whole, 1, 2000},
    {"text_heads", Use::whole, 1, 4096},
    {"context_length", Use::whole, 1, 1 << 17},
    {"vocab", Use::whole, 1, 1 << 24},
    {"gpus", Use::whole, 1, kMostGpus},
    {"gpu_type", Use::ruled},
    {"gpus_per_node", Use::whole, 1, kMostOfNode},
    {"network", Use::searched},
    {"batch_per_gpu", Use::whole, 1, 1e6},
    {"global_batch", Use::whole, 1, 1e9},
    {"precision", Use::ruled},
    {"grad_checkpointing", Use::ruled},
    {"samples_s", Use::number, 1e-3, 1e12},
    {"samples_s_gpu", Use::number, 1e-3, 1e9},
};

constexpr Column kStorage[] = {
    {"row_id", Use::label},
    {"table_id", Use::label},
    {"kind", Use::ruled},
    {"system", Use::label},
    {"workload", Use::searched},
    {"accelerator_emulated", Use::label},
    {"num_accelerators", Use::whole, 1, kMostGpus},
    {"clients", Use::whole, 1, kMostGpus},
    {"batch_size", Use::whole, 1, 1e9},
    {"compute_time_s", Use::number, 1e-6, 1e6},
    {"samples_s", Use::number, 1e-3, 1e12},
    {"size_bytes", Use::whole, 1, kMostBytes},
    {"time_s", Use::number, 1e-6, 1e8},
    {"GB_s", Use::number, 1e-6, 1e9},
    {"gpus", Use::whole, 1, kMostGpus},
    {"storage", Use::label},
};

constexpr Column kPointToPoint[] = {
    {"row_id", Use::label},
    {"table_id", Use::label},
    {"kind", Use::ruled},
    {"system", Use::label},
    {"gpu_type", Use::searched},
    {"src", Use::ruled},
    {"dst", Use::ruled},
    {"size_bytes", Use::whole, 0, kMostBytes},
    {"value", Use::number, 1e-6, 1e9},
    {"unit", Use::ruled},
    {"direction", Use::ruled},
    {"network", Use::searched},
    {"notes", Use::searched},
};

std::string listed(std::string_view words) {
  const auto parts = split(words, '|');
  std::string out;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    if (i > 0) out += i + 1 == parts.size() ? " or " : ", ";
    out += parts[i];
  }
  return out;
}

// "a number from 1e-05 to 1e+07"
std::string bounds(const Column& column) {
  const auto plain = [](double x) { return x == std::floor(x) && std::abs(x) < 1e12 ? fmt::format("{:.0f}", x) : fmt::format("{:g}", x); };
  return fmt::format("{} from {} to {}", column.use == Use::whole ? "a whole number" : "a number", plain(column.least), plain(column.most));
}

std::string problem_of(const Column& column, const std::string& cell) {
  if (cell.empty()) return {};
  if (column.use == Use::word) {
    for (const auto word : split(column.words, '|')) {
      if (cell == word) return {};
    }
    return cell_problem(column.name, cell, "is not known; expected " + listed(column.words));
  }
  if (column.use != Use::number && column.use != Use::whole) return {};
  const auto value = parse_number(cell);
  const bool fits = value && *value >= column.least && *value <= column.most && (column.use == Use::number || *value == std::floor(*value));
  return fits ? std::string() : cell_problem(column.name, cell, "is not " + bounds(column));
}

}  // namespace

std::string name_of(TableKind kind) {
  switch (kind) {
    case TableKind::training: return "training";
    case TableKind::collectives: return "collectives";
    case TableKind::clip: return "clip";
    case TableKind::storage: return "storage";
    case TableKind::point_to_point: break;
  }
  return "point_to_point";
}

std::span<const Column> columns_of(TableKind kind) {
  switch (kind) {
    case TableKind::training: return kTraining;
    case TableKind::collectives: return kCollectives;
    case TableKind::clip: return kClip;
    case TableKind::storage: return kStorage;
    case TableKind::point_to_point: break;
  }
  return kPointToPoint;
}

std::optional<TableKind> kind_of(const io::CsvTable& table) {
  const auto all = [&](std::initializer_list<const char*> columns) {
    return std::all_of(columns.begin(), columns.end(), [&](const char* column) { return table.has(column); });
  };
  if (all({"iter_time_s", "layers", "gpus"})) return TableKind::training;
  if (all({"collective", "size_bytes", "gpus", "busbw_GBs"})) return TableKind::collectives;
  if (all({"image_width", "text_width", "gpus", "samples_s"})) return TableKind::clip;
  if (all({"kind", "workload", "samples_s", "time_s"})) return TableKind::storage;
  if (all({"kind", "value", "unit"})) return TableKind::point_to_point;
  return std::nullopt;
}

std::string columns_looked_for() {
  return "training: iter_time_s, layers, gpus; collectives: collective, size_bytes, gpus, busbw_GBs; CLIP: image_width, text_width, gpus, "
         "samples_s; storage and ingest: kind, workload, samples_s, time_s; point to point: kind, value, unit";
}

std::string cell_problem(std::string_view column, std::string_view found, std::string_view problem) {
  return fmt::format("{}: \"{}\" {}", column, excerpt(found, 40), problem);
}

bool has_word(std::string_view text, std::string_view word) {
  const auto part = [&](std::size_t i) { return i < text.size() && std::isalnum(static_cast<unsigned char>(text[i])); };
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    if (!(at > 0 && part(at - 1)) && !part(at + word.size())) return true;
  }
  return false;
}

std::string unreadable_cell(TableKind kind, const io::CsvTable& table, const io::CsvRow& row) {
  for (const Column& column : columns_of(kind)) {
    std::string problem = problem_of(column, table.cell(row, column.name));
    if (!problem.empty()) return problem;
  }
  return {};
}

std::vector<std::string> unused_columns(TableKind kind, const io::CsvTable& table) {
  const auto used = columns_of(kind);
  std::vector<std::string> out;
  for (const auto& name : table.columns()) {
    const bool known =
        std::any_of(used.begin(), used.end(), [&](const Column& column) { return column.name == name && column.use != Use::unused; });
    if (!known) out.push_back(name);
  }
  return out;
}

std::string row_name(const io::CsvTable& table, const io::CsvRow& row) {
  const std::string& id = table.cell(row, "row_id");
  return id.empty() ? fmt::format("line {}", row.line) : id;
}

std::string table_name(const io::CsvTable& table, const io::CsvRow& row) {
  const std::string& id = table.cell(row, "table_id");
  return id.empty() ? std::filesystem::path(table.file()).stem().string() : id;
}

}  // namespace trunkline::validate
