#include "validate/storage_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "predict/epoch.hpp"
#include "stats/summary.hpp"
#include "validate/columns.hpp"

namespace trunkline::validate {
namespace {

// What an emulated accelerator does in MLPerf Storage v1.0, and which share of its time it must compute in a valid result
// (mlcommons/storage: configs/dlio/workload/*.yaml).
struct Emulation {
  std::string_view workload, accelerator;
  double batch, compute_s, utilisation;
};

constexpr Emulation kEmulations[] = {{"unet3d", "a100", 7, 0.636, 0.9},      {"unet3d", "h100", 7, 0.323, 0.9},
                                     {"resnet50", "a100", 400, 0.435, 0.9},  {"resnet50", "h100", 400, 0.224, 0.9},
                                     {"cosmoflow", "a100", 1, 0.00551, 0.7}, {"cosmoflow", "h100", 1, 0.0035, 0.7}};

const Emulation* emulation_of(std::string_view workload, std::string_view accelerator) {
  for (const Emulation& known : kEmulations) {
    if (known.workload == workload && known.accelerator == accelerator) return &known;
  }
  return nullptr;
}

// Bounds that hold 80 % of measured / predicted of the committed table.
struct Spread {
  double low, high;
};
constexpr Spread kIngest{0.935, 1.07}, kTransfer{0.8, 1.25};

// What one node may read or write a second, wide of anything built.
constexpr double kSlowestNode = 1e5, kFastestNode = 1e13;

// The numbers of one row.
struct Entry {
  StorageRow row;
  std::string workload, accelerator, submitter, store;
  double accelerators = 0, batch = 0, compute_s = 0, samples_s = 0;
  double clients = 0, gpus = 0, parameters = 0, bytes = 0, time_s = 0;

  bool ingest() const { return row.kind == "ingest"; }
  bool checkpoint() const { return row.kind == "checkpoint write" || row.kind == "checkpoint read"; }
};

// "Megatron+DeepSpeed GPT 181B" → 181e9; 0 without such a word.
double parameters_in(std::string_view name) {
  for (const auto word : split(name, ' ')) {
    if (word.size() < 2 || word.back() != 'B') continue;
    if (const auto number = parse_number(word.substr(0, word.size() - 1))) return *number * 1e9;
  }
  return 0;
}

// Of the checkpoints that the named framework writes.
double bytes_of_parameter(const std::string& workload) {
  const std::string name = lower(workload);
  workload::Job job;
  job.framework = name.find("deepspeed") != std::string::npos ? workload::Framework::megatron_deepspeed
                  : name.find("fsdp") != std::string::npos    ? workload::Framework::pytorch_fsdp
                                                              : workload::Framework::megatron;
  job.precision.parameters = workload::parameter_habit(job.framework, job.precision.compute);
  job.model = *workload::builtin_model("llama-2-7b");  // any model: the state is proportional to what is trained
  return workload::checkpoint_bytes(job) / job.model.parameters();
}

Entry entry_of(const io::CsvTable& table, const io::CsvRow& row) {
  const auto text = [&](const char* column) -> const std::string& { return table.cell(row, column); };
  const auto number = [&](const char* column) { return parse_number(text(column)).value_or(0); };
  Entry e;
  e.row.id = row_name(table, row);
  e.row.file = table.file();
  e.row.table = table_name(table, row);
  e.row.kind = text("kind");
  e.row.system = text("system");
  e.row.line = row.line;
  e.row.skipped_reason = unreadable_cell(TableKind::storage, table, row);
  e.workload = text("workload");
  e.accelerator = lower(text("accelerator_emulated"));
  e.submitter = std::string(trim(split(e.row.system, '/').front()));
  e.store = e.row.table + "/" + text("storage");
  e.accelerators = number("num_accelerators");
  e.batch = number("batch_size");
  e.compute_s = number("compute_time_s");
  e.samples_s = number("samples_s");
  e.clients = number("clients");
  e.gpus = number("gpus");
  e.bytes = number("size_bytes");
  e.parameters = parameters_in(e.workload);
  e.time_s = number("time_s");
  if (e.time_s <= 0 && e.bytes > 0 && number("GB_s") > 0) e.time_s = e.bytes / (number("GB_s") * 1e9);
  return e;
}

class Table {
 public:
  explicit Table(const io::CsvTable& table) {
    for (const auto& line : table.rows()) entries_.push_back(entry_of(table, line));
    for (Entry& e : entries_) {
      if (!e.row.predicted()) continue;
      if (e.ingest())
        emulate(e);
      else
        transfer(e);
    }
  }

  std::vector<StorageRow> predicted() {
    for (Entry& e : entries_) {
      if (!e.row.predicted()) continue;
      if (e.ingest())
        predict_ingest(e);
      else
        predict_transfer(e);
      if (!e.row.predicted()) continue;
      const Spread& spread = e.ingest() ? kIngest : kTransfer;
      e.row.set_prediction(e.row.predicted_s, spread.low, spread.high);
      e.row.judged = e.row.eligible && e.row.predicted();
    }
    std::vector<StorageRow> rows;
    for (Entry& e : entries_) rows.push_back(std::move(e.row));
    return rows;
  }

 private:
  static void skip(Entry& e, std::string why) { e.row.skipped_reason = std::move(why); }
  // For rows that lack what a prediction needs, or are of a kind that nothing predicts: not eligible.
  static void leave_out(Entry& e, std::string why) {
    e.row.eligible = false;
    skip(e, std::move(why));
  }
  static void assume(Entry& e, const char* what, std::string taken) { e.row.assumed.emplace_back(what, std::move(taken)); }

  static void emulate(Entry& e) {
    if (e.samples_s <= 0) return leave_out(e, "samples_s: not stated");
    if (e.accelerator.empty()) return leave_out(e, "accelerator_emulated: not stated, so that what a step computes is not known");
    if (e.accelerators <= 0) return leave_out(e, "num_accelerators: not stated");
    if (e.batch <= 0 || e.compute_s <= 0) {
      const Emulation* known = emulation_of(e.workload, e.accelerator);
      if (!known) {
        return skip(e, fmt::format("workload, accelerator_emulated: what a step of {} on {} computes is not known, and batch_size and "
                                   "compute_time_s are not stated",
                                   excerpt(e.workload, 40), excerpt(e.accelerator, 40)));
      }
      e.batch = known->batch;
      e.compute_s = known->compute_s;
      assume(e, "emulation", fmt::format("{} samples in {} s (MLPerf Storage v1.0)", e.batch, e.compute_s));
    }
    e.row.measured_s = e.accelerators * e.batch / e.samples_s;
    const double computed = e.row.measured_s / e.compute_s;
    if (computed < 0.5 || computed > 1000) {
      skip(e, fmt::format(
                  "samples_s: {:g} with num_accelerators {:g} of batch_size {:g} would be steps of {} times the compute_time_s of {:g}",
                  e.samples_s, e.accelerators, e.batch, significant(computed), e.compute_s));
    }
  }

  static void transfer(Entry& e) {
    const std::string_view kinds[] = {"checkpoint write", "checkpoint read", "IOR write", "IOR read"};
    if (e.row.kind == "checkpoint stall")
      return leave_out(e, "kind: a checkpoint stall is not predicted without the GPUs, bytes and rates that it comes from");
    if (std::find(std::begin(kinds), std::end(kinds), e.row.kind) == std::end(kinds)) {
      e.row.eligible = false;
      return skip(e, cell_problem("kind", e.row.kind,
                                  "is not modelled; expected ingest, checkpoint write, checkpoint read, IOR write or IOR read"));
    }
    if (e.time_s <= 0) return leave_out(e, "time_s: not stated, nor size_bytes with GB_s");
    if (e.bytes <= 0 && e.checkpoint() && e.parameters > 0) {
      const double each = bytes_of_parameter(e.workload);
      e.bytes = each * e.parameters;
      assume(e, "size", fmt::format("{:.0f} bytes a parameter", each));
    }
    if (e.bytes <= 0) return leave_out(e, "size_bytes: not stated, nor a model's size (workload: \"… GPT 25B\")");
    if (e.clients <= 0) return leave_out(e, "clients: number of nodes not stated");
    const double each = e.bytes / e.time_s / e.clients;
    if (each < kSlowestNode || each > kFastestNode) {
      return skip(
          e, fmt::format(
                 "size_bytes, time_s, clients: {:g} bytes in {:g} s by {:g} nodes is not a rate of file systems; expected {} to {} a node",
                 e.bytes, e.time_s, e.clients, to_text(byte_per_s(kSlowestNode)), to_text(byte_per_s(kFastestNode))));
    }
    e.row.measured_s = e.time_s;
  }

  // Waits of other submitters as a share of the compute time.
  std::vector<double> waits(const Entry& e, bool same_accelerator) const {
    std::vector<double> shares;
    for (const Entry& other : entries_) {
      if (!other.row.predicted() || !other.ingest() || other.submitter == e.submitter || other.workload != e.workload) continue;
      if (same_accelerator && other.accelerator != e.accelerator) continue;
      shares.push_back(other.row.measured_s / other.compute_s - 1);
    }
    return shares;
  }

  void predict_ingest(Entry& e) const {
    std::vector<double> shares = waits(e, true);
    if (shares.empty()) shares = waits(e, false);
    double share = 0;
    if (!shares.empty()) {
      share = std::max(0.0, stats::median(shares));
      assume(e, "data_wait", fmt::format("{:.1f} % of the compute time ({} rows of other submitters)", 100 * share, shares.size()));
    } else if (const Emulation* known = emulation_of(e.workload, e.accelerator)) {
      share = 1 / known->utilisation - 1;
      assume(e, "data_wait", fmt::format("{:.1f} % of the compute time (the most that a valid result may show)", 100 * share));
    }
    e.row.predicted_s = e.compute_s + predict::data_wait_s(e.compute_s, e.compute_s * (1 + share));
  }

  // Copies of the model that `e` holds. One takes as many GPUs as it must: no GPU holds more of a state than the fullest of this
  // file system's rows does.
  double copies_of(const Entry& e) const {
    double fullest = e.bytes / e.gpus;
    for (const Entry& other : entries_) {
      if (other.checkpoint() && other.row.predicted() && other.store == e.store && other.gpus > 0)
        fullest = std::max(fullest, other.bytes / other.gpus);
    }
    return std::clamp(std::round(e.gpus * fullest / e.bytes), 1.0, e.gpus);
  }

  int writers(const Entry& e) const {
    if (!e.checkpoint() || e.gpus <= 0) return int(e.clients);
    topology::Platform platform;
    platform.nodes = int(e.clients);
    platform.node.gpus = int(std::max(1.0, e.gpus / e.clients));
    workload::Parallelism parallelism;
    parallelism.tp = platform.node.gpus;
    parallelism.dp = int(copies_of(e));
    parallelism.pp = std::max(1, int(std::round(e.gpus / parallelism.dp / platform.node.gpus)));
    return predict::writing_nodes(parallelism, platform);
  }

  void predict_transfer(Entry& e) const {
    std::vector<double> rates;
    for (const Entry& other : entries_) {
      if (&other == &e || !other.row.predicted() || other.store != e.store || other.row.kind != e.row.kind) continue;
      rates.push_back(other.bytes / other.time_s / writers(other));
    }
    if (rates.empty()) return leave_out(e, "storage: no other row of this table_id states a rate of this file system in this direction");
    const double rate = stats::median(rates);
    const int nodes = writers(e);
    assume(e, "rate", fmt::format("{} a node ({} other rows), {} of {} nodes", to_text(byte_per_s(rate)), rates.size(), nodes, e.clients));
    e.row.predicted_s = e.bytes / (rate * nodes);
  }

  std::vector<Entry> entries_;
};

}  // namespace

Result<std::vector<StorageRow>> validate_storage(const io::CsvTable& table) {
  for (const char* column : {"row_id", "table_id", "kind", "workload", "num_accelerators", "samples_s", "time_s"}) {
    if (!table.has(column)) {
      return bad_input({table.file(), 1}, fmt::format("no column \"{}\"", column),
                       "expected a table of ingest and checkpoint results with the columns of data/published/README.md");
    }
  }
  return Table(table).predicted();
}

StorageSummary summary_of(const std::vector<StorageRow>& rows) {
  StorageSummary out;
  std::map<std::string, std::vector<const Row*>> kinds;
  for (const auto& row : rows) kinds[row.kind].push_back(&row);
  for (const auto& [kind, members] : kinds) out.kinds.push_back(summarise(kind, members));
  out.overall = summarise("all", pointers(rows));
  return out;
}

}  // namespace trunkline::validate
