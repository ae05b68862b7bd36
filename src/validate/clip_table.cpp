#include "validate/clip_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "stats/summary.hpp"
#include "validate/columns.hpp"
#include "validate/ideal_step.hpp"
#include "validate/row_reader.hpp"

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
constexpr Evidence kEvidence[] = {{"jubench_mmoclip", 1.50}, {"laion_scaling_laws", 1.81}, {"openclip_laion400m", 1.89}};
constexpr double kLow = 0.78, kHigh = 1.77;

class RowReader : RowReaderOf<ClipRow> {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : RowReaderOf(TableKind::clip, table, row) {}

  ClipRow read() {
    out_.id = row_name(table_, row_);
    out_.file = table_.file();
    out_.table = table_name(table_, row_);
    out_.model = text("model");
    out_.line = row_.line;
    Job job;
    topology::Platform platform;
    if (readable() && model(job) && node(platform) && measured() && training(job, platform) && plausible(job, platform)) {
      out_.job = std::move(job);
      out_.platform = std::move(platform);
    }
    return std::move(out_);
  }

 private:
  bool measured() {
    const double gpus = number("gpus");
    double rate = number("samples_s");
    if (rate <= 0) rate = number("samples_s_gpu") * gpus;
    const double each = number("batch_per_gpu") * gpus;
    double batch = number("global_batch");
    if (batch <= 0) batch = each;
    if (rate <= 0) return leave_out("samples_s: not stated, nor samples_s_gpu");
    if (batch <= 0) return leave_out("global_batch: not stated, nor batch_per_gpu");
    if (each > 0 && std::abs(each / batch - 1) > 0.01)
      return skip(cell_problem("global_batch", text("global_batch"),
                               fmt::format("is not batch_per_gpu {} × gpus {}", text("batch_per_gpu"), gpus)));
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
    for (const char* column :
         {"image_width", "image_size", "patch", "image_layers", "text_width", "text_layers", "vocab", "context_length"}) {
      if (text(column).empty()) return leave_out(fmt::format("{}: not stated; only image-text transformers are predicted", column));
    }
    const double image = number("image_size"), patch = number("patch");
    if (patch > image) return skip(cell_problem("patch", text("patch"), "is larger than the image (image_size)"));
    if (number("text_heads") > number("text_width"))
      return skip(cell_problem("text_heads", text("text_heads"), "is more than the width of the text tower (text_width)"));
    Tower vision = tower("vision", number("image_width"), number("image_layers"), 0);
    vision.image = int(image);
    vision.patch = int(patch);
    vision.patch_bias = false;
    vision.embedding_norm = true;
    Tower words = tower("text", number("text_width"), number("text_layers"), number("text_heads"));
    words.causal = true;
    words.vocab = std::int64_t(number("vocab"));
    words.max_positions = std::int64_t(number("context_length"));
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
    if (gpus <= 0) return leave_out("gpus: not stated");
    for (const Host& host : kHosts) {
      if (!gpu.starts_with(host.gpu) || gpu.find(host.memory) == std::string::npos || (host.per_node > 0 && host.per_node != per_node))
        continue;
      const auto type = topology::node_type(host.node);
      if (!type) return skip(type.error().message);
      platform.node = *type;
      assume("node", host.node);
      break;
    }
    if (platform.node.gpu.id.empty()) return skip(cell_problem("gpu_type", text("gpu_type"), "has no ready-made node"));
    const int original = platform.node.gpus;
    platform.node.gpus = std::min(per_node > 0 ? per_node : original, gpus);
    platform.node.nics.count = std::max(1, platform.node.nics.count * platform.node.gpus / original);
    if (gpus % platform.node.gpus != 0)
      return skip(fmt::format("gpus: {} do not fill whole nodes of {} (gpus_per_node)", gpus, platform.node.gpus));
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
    auto& compute = job.precision.compute;
    job.precision.parameters = catalog::Precision::fp32;
    const std::string stated = lower(text("precision"));
    if (has_word(stated, "tf32")) {
      compute = catalog::Precision::tf32;
    } else if (has_word(stated, "fp32")) {
      compute = catalog::Precision::fp32;
    } else if (has_word(stated, "bf16") || has_word(stated, "bfloat16")) {
      compute = catalog::Precision::bf16;
    } else if (has_word(stated, "fp16")) {
      compute = catalog::Precision::fp16;
    } else if (stated.empty() || has_word(stated, "amp")) {
      compute = gpu.supports(catalog::Precision::bf16) ? catalog::Precision::bf16 : catalog::Precision::fp16;
      assume("precision", catalog::name_of(compute));
    } else {
      return skip(cell_problem("precision", text("precision"), "is not known; expected amp, bf16, fp16, tf32 or fp32"));
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
    if (job.batch.micro <= 0)
      return skip(
          cell_problem("global_batch", text("global_batch"), fmt::format("is less than one sample for each of {} GPUs", out_.gpus)));
    job.batch.global = job.batch.micro * out_.gpus;
    return checkpoints(job, platform);
  }

  bool plausible(const Job& job, const topology::Platform& platform) {
    if (plausible_step(job, platform, out_.measured_s)) return true;
    const char* column = text("samples_s").empty() ? "samples_s_gpu" : "samples_s";
    return skip(cell_problem(column, text(column),
                             fmt::format("would be {} % of the matrix rate of these gpus (gpu_type, precision) for this model (image_size, "
                                         "image_width, image_layers, patch, text_width, text_layers, context_length, vocab)",
                                         significant(100 * ideal_step_s(job, platform) / out_.measured_s))));
  }

  bool checkpoints(Job& job, const topology::Platform& platform) {
    const std::string stated = lower(text("grad_checkpointing"));
    const std::string_view word = split(stated, ' ').front();  // "yes (example command line)"
    if (word == "yes" || word == "no") {
      job.recompute = word == "yes" ? workload::Recompute::full : workload::Recompute::none;
      return true;
    }
    if (!word.empty()) return skip(cell_problem("grad_checkpointing", text("grad_checkpointing"), "is not known; expected yes or no"));
    const auto parts = workload::memory_of(job, workload::memory_rules(job));
    if (parts.total() - parts.fragmentation > platform.node.gpu.memory) job.recompute = workload::Recompute::full;
    assume("recompute",
           workload::name_of(job.recompute) + (job.recompute == workload::Recompute::full ? " (does not fit without)" : " (fits)"));
    return true;
  }
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
  row.set_prediction(*step_s, kLow, kHigh);
  row.judged = row.eligible && row.predicted();
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
  const auto all = pointers(rows);
  return {by_table(all), summarise("all", all)};
}

}  // namespace trunkline::validate
