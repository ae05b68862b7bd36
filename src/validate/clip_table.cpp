#include "validate/clip_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "stats/summary.hpp"

namespace trunkline::validate {

using workload::Job;
using workload::Tower;

namespace {

constexpr const char* kBuiltinModels[] = {"clip-vit-b-32", "clip-vit-b-16", "clip-vit-l-14",
                                          "clip-vit-h-14", "clip-vit-g-14", "clip-vit-bigg-14"};

struct Host {
  std::string_view gpu, memory;  // what gpu_type must begin with and mention
  int per_node = 0;              // 0 = any
  const char* node;
};

// First fit wins.
constexpr Host kHosts[] = {{"a100", "80gb", 8, "hgx-a100-80"}, {"a100", "80gb", 0, "a100-4-80"}, {"a100", "40gb", 8, "hgx-a100-40"},
                           {"a100", "", 8, "hgx-a100-80"},     {"a100", "", 0, "a100-4"},        {"h100", "", 0, "hgx-h100"},
                           {"h200", "", 0, "hgx-h200"},        {"v100", "", 0, "hgx-v100"}};

// What each published table says of PyTorch 1.x (fit_old_software), and what holds 80 % of measured / predicted when each is
// judged by the others. The long upper side are runs that waited for data.
struct Evidence {
  std::string_view table;
  double factor;
};
constexpr Evidence kEvidence[] = {{"jubench_mmoclip", 1.50}, {"laion_scaling_laws", 1.92}, {"openclip_laion400m", 1.92}};
constexpr double kLow = 0.78, kHigh = 1.77;

class RowReader {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : table_(table), row_(row) {}

  ClipRow read() {
    out_.id = text("row_id");
    out_.file = table_.file();
    out_.table = text("table_id");
    out_.model = text("model");
    out_.line = row_.line;
    Job job;
    topology::Platform platform;
    if (model(job) && node(platform) && measured() && training(job, platform)) {
      out_.job = std::move(job);
      out_.platform = std::move(platform);
    }
    return std::move(out_);
  }

 private:
  const std::string& text(std::string_view column) const { return table_.cell(row_, column); }
  double number(std::string_view column) const { return parse_number(text(column)).value_or(0); }
  bool skip(std::string why) {
    out_.skipped_reason = std::move(why);
    return false;
  }
  void assume(const char* what, std::string taken) { out_.assumed.emplace_back(what, std::move(taken)); }

  bool measured() {
    const double gpus = number("gpus");
    double rate = number("samples_s");
    if (rate <= 0) rate = number("samples_s_gpu") * gpus;
    double batch = number("global_batch");
    if (batch <= 0) batch = number("batch_per_gpu") * gpus;
    if (rate <= 0) return skip("no throughput stated");
    if (batch <= 0) return skip("batch not stated");
    out_.measured_s = batch / rate;
    return true;
  }

  static Tower tower(const char* name, double width, double layers, double heads) {
    Tower t;
    t.name = name;
    t.hidden = std::int64_t(width);
    t.layers = int(layers);
    t.heads = t.kv_heads = int(heads > 0 ? heads : width / 64);
    t.head_dim = int(width / t.heads);
    t.ffn = 4 * t.hidden;
    t.causal = false;
    t.biases = t.out_bias = t.qkv_bias = true;
    t.norm = workload::Norm::layer;
    t.positions = workload::Positions::learned;
    t.head = false;
    return t;
  }

  bool model(Job& job) {
    const double image = number("image_size"), patch = number("patch"), width = number("image_width"), layers = number("image_layers");
    const double text_width = number("text_width"), text_layers = number("text_layers");
    if (image <= 0 || patch <= 0 || width < 64 || layers <= 0 || text_width < 64 || text_layers <= 0) {
      return skip("not an image-text transformer whose shape the row states");
    }
    Tower vision = tower("vision", width, layers, 0);
    vision.image = int(image);
    vision.patch = int(patch);
    vision.patch_bias = false;
    vision.embedding_norm = true;
    Tower words = tower("text", text_width, text_layers, number("text_heads"));
    words.causal = true;
    words.vocab = std::int64_t(number("vocab"));
    words.max_positions = std::int64_t(number("context_length"));
    if (words.vocab <= 0 || words.max_positions <= 0) return skip("vocabulary or text length not stated");
    vision.projection = words.projection = words.hidden;
    job.model.name = out_.model;
    job.model.kind = workload::Model::Kind::contrastive;
    job.model.towers = {vision, words};
    take_known_shape(job.model);
    return true;
  }

  // Head count and inner width are no columns of the table; they are those of the published model of this shape.
  void take_known_shape(workload::Model& model) {
    Tower& vision = model.towers.front();
    for (const char* name : kBuiltinModels) {
      const auto known = workload::builtin_model(name);
      if (!known) continue;
      const Tower& same = known->towers.front();
      if (same.hidden != vision.hidden || same.layers != vision.layers || same.patch != vision.patch) continue;
      vision.heads = vision.kv_heads = same.heads;
      vision.head_dim = same.head_dim;
      vision.ffn = same.ffn;
      for (Tower& t : model.towers) t.projection = same.projection;
      assume("vision_heads", fmt::format("{} (built-in {})", vision.heads, name));
      return;
    }
    assume("vision_heads", fmt::format("{} (64 wide)", vision.heads));
    assume("projection", fmt::format("{} (as wide as the text tower)", vision.projection));
  }

  bool node(topology::Platform& platform) {
    const std::string gpu = lower(text("gpu_type"));
    const int gpus = int(number("gpus")), per_node = int(number("gpus_per_node"));
    if (gpus <= 0) return skip("number of GPUs not stated");
    for (const Host& host : kHosts) {
      if (!gpu.starts_with(host.gpu) || gpu.find(host.memory) == std::string::npos || (host.per_node > 0 && host.per_node != per_node))
        continue;
      const auto type = topology::node_type(host.node);
      if (!type) return skip(type.error().message);
      platform.node = *type;
      assume("node", host.node);
      break;
    }
    if (platform.node.gpu.id.empty()) return skip(fmt::format("no ready-made node for \"{}\"", text("gpu_type")));
    const int original = platform.node.gpus;
    platform.node.gpus = std::min(per_node > 0 ? per_node : original, gpus);
    platform.node.nics.count = std::max(1, platform.node.nics.count * platform.node.gpus / original);
    if (gpus % platform.node.gpus != 0) return skip("the GPUs do not fill whole nodes");
    platform.nodes = gpus / platform.node.gpus;
    platform.name = out_.table;
    platform.fabric.present = platform.nodes > 1;
    platform.fabric.kind = platform.node.nics.kind;
    if (platform.nodes > 1 && text("network").empty()) {
      assume("network", fmt::format("{} × {:.0f} Gb/s (node type)", platform.node.nics.count, as_gbit_per_s(platform.node.nics.rate)));
    }
    out_.gpus = gpus;
    return true;
  }

  bool precision(Job& job, const catalog::Gpu& gpu) {
    const std::string stated = lower(text("precision"));
    auto& compute = job.precision.compute;
    job.precision.parameters = catalog::Precision::fp32;
    if (stated.find("tf32") != std::string::npos) {
      compute = catalog::Precision::tf32;
    } else if (stated.starts_with("fp32")) {
      compute = catalog::Precision::fp32;
    } else if (stated.find("bf") != std::string::npos) {
      compute = catalog::Precision::bf16;
    } else if (stated.find("fp16") != std::string::npos) {
      compute = catalog::Precision::fp16;
    } else if (stated.empty() || stated.find("amp") != std::string::npos) {
      compute = gpu.supports(catalog::Precision::bf16) ? catalog::Precision::bf16 : catalog::Precision::fp16;
      assume("precision", catalog::name_of(compute));
    } else {
      return skip(fmt::format("precision \"{}\" is not modelled", text("precision")));
    }
    return true;
  }

  bool training(Job& job, const topology::Platform& platform) {
    job.framework = workload::Framework::pytorch_ddp;
    assume("framework", "pytorch-ddp, run eagerly");
    if (!precision(job, platform.node.gpu)) return false;
    if (platform.node.gpu.generation < catalog::Generation::hopper) {
      job.flash_attention = false;
      out_.old_software = true;
      assume("flash_attention", "false (PyTorch 1.x)");
    }
    job.parallelism.dp = out_.gpus;
    job.batch.micro = std::int64_t(std::llround(number("batch_per_gpu")));
    if (job.batch.micro <= 0) job.batch.micro = std::int64_t(std::llround(number("global_batch") / out_.gpus));
    if (job.batch.micro <= 0) return skip("batch of a GPU not stated");
    job.batch.global = job.batch.micro * out_.gpus;
    checkpoints(job, platform);
    return true;
  }

  void checkpoints(Job& job, const topology::Platform& platform) {
    const std::string stated = lower(text("grad_checkpointing"));
    if (stated.starts_with("yes") || stated.starts_with("no")) {
      job.recompute = stated.starts_with("yes") ? workload::Recompute::full : workload::Recompute::none;
      return;
    }
    const auto parts = workload::memory_of(job, workload::memory_rules(job));
    if (parts.total() - parts.fragmentation > platform.node.gpu.memory) job.recompute = workload::Recompute::full;
    assume("recompute",
           workload::name_of(job.recompute) + (job.recompute == workload::Recompute::full ? " (does not fit without)" : " (fits)"));
  }

  const io::CsvTable& table_;
  const io::CsvRow& row_;
  ClipRow out_;
};

Result<double> step_with(const ClipRow& row, double old_software) {
  predict::Options options;
  if (row.old_software) options.compute_factor = old_software;
  options.extras = false;
  TRUNKLINE_ASSIGN(p, predict::predict(*row.job, *row.platform, options));
  return p.step_s;
}

// The factor at which the row is met exactly, by bisection; communication is partly hidden, so the step is not linear in it.
double exact_factor(const ClipRow& row) {
  double low = 0.1, high = 20;
  for (int i = 0; i < 40; ++i) {
    const double middle = std::sqrt(low * high);
    (step_with(row, middle).value_or(row.measured_s) < row.measured_s ? low : high) = middle;
  }
  return std::sqrt(low * high);
}

ClipGroup group_of(std::string name, const std::vector<const ClipRow*>& rows) {
  ClipGroup g;
  g.table = std::move(name);
  std::vector<double> absolute;
  for (const ClipRow* row : rows) {
    ++g.rows;
    ++(row->predicted() ? g.predicted : g.skipped);
    if (!row->predicted()) continue;
    absolute.push_back(std::abs(row->error));
    g.mean_abs += std::abs(row->error);
    g.mean_signed += row->error;
    g.covered += row->measured_s >= row->low_s && row->measured_s <= row->high_s;
  }
  if (absolute.empty()) return g;
  const double n = double(absolute.size());
  g.median_abs = stats::median(absolute);
  g.mean_abs /= n;
  g.mean_signed /= n;
  g.covered /= n;
  return g;
}

}  // namespace

ClipRow clip_row(const io::CsvTable& table, const io::CsvRow& row) { return RowReader(table, row).read(); }

double old_software_factor(const std::string& without) {
  double sum = 0;
  int tables = 0;
  for (const Evidence& e : kEvidence) {
    if (e.table == without) continue;
    sum += std::log(e.factor);
    ++tables;
  }
  return std::exp(sum / tables);
}

void predict(ClipRow& row, double old_software) {
  if (!row.job || !row.platform) return;
  const auto step_s = step_with(row, old_software);
  if (!step_s) {
    row.skipped_reason = step_s.error().message;
    return;
  }
  row.predicted_s = *step_s;
  row.low_s = row.predicted_s * kLow;
  row.high_s = row.predicted_s * kHigh;
  row.error = row.predicted_s / row.measured_s - 1;
}

double fit_old_software(const std::vector<ClipRow>& rows, const std::string& name) {
  std::vector<double> factors;
  for (const auto& row : rows) {
    if (row.predicted() && row.old_software && row.table == name) factors.push_back(exact_factor(row));
  }
  return factors.empty() ? 0 : stats::median(factors);
}

std::vector<ClipRow> leave_one_table_out(std::vector<ClipRow> rows) {
  for (auto& row : rows) predict(row, old_software_factor(row.table));
  return rows;
}

Result<std::vector<ClipRow>> validate_clip(const io::CsvTable& table) {
  for (const char* column : {"row_id", "table_id", "image_width", "text_width", "gpus", "gpu_type", "samples_s"}) {
    if (!table.has(column)) {
      return bad_input({table.file(), 1}, fmt::format("no column \"{}\"", column),
                       "expected a table of CLIP training runs with the columns of data/published/README.md");
    }
  }
  std::vector<ClipRow> rows;
  rows.reserve(table.rows().size());
  for (const auto& line : table.rows()) {
    rows.push_back(clip_row(table, line));
    predict(rows.back());
  }
  return rows;
}

ClipSummary summary_of(const std::vector<ClipRow>& rows) {
  ClipSummary out;
  std::vector<std::string> order;
  std::vector<const ClipRow*> all;
  for (const auto& row : rows) {
    all.push_back(&row);
    if (std::find(order.begin(), order.end(), row.table) == order.end()) order.push_back(row.table);
  }
  for (const auto& name : order) {
    std::vector<const ClipRow*> members;
    for (const ClipRow* row : all) {
      if (row->table == name) members.push_back(row);
    }
    out.tables.push_back(group_of(name, members));
  }
  out.overall = group_of("all", all);
  return out;
}

}  // namespace trunkline::validate
