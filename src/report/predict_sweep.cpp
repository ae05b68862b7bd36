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

Table prediction_data(const PredictionSet& set) {
  Table table;
  table.columns = {{"platform"}};
  for (const auto& [key, value] : set.entries.front().swept) table.columns.push_back({key});
  for (const char* name : {"gpus",
                           "step_s",
                           "low_s",
                           "high_s",
                           "compute_s",
                           "exposed_comm_s",
                           "bubble_s",
                           "data_wait_s",
                           "checkpoint_s",
                           "other_s",
                           "samples_per_s",
                           "tokens_per_s",
                           "tokens_per_s_per_gpu",
                           "mfu",
                           "hfu",
                           "memory_per_gpu_bytes",
                           "memory_capacity_bytes",
                           "fits",
                           "baseline_gpus",
                           "speedup",
                           "efficiency",
                           "epoch_s",
                           "staging_s",
                           "total_s",
                           "cost",
                           "currency",
                           "bottleneck_trunk",
                           "bottleneck_link",
                           "bottleneck_share",
                           "error"}) {
    table.columns.push_back({name});
  }
  for (const auto& entry : set.entries) {
    std::vector<Cell> row = {entry.platform};
    for (auto& cell : key_cells(entry)) row.push_back(std::move(cell));
    if (!entry.prediction) {
      row.resize(table.columns.size());
      row.back() = entry.error.text();
      table.add(std::move(row));
      continue;
    }
    const Prediction& p = *entry.prediction;
    const auto& b = p.breakdown;
    row.emplace_back(fmt::format("{}", p.gpus));
    for (double v : {p.step_s, p.interval.low_s, p.interval.high_s, b.compute_s, b.exposed_comm_s, b.bubble_s, b.data_wait_s,
                     b.checkpoint_s, b.other_s, p.samples_per_s, p.tokens_per_s, p.tokens_per_s_per_gpu, p.mfu, p.hfu}) {
      row.emplace_back(exact(v));
    }
    row.emplace_back(fmt::format("{}", p.memory.per_gpu.count()));
    row.emplace_back(fmt::format("{}", p.memory.capacity.count()));
    row.emplace_back(p.memory.fits ? "true" : "false");
    row.emplace_back(fmt::format("{}", p.scaling.baseline_gpus));
    row.emplace_back(exact(p.scaling.speedup));
    row.emplace_back(exact(p.scaling.efficiency));
    row.emplace_back(p.epoch ? exact(p.epoch->s) : "");
    row.emplace_back(p.epoch ? exact(p.epoch->staging_s) : "");
    row.emplace_back(p.run ? exact(p.run->total_s) : "");
    row.emplace_back(p.cost ? exact(p.cost->amount) : "");
    row.emplace_back(p.cost ? p.cost->currency : "");
    row.emplace_back(predict::name_of(p.bottleneck.trunk));
    row.emplace_back(p.bottleneck.link);
    row.emplace_back(exact(p.bottleneck.share));
    table.add(std::move(row));
  }
  return table;
}

}  // namespace trunkline::report
