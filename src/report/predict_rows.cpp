#include "report/predict_rows.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "base/quantity_text.hpp"

namespace trunkline::report {

using predict::Prediction;

namespace {

struct TimeUnit {
  const char* name = "s";
  double seconds = 1;
  double from = 1;  // smallest value that reads well in it
};

constexpr TimeUnit kStepUnits[] = {{"s", 1, 0.1}, {"ms", 1e-3}};
constexpr TimeUnit kShortUnits[] = {{"min", 60}, {"s", 1}, {"ms", 1e-3}};
constexpr TimeUnit kLongUnits[] = {{"days", 86400}, {"h", 3600}, {"min", 60}, {"s", 1}};

// The largest unit in which every value reads well, unless another then needs more than four digits.
TimeUnit unit_for(std::span<const TimeUnit> units, double smallest, double largest) {
  TimeUnit chosen = units.front();
  for (const TimeUnit& unit : units) {
    if (largest >= 10000 * unit.seconds) break;
    chosen = unit;
    if (smallest >= unit.from * unit.seconds) break;
  }
  return chosen;
}

// Below a thousandth of its unit a figure only says that it is small.
std::string figure(double value) {
  if (std::isinf(value)) return "never ends";
  return value > 0 && value < 0.001 ? "<0.001" : grouped(value);
}

bool left_out(const Prediction& p, const std::string& part);

using Value = std::function<std::optional<double>(const Prediction&)>;
using Words = std::function<std::string(const Prediction&)>;

class ComparisonTable {
 public:
  explicit ComparisonTable(const PredictionSet& set) : set_(set) {
    table_.columns = {{""}, {"unit"}};
    table_.keys = 2;
    for (const auto& entry : set.entries) table_.columns.push_back({entry.platform, Align::right, true});
  }

  // A line is left out where no prediction has a value.
  void words(const std::string& name, const Words& of, Tone tone = Tone::plain) {
    std::vector<Cell> row = {name, ""};
    bool any = false;
    for (const auto& entry : set_.entries) {
      const std::string text = entry.prediction ? of(*entry.prediction) : std::string();
      any |= !text.empty();
      row.emplace_back(text.empty() ? "–" : text, tone);
    }
    if (any) table_.add(std::move(row));
  }

  // `real`: figures that a job which does not fit will never show; they stand in brackets then.
  void number(const std::string& name, const std::string& unit, const Value& of, bool real = true, double scale = 1) {
    std::vector<Cell> row = {name, unit};
    bool any = false;
    for (const auto& entry : set_.entries) {
      const auto value = entry.prediction ? of(*entry.prediction) : std::nullopt;
      any |= value.has_value();
      row.push_back(value ? cell(figure(*value / scale), *entry.prediction, real) : Cell("–"));
    }
    if (any) table_.add(std::move(row));
  }

  void time(const std::string& name, TimeUnit unit, const Value& of) { number(name, unit.name, of, true, unit.seconds); }

  // How fast each is beside the first that fits or, where none does, the first.
  void beside_first(const std::string& name, const Value& rate) {
    const auto usable = [](const PredictionEntry& entry) { return entry.prediction && entry.prediction->memory.fits; };
    const auto first = std::find_if(set_.entries.begin(), set_.entries.end(), usable);
    if (set_.entries.size() < 2 || first == set_.entries.end()) return;
    const double base = *rate(*first->prediction);
    number(name, "x", [&](const Prediction& p) { return std::optional<double>(*rate(p) / base); });
  }

  void percent(const std::string& name, const Value& of) { number(name, "%", of, true, 0.01); }

  // The line `row` says where the platform states too little for `part` of the job: a zero there would look like an answer.
  void not_modelled(const std::string& row, const std::string& part) {
    const auto line =
        std::find_if(table_.rows.begin(), table_.rows.end(), [&](const auto& cells) { return !cells.empty() && cells[0].text == row; });
    if (line == table_.rows.end()) return;
    for (std::size_t i = 0; i < set_.entries.size(); ++i) {
      const auto& p = set_.entries[i].prediction;
      if (p && left_out(*p, part)) (*line)[i + 2] = Cell("not modelled", Tone::bad);
    }
  }

  void range(const std::string& name, TimeUnit unit, const Value& low, const Value& high) {
    std::vector<Cell> row = {name, unit.name};
    for (const auto& entry : set_.entries) {
      if (!entry.prediction)
        row.emplace_back("–");
      else
        row.push_back(cell(grouped(*low(*entry.prediction) / unit.seconds) + " – " + grouped(*high(*entry.prediction) / unit.seconds),
                           *entry.prediction, true));
    }
    table_.add(std::move(row));
  }

  void money(const std::string& name, const std::function<std::optional<Money>(const Prediction&)>& of, bool real) {
    std::vector<Cell> row = {name, ""};
    std::string common;
    bool any = false, same = true;
    for (const auto& entry : set_.entries) {
      const auto money = entry.prediction ? of(*entry.prediction) : std::nullopt;
      if (!money) continue;
      same = same && (!any || common == money->currency);
      common = money->currency;
      any = true;
    }
    if (!any) return;
    if (same) row[1] = common;
    for (const auto& entry : set_.entries) {
      const auto money = entry.prediction ? of(*entry.prediction) : std::nullopt;
      row.push_back(money ? cell(grouped(money->amount) + (same ? "" : " " + money->currency), *entry.prediction, real) : Cell("–"));
    }
    table_.add(std::move(row));
  }

  void fits() {
    std::vector<Cell> row = {"fits", ""};
    for (const auto& entry : set_.entries) {
      if (!entry.prediction)
        row.emplace_back("–");
      else if (entry.prediction->memory.fits)
        row.emplace_back("yes", Tone::good);
      else
        row.emplace_back("no", Tone::bad);
    }
    table_.add(std::move(row));
  }

  TimeUnit unit_of(std::span<const TimeUnit> units, const Value& of) const {
    double smallest = INFINITY, largest = 0;
    for (const auto& entry : set_.entries) {
      const double value = entry.prediction ? of(*entry.prediction).value_or(0) : 0;
      if (value > 0 && std::isfinite(value)) smallest = std::min(smallest, value);
      if (std::isfinite(value)) largest = std::max(largest, value);
    }
    return unit_for(units, smallest, largest);
  }

  bool any(const std::function<bool(const Prediction&)>& has) const {
    return std::any_of(set_.entries.begin(), set_.entries.end(),
                       [&](const auto& entry) { return entry.prediction && has(*entry.prediction); });
  }

  void gap() { table_.gap(); }
  Table take() { return std::move(table_); }

 private:
  static Cell cell(std::string text, const Prediction& p, bool real) {
    if (!real || p.memory.fits) return {std::move(text)};
    return {"(" + text + ")", Tone::dim};
  }

  const PredictionSet& set_;
  Table table_;
};

bool left_out(const Prediction& p, const std::string& part) {
  return std::any_of(p.not_modelled.begin(), p.not_modelled.end(), [&](const auto& pair) { return pair.first == part; });
}

// One figure of an optional part of a prediction.
template <class Part>
Value of(std::optional<Part> Prediction::* part, double Part::* figure) {
  return [=](const Prediction& p) { return p.*part ? std::optional<double>((*(p.*part)).*figure) : std::nullopt; };
}

Value share(double predict::Breakdown::* figure) {
  return [=](const Prediction& p) { return p.breakdown.*figure / p.step_s; };
}

void add_setup(ComparisonTable& t) {
  t.words("GPUs", [](const Prediction& p) { return fmt::format("{}", p.gpus); });
  t.words("parallelism", [](const Prediction& p) { return parallelism_words(p.job); });
  t.words("sharding", [](const Prediction& p) {
    const auto sharding = p.job.parallelism.sharding;
    return sharding == workload::Sharding::none ? std::string("none") : workload::name_of(sharding);
  });
  t.words("recompute", [](const Prediction& p) {
    const std::string name = workload::name_of(p.job.recompute);
    const bool part = p.job.recompute == workload::Recompute::full && p.job.recompute_share < 1;
    return part ? fmt::format("{}, {:.0f} % of layers", name, 100 * p.job.recompute_share) : name;
  });
  t.gap();
}

void add_step(ComparisonTable& t) {
  const Value step = [](const Prediction& p) { return p.step_s; };
  const TimeUnit unit = t.unit_of(kStepUnits, step);
  t.time("step", unit, step);
  t.range(
      "  80 % interval", unit, [](const Prediction& p) { return p.interval.low_s; }, [](const Prediction& p) { return p.interval.high_s; });
  t.percent("  computation", share(&predict::Breakdown::compute_s));
  t.percent("  exposed communication", share(&predict::Breakdown::exposed_comm_s));
  t.percent("  pipeline bubble", share(&predict::Breakdown::bubble_s));
  t.percent("  waiting for data", share(&predict::Breakdown::data_wait_s));
  t.percent("  checkpoint stall", share(&predict::Breakdown::checkpoint_s));
  t.percent("  host and launch gaps", share(&predict::Breakdown::other_s));
  t.not_modelled("  waiting for data", "data");
  t.not_modelled("  checkpoint stall", "checkpoint");
  t.gap();
}

// What the fabric costs, where it was asked for.
void add_fabric(ComparisonTable& t, const PredictionSet& set) {
  std::vector<std::string> kinds;
  for (const auto& entry : set.entries) {
    if (!entry.prediction || !entry.prediction->fabric) continue;
    for (const auto& kind : entry.prediction->fabric->kinds) {
      if (std::find(kinds.begin(), kinds.end(), kind.name) == kinds.end()) kinds.push_back(kind.name);
    }
  }
  const auto of_kind = [](const Prediction& p, const std::string& name) -> const predict::KindUse* {
    if (!p.fabric) return nullptr;
    const auto& all = p.fabric->kinds;
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& kind) { return kind.name == name; });
    return found == all.end() ? nullptr : &*found;
  };
  t.percent("fabric costs, of the step", [](const Prediction& p) {
    return p.fabric ? std::optional<double>((p.fabric->step_s - p.fabric->nic_step_s) / p.step_s) : std::nullopt;
  });
  for (const auto& name : kinds) {
    t.percent("  " + name + " keeps, of its NICs", [&](const Prediction& p) {
      const auto* kind = of_kind(p, name);
      return kind ? std::optional<double>(kind->share) : std::nullopt;
    });
    t.words("    most asked of", [&](const Prediction& p) {
      const auto* kind = of_kind(p, name);
      return kind && !kind->hottest.empty() ? fmt::format("{}: {} x", kind->hottest, significant(kind->asked)) : "";
    });
  }
  if (!kinds.empty()) t.gap();
}

void add_rates(ComparisonTable& t, const PredictionSet& set) {
  bool tokens = true;
  for (const auto& entry : set.entries) tokens = tokens && (!entry.prediction || counts_tokens(entry.prediction->job));
  if (tokens) {
    t.number("throughput", "tokens/s", [](const Prediction& p) { return p.tokens_per_s; });
    t.number("  each GPU", "tokens/s", [](const Prediction& p) { return p.tokens_per_s_per_gpu; });
  } else {
    t.number("throughput", "samples/s", [](const Prediction& p) { return p.samples_per_s; });
    t.number("  each GPU", "samples/s", [](const Prediction& p) { return p.samples_per_s / p.gpus; });
  }
  t.beside_first("  against the first", [](const Prediction& p) { return p.samples_per_s; });
  t.percent("MFU", [](const Prediction& p) { return p.mfu; });
  t.percent("HFU", [](const Prediction& p) { return p.hfu; });
  t.words("scaling against", [](const Prediction& p) {
    const char* s = p.scaling.baseline_gpus == 1 ? "" : "s";
    return fmt::format("{} GPU{}{}", p.scaling.baseline_gpus, s, p.scaling.fits ? "" : " (too small)");
  });
  t.number("  speed-up", "x", [](const Prediction& p) { return p.scaling.speedup; });
  t.percent("  efficiency", [](const Prediction& p) { return p.scaling.efficiency; });
  t.gap();
}

void add_memory(ComparisonTable& t) {
  t.number("memory a GPU needs", "GiB", [](const Prediction& p) { return as_gib(p.memory.per_gpu); }, false);
  t.number("  and has", "GiB", [](const Prediction& p) { return as_gib(p.memory.capacity); }, false);
  t.fits();
}

void add_epoch(ComparisonTable& t) {
  using predict::Epoch;
  using predict::JobTime;
  t.gap();
  const TimeUnit epoch = t.unit_of(kLongUnits, of(&Prediction::epoch, &Epoch::s));
  t.time("epoch", epoch, of(&Prediction::epoch, &Epoch::s));
  t.time("  staging the data", epoch, of(&Prediction::epoch, &Epoch::staging_s));
  t.time("    of it beside training", epoch, [](const Prediction& p) {
    const bool hidden = p.epoch && p.epoch->staging_hidden_s > 0;
    return hidden ? std::optional<double>(p.epoch->staging_hidden_s) : std::nullopt;
  });
  t.not_modelled("  staging the data", "staging");
  t.time("  computation", epoch, of(&Prediction::epoch, &Epoch::compute_s));
  t.time("  synchronisation", epoch, of(&Prediction::epoch, &Epoch::sync_s));
  t.time("  rest", epoch, of(&Prediction::epoch, &Epoch::rest_s));
  t.number("  epochs a week", "", of(&Prediction::epoch, &Epoch::per_week));
  const TimeUnit job = t.unit_of(kLongUnits, of(&Prediction::run, &JobTime::total_s));
  t.time("whole job", job, of(&Prediction::run, &JobTime::total_s));
  t.time("  lost to failures", job, of(&Prediction::run, &JobTime::failure_s));
  t.money("price of an hour", [](const Prediction& p) { return p.hour; }, false);
  t.money("cost of the job", [](const Prediction& p) { return p.cost; }, true);
  t.money("  and of its storage", [](const Prediction& p) { return p.storage_cost; }, true);
}

void add_checkpoint(ComparisonTable& t) {
  using predict::Checkpointing;
  const bool any = t.any([](const Prediction& p) { return p.checkpoint.has_value(); });
  if (!any) return;
  t.gap();
  const Value write = of(&Prediction::checkpoint, &Checkpointing::write_s);
  t.number(
      "checkpoint", "GB",
      [](const Prediction& p) { return p.checkpoint ? std::optional<double>(as_gbytes(p.checkpoint->bytes)) : std::nullopt; }, false);
  t.time("  time to write one", t.unit_of(kShortUnits, write), write);
  t.number(
      "  one every", "steps",
      [](const Prediction& p) { return p.checkpoint ? std::optional<double>(double(p.job.checkpoint->every_steps)) : std::nullopt; },
      false);
  t.number("  best for these failures", "steps", [](const Prediction& p) {
    const bool known = p.checkpoint && p.checkpoint->best_every_steps > 0;
    return known ? std::optional<double>(p.checkpoint->best_every_steps) : std::nullopt;
  });
}

void add_bottleneck(ComparisonTable& t) {
  t.gap();
  t.words("most time goes to", [](const Prediction& p) { return p.bottleneck.link; });
  t.percent("  share of the step", [](const Prediction& p) { return p.bottleneck.share; });
  t.words("weakest trunk line", [](const Prediction& p) {
    return p.bottleneck.weakest_share > 0 ? predict::name_of(p.bottleneck.weakest_trunk) : std::string();
  });
  t.words("  in it", [](const Prediction& p) { return p.bottleneck.weakest_share > 0 ? p.bottleneck.weakest_link : std::string(); });
  t.percent("  share of the step", [](const Prediction& p) { return p.bottleneck.weakest_share; });
}

}  // namespace

std::string grouped(double value) {
  if (std::abs(value) < 9999.5 || std::abs(value) >= 1e15) return significant(value);
  const double unit = std::pow(10.0, std::floor(std::log10(std::abs(value))) - 2);
  std::string text = fmt::format("{:.0f}", std::round(value / unit) * unit);
  for (std::ptrdiff_t at = std::ptrdiff_t(text.size()) - 3; at > (text.front() == '-' ? 1 : 0); at -= 3) text.insert(std::size_t(at), ",");
  return text;
}

bool counts_tokens(const workload::Job& job) {
  return job.model.kind == workload::Model::Kind::causal_lm || job.model.kind == workload::Model::Kind::masked_lm;
}

std::string parallelism_words(const workload::Job& job) {
  const auto& p = job.parallelism;
  std::string out;
  const auto add = [&](const char* name, std::int64_t degree) {
    if (degree > 1) out += fmt::format("{}{} {}", out.empty() ? "" : ", ", name, degree);
  };
  add("tp", p.tp);
  add("pp", p.pp);
  add("vpp", p.vpp);
  add("cp", p.cp);
  add("ep", p.ep);
  add("dp", p.dp);
  out += fmt::format("{}micro {}", out.empty() ? "" : ", ", job.batch.micro);
  return out;
}

Table comparison_table(const PredictionSet& set) {
  ComparisonTable t(set);
  add_setup(t);
  add_step(t);
  add_fabric(t, set);
  add_rates(t, set);
  add_memory(t);
  add_epoch(t);
  add_checkpoint(t);
  add_bottleneck(t);
  return t.take();
}

}  // namespace trunkline::report
