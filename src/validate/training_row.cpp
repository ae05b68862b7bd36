#include "validate/training_row.hpp"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "validate/families.hpp"

namespace trunkline::validate {

using workload::Framework;
using workload::Job;
using workload::Sharding;

namespace {

class RowReader {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : table_(table), row_(row) {}

  TrainingRow read() {
    out_.id = text("row_id");
    out_.file = table_.file();
    out_.line = row_.line;
    out_.table = text("table_id");
    out_.gpu = text("gpu_norm");
    out_.framework_name = text("framework_norm");
    out_.eligible = text("dense_eligible") == "1";
    out_.exclude_reason = text("exclude_reason");
    Job job;
    topology::Platform platform;
    const bool ok = readable() && measured() && framework(job) && model(job) && training(job) && batch_and_parallelism(job) &&
                    node(platform) && memory_rules(job, platform);
    if (!ok) return std::move(out_);
    job.assumed.clear();
    out_.job = std::move(job);
    out_.platform = std::move(platform);
    return std::move(out_);
  }

 private:
  const std::string& text(std::string_view column) const { return table_.cell(row_, column); }
  std::optional<double> number(std::string_view column) const {
    const auto value = parse_number(text(column));
    return value ? std::optional<double>(*value) : std::nullopt;
  }
  bool skip(std::string why) {
    out_.skip = std::move(why);
    return false;
  }
  void assume(const char* what, std::string taken) { out_.assumed.emplace_back(what, std::move(taken)); }
  bool mentions(std::string_view word) const {
    for (const char* column : {"model", "framework", "extra", "notes", "optimizer"}) {
      if (lower(text(column)).find(word) != std::string::npos) return true;
    }
    return false;
  }

  // A cell that holds something other than a positive number where one belongs is said, never read as if it were empty.
  bool readable() {
    for (const char* column : {"hidden", "layers", "heads", "kv_heads", "ffn", "vocab", "seq_len", "global_batch_seqs", "micro_batch",
                               "gpus", "gpus_per_node", "tp", "pp", "vpp", "cp", "ep", "nic_count", "nic_gbps", "iter_time_s"}) {
      if (text(column).empty()) continue;
      const auto value = number(column);
      if (!value || *value <= 0 || *value > 1e12)
        return skip(fmt::format("{}: \"{}\" is not a positive number", column, text(column).substr(0, 40)));
    }
    return true;
  }

  bool measured() {
    if (const auto t = number("iter_time_s"))
      out_.measured_s = *t;
    else if (number("tokens_s").value_or(0) > 0 && number("global_batch_tokens"))
      out_.measured_s = *number("global_batch_tokens") / *number("tokens_s");
    if (out_.measured_s > 0) return true;
    return skip("no step time, and no tokens/s with a batch in tokens");
  }

  bool framework(Job& job) {
    if (text("framework_norm") == "other") {
      job.framework = Framework::megatron_bridge;
      assume("framework", "named but not modelled: behaves like megatron-bridge");
      return true;
    }
    const auto known = workload::framework_from(text("framework_norm"));
    if (!known) return skip(fmt::format("framework \"{}\" is not modelled", text("framework_norm")));
    job.framework = *known;
    return true;
  }

  bool model(Job& job) {
    const auto hidden = number("hidden"), layers = number("layers"), heads = number("heads");
    if (!hidden || !layers || !heads) return skip("hidden, layers or heads not stated");
    const Family& family = family_of(text("model"));
    workload::Tower t;
    t.name = "decoder";
    t.hidden = std::int64_t(*hidden);
    t.layers = int(*layers);
    t.heads = int(*heads);
    t.kv_heads = int(number("kv_heads").value_or(*heads));
    t.head_dim = int(t.hidden / t.heads);
    t.gated = family.gated;
    t.norm = family.norm;
    t.positions = family.positions;
    t.biases = family.biases;
    t.tied = family.tied;
    t.max_positions = std::int64_t(number("seq_len").value_or(0));
    if (number("ffn")) {
      t.ffn = std::int64_t(*number("ffn"));
    } else {
      t.ffn = family.gated ? std::int64_t(std::ceil(*hidden * 8 / 3 / 256)) * 256 : 4 * t.hidden;
      assume("ffn", fmt::format("{} ({})", t.ffn, family.gated ? "8/3 of hidden, rounded up to 256" : "4 × hidden"));
    }
    if (number("vocab")) {
      t.vocab = std::int64_t(*number("vocab"));
    } else {
      t.vocab = family.vocab;
      assume("vocab", fmt::format("{} (the {} family)", family.vocab, family.word));
    }
    job.model.name = text("model");
    job.model.towers = {t};
    return text("moe") != "1" || experts(job, t.layers);
  }

  // The columns do not state experts: they are those of the built-in model of that name, cut to the row's layers.
  bool experts(Job& job, int layers) {
    const std::string_view known = builtin_for(text("model"));
    auto model = known.empty() ? Result<workload::Model>(bad_input({}, "")) : workload::builtin_model(std::string(known));
    if (!model) return skip("mixture of experts that is not among the built-in models");
    assume("experts", fmt::format("those of {}", known));
    job.model = *model;
    job.model.towers.front().layers = layers;
    return true;
  }

  // Rows of one table come from one page; where its notes describe fp8 recipes, a row without a precision of its own has one.
  bool table_mentions_fp8() const {
    if (mentions("fp8")) return true;
    for (const auto& other : table_.rows()) {
      if (table_.cell(other, "table_id") == out_.table && lower(table_.cell(other, "notes")).find("fp8 quantization") != std::string::npos)
        return true;
    }
    return false;
  }

  bool precision(Job& job, const std::string& gpu) {
    std::string p = text("precision_norm");
    if (p.empty() && table_mentions_fp8()) {
      p = "fp8";
      assume("precision", "fp8 (the notes of this table's rows name fp8 recipes)");
    }
    if (p.empty()) {
      p = gpu.starts_with("v100") ? "fp16" : "bf16";
      assume("precision", p + " (not stated)");
    }
    auto& compute = job.precision.compute;
    if (p == "fp16" || p == "bf16+fp16")
      compute = catalog::Precision::fp16;
    else if (p == "bf16")
      compute = catalog::Precision::bf16;
    else if (p == "fp8")
      compute = catalog::Precision::fp8;
    else if (p == "nvfp4" || p == "fp8+nvfp4")
      compute = catalog::Precision::fp4;
    else
      return skip(fmt::format("precision \"{}\" is not modelled", p));
    job.precision.parameters = catalog::Precision::bf16;
    return true;
  }

  bool training(Job& job) {
    if (!precision(job, text("gpu_norm"))) return false;
    if (mentions("lora")) {
      job.kind = workload::TrainingKind::lora;
      job.lora.all_linear = false;
      assume("lora", "rank 16 on attention's matrices");
    }
    const std::string recompute = text("recompute_norm");
    if (const auto r = workload::recompute_from(recompute))
      job.recompute = *r;
    else
      job.open.recompute = true;
    if (mentions("no flashattention") || mentions("no flash"))
      job.flash_attention = false;
    else if (mentions("flash"))
      job.flash_attention = true;
    else if (text("gpu_norm").starts_with("a100") &&
             (job.framework == Framework::megatron || job.framework == Framework::megatron_deepspeed)) {
      job.flash_attention = false;
      assume("flash_attention", "false (Megatron's tables of the A100's first years predate it; rows that use it say so)");
    }
    if (mentions("torch.compile") || mentions("torch compile")) job.compile = true;
    return true;
  }

  bool batch_and_parallelism(Job& job) {
    const auto gpus = number("gpus"), sequence = number("seq_len");
    if (!gpus || !sequence) return skip("GPUs or sequence length not stated");
    auto& p = job.parallelism;
    const auto degree = [&](const char* column) { return int(number(column).value_or(1)); };
    p.tp = degree("tp"), p.pp = degree("pp"), p.vpp = degree("vpp"), p.cp = degree("cp"), p.ep = degree("ep");
    const int copy = p.tp * p.pp * p.cp;
    if (int(*gpus) % copy != 0) return skip("tp × pp × cp does not divide the GPUs");
    p.dp = int(*gpus) / copy;
    job.batch.sequence = std::int64_t(*sequence);
    auto global = number("global_batch_seqs");
    if (!global && number("global_batch_tokens")) global = *number("global_batch_tokens") / *sequence;
    if (!global) return skip("global batch not stated");
    job.batch.global = std::int64_t(std::llround(*global));
    if (number("micro_batch")) {
      job.batch.micro = std::int64_t(*number("micro_batch"));
    } else {
      job.batch.micro = 1;
      assume("micro_batch", "1 (not stated)");
    }
    const double per_rank = double(job.batch.global) / p.dp / double(job.batch.micro);
    if (per_rank < 0.999) return skip("global batch is smaller than one micro-batch a data-parallel rank");
    if (std::abs(per_rank - std::round(per_rank)) > 1e-6) {
      job.batch.global = std::int64_t(std::llround(per_rank)) * p.dp * job.batch.micro;
      batch_scale_ = *global / double(job.batch.global);
      assume("global_batch", fmt::format("{} (the stated {} does not divide over {} ranks)", job.batch.global, *global, p.dp));
      out_.measured_s /= batch_scale_;
    }
    sharding(job);
    if (lower(text("seq_parallel")).starts_with("yes") || text("seq_parallel").starts_with("1") || lower(text("seq_parallel")) == "true")
      p.sequence_parallel = true;
    job.open.sequence_parallel = text("seq_parallel").empty();
    schedule(p);
    return true;
  }

  void sharding(Job& job) {
    auto& p = job.parallelism;
    if (const auto s = workload::sharding_from(text("sharding_norm"))) {
      p.sharding = *s;
      const std::string& stated = text("sharding");  // "FSDP=128": the ranks that share one copy
      if (const auto at = stated.find("FSDP="); at != std::string::npos) p.shard_group = std::atoi(stated.c_str() + at + 5);
      if (const auto at = stated.find(" over "); at != std::string::npos)
        p.shard_group = std::atoi(stated.c_str() + at + 6);  // "ZeRO-1 over 8 GPUs"
      return;
    }
    switch (job.framework) {
      case Framework::nemo:
      case Framework::megatron_bridge:
      case Framework::mlperf_nvidia: p.sharding = Sharding::zero1; break;
      case Framework::pytorch_fsdp:
      case Framework::composer_fsdp:
      case Framework::torchtitan:
      case Framework::maxtext:
      case Framework::pax: p.sharding = Sharding::zero3; break;
      default: p.sharding = Sharding::none;
    }
    assume("sharding", workload::name_of(p.sharding) + " (the framework's habit)");
  }

  void schedule(workload::Parallelism& p) {
    const std::string extra = lower(text("extra"));
    if (extra.find("schedule zb-2p") != std::string::npos)
      p.schedule = workload::Schedule::zero_bubble_2p;
    else if (extra.find("schedule zb-1p") != std::string::npos)
      p.schedule = workload::Schedule::zero_bubble_1p;
    else if (extra.find("schedule 1f1b-i") != std::string::npos && p.vpp == 1) {
      p.vpp = std::max(1, (out_layers_ + p.pp - 1) / p.pp);
      assume("vpp", fmt::format("{} (interleaved, each layer its own chunk)", p.vpp));
    }
  }

  bool node(topology::Platform& platform) {
    const std::string gpu = text("gpu_norm");
    if (gpu.empty()) return skip("the GPU is not in the catalogue or its form is not stated");
    const std::string type = type_for(gpu);
    if (type.empty()) return skip(fmt::format("no ready-made node for \"{}\"", gpu));
    auto node = topology::node_type(type);
    if (!node) return skip(node.error().message);
    platform.node = *node;
    const int gpus = int(*number("gpus"));
    const int stated = int(number("gpus_per_node").value_or(platform.node.gpus));
    if (!number("gpus_per_node")) assume("gpus_per_node", fmt::format("{} (node type {})", platform.node.gpus, type));
    const int original = platform.node.gpus;
    platform.node.gpus = std::min(stated, gpus);
    if (gpus % platform.node.gpus != 0) return skip("the GPUs do not fill whole nodes");
    platform.nodes = gpus / platform.node.gpus;
    platform.name = text("system");
    platform.fabric.present = platform.nodes > 1;
    nics(platform, original);
    assume("node", type);
    return true;
  }

  static std::string type_for(const std::string& gpu) {
    if (gpu == "a100-sxm-80") return "hgx-a100-80";
    if (gpu == "a100-sxm-40") return "hgx-a100-40";
    if (gpu == "h100-sxm") return "hgx-h100";
    if (gpu == "h200-sxm") return "hgx-h200";
    if (gpu == "h800-sxm") return "hgx-h800";
    if (gpu == "a800-sxm-80") return "hgx-a800";
    if (gpu == "b200") return "hgx-b200";
    if (gpu == "b300") return "hgx-b300";
    if (gpu == "gb200") return "gb200-nvl72";
    if (gpu == "gb300") return "gb300-nvl72";
    if (gpu == "v100-sxm2") return "hgx-v100";
    if (gpu == "mi300x") return "mi300x-8";
    if (gpu == "mi325x") return "mi325x-8";
    if (gpu == "mi355x") return "mi355x-8";
    return {};
  }

  void nics(topology::Platform& platform, int gpus_of_type) {
    auto& n = platform.node.nics;
    const auto count = number("nic_count"), rate = number("nic_gbps");
    if (count && rate) {
      n.count = int(*count);
      n.rate = gbit_per_s(*rate);
    } else if (rate) {  // printed for the whole node
      n.count = std::max(1, platform.node.gpus);
      n.rate = gbit_per_s(*rate / n.count);
    } else if (platform.nodes > 1) {
      n.count = std::max(1, n.count * platform.node.gpus / gpus_of_type);
      assume("network", fmt::format("{} × {:.0f} Gb/s (node type)", n.count, as_gbit_per_s(n.rate)));
    }
    const std::string fabric = text("fabric_norm");
    if (fabric == "roce") n.kind = catalog::NicKind::roce;
    if (fabric == "efa") n.kind = catalog::NicKind::efa;
    if (fabric == "omnipath") n.kind = catalog::NicKind::omnipath;
    if (fabric == "ethernet" || fabric == "tcp") n.kind = catalog::NicKind::ethernet;
    platform.fabric.kind = n.kind;
  }

  bool memory_rules(const Job&, const topology::Platform&) { return true; }

  const io::CsvTable& table_;
  const io::CsvRow& row_;
  TrainingRow out_;
  double batch_scale_ = 1;
  int out_layers_ = int(number("layers").value_or(0));
};

}  // namespace

TrainingRow training_row(const io::CsvTable& table, const io::CsvRow& row) { return RowReader(table, row).read(); }

std::string inference_rule() {
  return "A row becomes the ready-made HGX (or NVL72) node of its GPU with the stated GPUs a node and NICs. Not stated: ffn = 4 × hidden, "
         "or 8/3 × hidden where the "
         "family gates; vocabulary, gating, norm and positions from the model family's name; precision bf16 from Ampere on, fp16 before; "
         "sharding as the framework's "
         "habit; micro-batch 1; Megatron on A100 without FlashAttention unless the row names it; recomputation the least that fits the "
         "memory; NICs those of the node type.";
}

}  // namespace trunkline::validate
