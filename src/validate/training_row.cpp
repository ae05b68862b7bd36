#include "validate/training_row.hpp"

#include <fmt/format.h>

#include <cmath>
#include <vector>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "catalog/catalog.hpp"
#include "validate/columns.hpp"
#include "validate/families.hpp"
#include "validate/ideal_step.hpp"
#include "validate/row_reader.hpp"

namespace trunkline::validate {

using workload::Framework;
using workload::Job;
using workload::Sharding;

namespace {

class RowReader : RowReaderOf<TrainingRow> {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : RowReaderOf(TableKind::training, table, row) {}

  TrainingRow read() {
    out_.id = row_name(table_, row_);
    out_.file = table_.file();
    out_.line = row_.line;
    out_.table = table_name(table_, row_);
    out_.gpu = text("gpu_norm");
    out_.framework_name = text("framework_norm").empty() ? "not stated" : text("framework_norm");
    // A table of one's own need not judge its rows.
    out_.eligible = table_.has("dense_eligible") ? text("dense_eligible") == "1" : text("moe") != "1" && text("proxy") != "1";
    out_.exclude_reason = text("exclude_reason");
    Job job;
    topology::Platform platform;
    const bool ok = readable() && measured() && framework(job) && model(job) && training(job) && batch_and_parallelism(job) &&
                    node(platform) && plausible(job, platform);
    if (!ok) return std::move(out_);
    job.assumed.clear();
    out_.job = std::move(job);
    out_.platform = std::move(platform);
    return std::move(out_);
  }

 private:
  std::optional<double> number(std::string_view column) const {
    const auto value = parse_number(text(column));
    return value ? std::optional<double>(*value) : std::nullopt;
  }
  bool mentions(std::string_view word) const {
    for (const char* column : {"model", "framework", "extra", "notes", "optimizer"}) {
      if (lower(text(column)).find(word) != std::string::npos) return true;
    }
    return false;
  }

  bool measured() {
    if (const auto t = number("iter_time_s"))
      out_.measured_s = *t;
    else if (number("tokens_s") && number("global_batch_tokens"))
      out_.measured_s = *number("global_batch_tokens") / *number("tokens_s");
    if (out_.measured_s > 0) return true;
    return skip("iter_time_s: not stated, nor tokens_s with global_batch_tokens");
  }

  bool framework(Job& job) {
    const std::string& stated = text("framework_norm");
    if (stated.empty()) return skip("framework_norm: not stated");
    if (stated == "other") {
      job.framework = Framework::megatron_bridge;
      assume("framework", "named but not modelled: behaves like megatron-bridge");
      return true;
    }
    const auto known = workload::framework_from(stated);
    if (!known)
      return skip(cell_problem("framework_norm", stated, "is not modelled; expected a framework of `trunkline schema job` or other"));
    job.framework = *known;
    return true;
  }

  bool model(Job& job) {
    const auto hidden = number("hidden"), layers = number("layers"), heads = number("heads");
    for (const char* column : {"hidden", "layers", "heads"}) {
      if (!number(column)) return skip(fmt::format("{}: not stated", column));
    }
    if (*heads > *hidden) return skip(cell_problem("heads", text("heads"), "is more than the hidden width of " + text("hidden")));
    const Family& family = family_of(text("model"));
    if (lower(text("model")).find(family.word) == std::string::npos)
      assume("family", fmt::format("{} (the model's name says no other)", family.word));
    workload::Tower t;
    t.name = "decoder";
    t.hidden = std::int64_t(*hidden);
    t.layers = int(*layers);
    t.heads = int(*heads);
    t.kv_heads = int(number("kv_heads").value_or(*heads));
    if (t.heads % t.kv_heads != 0)
      return skip(cell_problem("kv_heads", text("kv_heads"), fmt::format("does not divide the {} heads", t.heads)));
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
    if (!model) return skip(cell_problem("model", text("model"), "has experts (moe) and is not among the built-in models"));
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

  // One copy of the model takes tp · pp · cp GPUs, the others hold further copies.
  bool degrees(workload::Parallelism& p, int gpus) {
    std::vector<std::string> open;
    const auto degree = [&](const char* column) {
      if (!number(column)) open.emplace_back(column);
      return int(number(column).value_or(1));
    };
    p.tp = degree("tp"), p.pp = degree("pp"), p.cp = degree("cp");
    if (!open.empty()) assume("degrees", join(open, ", ") + " 1 (not stated)");
    p.vpp = int(number("vpp").value_or(1)), p.ep = int(number("ep").value_or(1));
    const std::int64_t copy = std::int64_t(p.tp) * p.pp * p.cp;
    if (gpus % copy != 0) return skip(fmt::format("tp, pp, cp: {} × {} × {} does not divide the {} GPUs (gpus)", p.tp, p.pp, p.cp, gpus));
    p.dp = int(gpus / copy);
    if (p.vpp > 1 && p.pp == 1) return skip(cell_problem("vpp", text("vpp"), "needs more than one pipeline stage (pp)"));
    if (std::int64_t(p.dp) * p.cp * p.tp % p.ep != 0)
      return skip(cell_problem("ep", text("ep"),
                               fmt::format("does not divide the {} of a pipeline stage (gpus {}, pp {})", p.dp * p.cp * p.tp, gpus, p.pp)));
    return stated_dp(p, gpus);
  }

  // Some tables count data-parallel ranks within an expert group.
  bool stated_dp(const workload::Parallelism& p, int gpus) {
    const std::string& cell = text("dp");
    if (cell.empty()) return true;
    const auto dp = parse_number(cell);
    if (dp && (*dp == p.dp || *dp * p.ep == p.dp)) return true;
    return skip(
        cell_problem("dp", cell, fmt::format("is not the {} that gpus {}, tp {}, pp {} and cp {} leave", p.dp, gpus, p.tp, p.pp, p.cp)));
  }

  bool batch_and_parallelism(Job& job) {
    const auto gpus = number("gpus"), sequence = number("seq_len");
    if (!gpus) return skip("gpus: not stated");
    if (!sequence) return skip("seq_len: not stated");
    auto& p = job.parallelism;
    if (!degrees(p, int(*gpus))) return false;
    job.batch.sequence = std::int64_t(*sequence);
    auto global = number("global_batch_seqs");
    if (!global && number("global_batch_tokens")) global = *number("global_batch_tokens") / *sequence;
    if (!global) return skip("global_batch_seqs: not stated, nor global_batch_tokens");
    if (const auto tokens = number("global_batch_tokens"); tokens && std::abs(*global * *sequence / *tokens - 1) > 0.01)
      return skip(cell_problem("global_batch_tokens", text("global_batch_tokens"),
                               fmt::format("is not global_batch_seqs {} × seq_len {}", *global, *sequence)));
    job.batch.global = std::int64_t(std::llround(*global));
    if (number("micro_batch")) {
      job.batch.micro = std::int64_t(*number("micro_batch"));
    } else {
      job.batch.micro = 1;
      assume("micro_batch", "1 (not stated)");
    }
    const double per_rank = double(job.batch.global) / p.dp / double(job.batch.micro);
    if (per_rank < 0.999) return skip(too_few_sequences(job));
    if (std::abs(per_rank - std::round(per_rank)) > 1e-6) {
      job.batch.global = std::int64_t(std::llround(per_rank)) * p.dp * job.batch.micro;
      batch_scale_ = *global / double(job.batch.global);
      assume("global_batch", fmt::format("{} (the stated {} does not divide over {} ranks)", job.batch.global, *global, p.dp));
      out_.measured_s /= batch_scale_;
    }
    if (!sharding(job) || !sequence_parallel(job)) return false;
    schedule(p);
    return true;
  }

  // "global_batch_seqs: 8 sequences for 64 data-parallel ranks", and whose ranks these are where dp is not stated.
  std::string too_few_sequences(const Job& job) const {
    const auto& p = job.parallelism;
    std::string ranks = fmt::format("{} data-parallel ranks", p.dp);
    if (text("dp").empty())
      ranks += fmt::format(" (dp is not stated: {} GPUs over tp {}, pp {}, cp {}{})", int(*number("gpus")), p.tp, p.pp, p.cp,
                           text("tp").empty() || text("pp").empty() ? ", where unstated degrees count as 1" : "");
    return fmt::format("global_batch_seqs: {} sequences in micro-batches of {} (micro_batch) are too few for {}", job.batch.global,
                       job.batch.micro, ranks);
  }

  // "1 (yaml default SEQ_PARALLEL=True)", "yes"; the first word counts.
  bool sequence_parallel(Job& job) {
    const std::string stated = lower(text("seq_parallel"));
    const std::string_view word = split(stated, ' ').front();
    job.open.sequence_parallel = stated.empty();
    if (word == "1" || word == "yes" || word == "true")
      job.parallelism.sequence_parallel = true;
    else if (!word.empty() && word != "0" && word != "no" && word != "false")
      return skip(cell_problem("seq_parallel", text("seq_parallel"), "is not known; expected 0, 1, no, yes, false or true"));
    return true;
  }

  // The number behind a word of the free text on sharding: "FSDP=128", "ZeRO-1 over 8 GPUs": the ranks that share one copy.
  std::optional<std::int64_t> shard_group() const {
    const std::string& stated = text("sharding");
    for (const std::string_view word : {"FSDP=", " over "}) {
      const auto at = stated.find(word);
      if (at == std::string::npos) continue;
      const std::string_view rest = std::string_view(stated).substr(at + word.size());
      const auto digits = rest.substr(0, rest.find_first_not_of("0123456789"));
      if (!digits.empty() && digits.size() < 10) return *parse_integer(digits);
    }
    return std::nullopt;
  }

  bool sharding(Job& job) {
    auto& p = job.parallelism;
    if (const auto s = workload::sharding_from(text("sharding_norm"))) {
      p.sharding = *s;
      const auto group = shard_group();
      if (!group || *group == 0) return true;
      if (std::int64_t(p.dp) * p.cp * p.tp % *group != 0)
        return skip(
            cell_problem("sharding", text("sharding"), fmt::format("names a group that does not divide the {} ranks", p.dp * p.cp)));
      p.shard_group = int(*group);
      return true;
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
    return true;
  }

  void schedule(workload::Parallelism& p) {
    const std::string extra = lower(text("extra"));
    if (extra.find("schedule zb-2p") != std::string::npos)
      p.schedule = workload::Schedule::zero_bubble_2p;
    else if (extra.find("schedule zb-1p") != std::string::npos)
      p.schedule = workload::Schedule::zero_bubble_1p;
    else if (extra.find("schedule 1f1b-i") != std::string::npos && p.vpp == 1) {
      p.vpp = std::max(1, (int(*number("layers")) + p.pp - 1) / p.pp);
      assume("vpp", fmt::format("{} (interleaved, each layer its own chunk)", p.vpp));
    }
  }

  bool node(topology::Platform& platform) {
    const std::string gpu = text("gpu_norm");
    if (gpu.empty()) return skip("gpu_norm: empty, as the GPU is not in the catalogue or its form is not stated");
    const std::string type = type_for(gpu);
    if (type.empty()) {
      const bool known = bool(catalog::Catalog::builtin().gpu(gpu));
      return skip(cell_problem("gpu_norm", gpu, known ? "has no ready-made node" : "is not in the catalogue (`trunkline catalog`)"));
    }
    auto node = topology::node_type(type);
    if (!node) return skip(cell_problem("gpu_norm", gpu, node.error().message));
    platform.node = *node;
    const int gpus = int(*number("gpus"));
    const int stated = int(number("gpus_per_node").value_or(platform.node.gpus));
    if (!number("gpus_per_node")) assume("gpus_per_node", fmt::format("{} (node type {})", platform.node.gpus, type));
    const int original = platform.node.gpus;
    platform.node.gpus = std::min(stated, gpus);
    if (gpus % platform.node.gpus != 0)
      return skip(fmt::format("gpus: {} do not fill whole nodes of {} (gpus_per_node)", gpus, platform.node.gpus));
    if (!links_agree(platform.node)) return false;
    platform.nodes = gpus / platform.node.gpus;
    platform.name = text("system");
    platform.fabric.present = platform.nodes > 1;
    nics(platform, original);
    assume("node", type);
    return true;
  }

  // A time that the GPUs cannot have reached, or in which they would have stood still, is a slip of the pen.
  bool plausible(const Job& job, const topology::Platform& platform) {
    if (plausible_step(job, platform, out_.measured_s)) return true;
    const char* column = text("iter_time_s").empty() ? "tokens_s" : "iter_time_s";
    return skip(
        cell_problem(column, text(column),
                     fmt::format("would be {} % of the matrix rate of these gpus (gpu_norm, precision_norm) for this model (hidden, "
                                 "layers, ffn, vocab) and batch (global_batch_seqs, global_batch_tokens, seq_len)",
                                 significant(100 * ideal_step_s(job, platform) / out_.measured_s))));
  }

  // What the row says of the links inside a node must be what the node type has; all of NVLink's forms count as one here.
  bool links_agree(const topology::NodeType& node) {
    const std::string& stated = text("intra_norm");
    if (stated.empty()) return true;
    const bool xgmi = node.gpu_links == topology::GpuLinks::xgmi;
    const bool agree = xgmi ? stated == "xgmi" : stated.starts_with("nv") && stated != "nvlink-bridge";
    return agree || skip(cell_problem("intra_norm", stated, "is not how the GPUs of the node type " + node.id + " are joined"));
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
    if (fabric == "infiniband") n.kind = catalog::NicKind::infiniband;
    if (fabric == "roce") n.kind = catalog::NicKind::roce;
    if (fabric == "efa") n.kind = catalog::NicKind::efa;
    if (fabric == "omnipath") n.kind = catalog::NicKind::omnipath;
    if (fabric == "ethernet" || fabric == "tcp") n.kind = catalog::NicKind::ethernet;
    platform.fabric.kind = n.kind;
  }

  double batch_scale_ = 1;
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
