#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "base/quantity_text.hpp"
#include "report/predict_rows.hpp"

namespace trunkline::report {

using predict::Prediction;

namespace {

bool several_platforms(const PredictionSet& set) {
  return std::any_of(set.entries.begin(), set.entries.end(), [&](const auto& e) { return e.platform != set.entries.front().platform; });
}

std::vector<Cell> key_cells(const PredictionEntry& entry) {
  std::vector<Cell> row;
  for (const auto& [key, value] : entry.swept) row.emplace_back(value);
  return row;
}

std::string last_word(const std::string& key) { return key.substr(key.rfind('.') + 1); }

// "8·4·2": tensor, pipeline and data parallel degrees.
std::string degrees(const workload::Parallelism& p) { return fmt::format("{}·{}·{}", p.tp, p.pp, p.dp); }

std::vector<Cell> figures(const Prediction& p, bool tokens) {
  const auto percent = [&](double s) { return significant(100 * s / p.step_s); };
  return {fmt::format("{}", p.gpus),
          degrees(p.job.parallelism),
          fmt::format("{}", p.job.batch.micro),
          significant(p.step_s),
          percent(p.breakdown.compute_s),
          percent(p.breakdown.exposed_comm_s),
          percent(p.breakdown.bubble_s),
          significant(100 * p.mfu),
          grouped(tokens ? p.tokens_per_s : p.samples_per_s),
          significant(as_gib(p.memory.per_gpu)),
          p.memory.fits ? Cell("yes", Tone::good) : Cell("no", Tone::bad)};
}

Table detailed(const PredictionSet& set, bool tokens) {
  Table table;
  const auto right = [](std::string heading) { return Column{std::move(heading), Align::right}; };
  for (const auto& [key, value] : set.entries.front().swept) table.columns.push_back(right(last_word(key)));
  table.keys = int(table.columns.size());
  for (const char* heading :
       {"GPUs", "tp·pp·dp", "micro", "step s", "comp %", "comm %", "bubble %", "MFU %", tokens ? "tokens/s" : "samples/s", "GiB"}) {
    table.columns.push_back(right(heading));
  }
  table.columns.push_back({"fits"});
  for (const auto& entry : set.entries) {
    std::vector<Cell> row = key_cells(entry);
    if (entry.prediction) {
      for (auto& cell : figures(*entry.prediction, tokens)) row.push_back(std::move(cell));
    } else {
      row.resize(table.columns.size() - 1, Cell("–"));
      row.emplace_back("–", Tone::bad);
    }
    table.add(std::move(row));
  }
  return table;
}

struct Metric {
  std::string name, words, unit;
  std::function<std::optional<double>(const Prediction&)> value;
};

std::vector<Metric> metrics(bool tokens) {
  const auto money = [](const Prediction& p) { return p.cost ? std::optional(p.cost->amount) : std::nullopt; };
  return {
      {"throughput", "throughput", tokens ? "tokens/s" : "samples/s",
       [=](const Prediction& p) { return tokens ? p.tokens_per_s : p.samples_per_s; }},
      {"step", "time of a step", "s", [](const Prediction& p) { return p.step_s; }},
      {"mfu", "MFU", "%", [](const Prediction& p) { return 100 * p.mfu; }},
      {"memory", "memory that a GPU needs", "GiB", [](const Prediction& p) { return as_gib(p.memory.per_gpu); }},
      {"scaling", "scaling efficiency", "%", [](const Prediction& p) { return 100 * p.scaling.efficiency; }},
      {"epoch", "time of an epoch", "h", [](const Prediction& p) { return p.epoch ? std::optional(p.epoch->s / 3600) : std::nullopt; }},
      {"job", "time of the whole job", "h",
       [](const Prediction& p) { return p.run ? std::optional(p.run->total_s / 3600) : std::nullopt; }},
      {"cost", "cost of the job", "in its currency", money},
  };
}

Cell metric_cell(const PredictionEntry& entry, const Metric& metric) {
  if (!entry.prediction) return {"impossible", Tone::bad};
  const Prediction& p = *entry.prediction;
  const auto value = metric.value(p);
  if (p.memory.fits || metric.name == "memory") return {value ? grouped(*value) : "–"};
  return {fmt::format("needs {} GiB", significant(as_gib(p.memory.per_gpu))), Tone::bad};
}

// Lines: points of the sweep; columns: platforms.
Table pivot(const PredictionSet& set, bool tokens) {
  const auto known = metrics(tokens);
  auto metric = std::find_if(known.begin(), known.end(), [&](const Metric& m) { return m.name == set.show; });
  if (metric == known.end()) metric = known.begin();
  Table table;
  table.title = fmt::format("{}, {}; where the memory does not suffice, what one GPU needs", metric->words, metric->unit);
  for (const auto& [key, value] : set.entries.front().swept) table.columns.push_back({last_word(key), Align::right});
  table.keys = int(table.columns.size());
  std::vector<std::string> platforms;
  for (const auto& entry : set.entries) {
    if (std::find(platforms.begin(), platforms.end(), entry.platform) != platforms.end()) continue;
    platforms.push_back(entry.platform);
    table.columns.push_back({entry.platform, Align::right, true});
  }
  std::vector<std::vector<std::pair<std::string, std::string>>> points;
  for (const auto& entry : set.entries) {
    auto at = std::find(points.begin(), points.end(), entry.swept);
    if (at == points.end()) {
      points.push_back(entry.swept);
      table.add(key_cells(entry));
      table.rows.back().resize(table.columns.size(), Cell("–"));
      at = points.end() - 1;
    }
    const auto column = std::find(platforms.begin(), platforms.end(), entry.platform) - platforms.begin();
    table.rows[std::size_t(at - points.begin())][std::size_t(table.keys + column)] = metric_cell(entry, *metric);
  }
  return table;
}

// The fewest digits that give the same double again.
std::string exact(double value) { return fmt::format("{}", value); }

}  // namespace

Table sweep_table(const PredictionSet& set) {
  bool tokens = true;
  for (const auto& entry : set.entries) tokens = tokens && (!entry.prediction || counts_tokens(entry.prediction->job));
  return several_platforms(set) || !set.show.empty() ? pivot(set, tokens) : detailed(set, tokens);
}

std::vector<std::string> sweep_metrics() {
  std::vector<std::string> names;
  for (const Metric& metric : metrics(true)) names.push_back(metric.name);
  return names;
}

namespace {

struct DataColumn {
  const char* name;
  std::function<std::string(const Prediction&)> text;
};

DataColumn of(const char* name, double Prediction::* figure) {
  return {name, [=](const Prediction& p) { return exact(p.*figure); }};
}
DataColumn of(const char* name, double predict::Breakdown::* figure) {
  return {name, [=](const Prediction& p) { return exact(p.breakdown.*figure); }};
}

const std::vector<DataColumn>& data_columns() {
  using predict::Breakdown;
  static const std::vector<DataColumn> columns = {
      {"gpus", [](const Prediction& p) { return fmt::format("{}", p.gpus); }},
      of("step_s", &Prediction::step_s),
      {"low_s", [](const Prediction& p) { return exact(p.interval.low_s); }},
      {"high_s", [](const Prediction& p) { return exact(p.interval.high_s); }},
      of("compute_s", &Breakdown::compute_s),
      of("exposed_comm_s", &Breakdown::exposed_comm_s),
      of("bubble_s", &Breakdown::bubble_s),
      of("data_wait_s", &Breakdown::data_wait_s),
      of("checkpoint_s", &Breakdown::checkpoint_s),
      of("other_s", &Breakdown::other_s),
      of("samples_per_s", &Prediction::samples_per_s),
      of("tokens_per_s", &Prediction::tokens_per_s),
      of("tokens_per_s_per_gpu", &Prediction::tokens_per_s_per_gpu),
      of("mfu", &Prediction::mfu),
      of("hfu", &Prediction::hfu),
      {"memory_per_gpu_bytes", [](const Prediction& p) { return fmt::format("{}", p.memory.per_gpu.count()); }},
      {"memory_capacity_bytes", [](const Prediction& p) { return fmt::format("{}", p.memory.capacity.count()); }},
      {"fits", [](const Prediction& p) { return std::string(p.memory.fits ? "true" : "false"); }},
      {"baseline_gpus", [](const Prediction& p) { return fmt::format("{}", p.scaling.baseline_gpus); }},
      {"speedup", [](const Prediction& p) { return exact(p.scaling.speedup); }},
      {"efficiency", [](const Prediction& p) { return exact(p.scaling.efficiency); }},
      {"epoch_s", [](const Prediction& p) { return p.epoch ? exact(p.epoch->s) : std::string(); }},
      {"staging_s", [](const Prediction& p) { return p.epoch ? exact(p.epoch->staging_s) : std::string(); }},
      {"staging_hidden_s", [](const Prediction& p) { return p.epoch ? exact(p.epoch->staging_hidden_s) : std::string(); }},
      {"total_s", [](const Prediction& p) { return p.run ? exact(p.run->total_s) : std::string(); }},
      {"cost", [](const Prediction& p) { return p.cost ? exact(p.cost->amount) : std::string(); }},
      {"storage_cost", [](const Prediction& p) { return p.storage_cost ? exact(p.storage_cost->amount) : std::string(); }},
      {"currency", [](const Prediction& p) { return p.cost ? p.cost->currency : std::string(); }},
      {"checkpoint_best_every_steps",
       [](const Prediction& p) {
         return p.checkpoint && p.checkpoint->best_every_steps > 0 ? exact(p.checkpoint->best_every_steps) : std::string();
       }},
      {"bottleneck_trunk", [](const Prediction& p) { return predict::name_of(p.bottleneck.trunk); }},
      {"bottleneck_link", [](const Prediction& p) { return p.bottleneck.link; }},
      {"bottleneck_share", [](const Prediction& p) { return exact(p.bottleneck.share); }},
  };
  return columns;
}

}  // namespace

Table prediction_data(const PredictionSet& set) {
  Table table;
  table.columns = {{"platform"}};
  for (const auto& [key, value] : set.entries.front().swept) table.columns.push_back({key});
  for (const DataColumn& column : data_columns()) table.columns.push_back({column.name});
  table.columns.push_back({"error"});
  for (const auto& entry : set.entries) {
    std::vector<Cell> row = {entry.platform};
    for (auto& cell : key_cells(entry)) row.push_back(std::move(cell));
    for (const DataColumn& column : data_columns()) row.emplace_back(entry.prediction ? column.text(*entry.prediction) : std::string());
    row.emplace_back(entry.prediction ? std::string() : entry.error.text());
    table.add(std::move(row));
  }
  return table;
}

}  // namespace trunkline::report
