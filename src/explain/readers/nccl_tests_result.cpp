// What an nccl-tests output says, as a result.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "collectives/collective.hpp"
#include "explain/readers/nccl_tests.hpp"

namespace trunkline::explain::readers {
namespace {

using collectives::Collective;
using measure::Better;

namespace condition = measure::condition;

constexpr Collective kKnown[] = {Collective::all_reduce, Collective::all_gather, Collective::reduce_scatter, Collective::broadcast,
                                 Collective::reduce,     Collective::all_to_all, Collective::send_recv};

std::optional<double> factor_of(const std::string& collective, int ranks) {
  for (Collective c : kKnown) {
    if (collectives::name_of(c) == collective && ranks > 0) return collectives::bus_factor(c, ranks);
  }
  return std::nullopt;
}

constexpr double kRounding = 0.005e9;  // figures are printed with two decimals of GB/s

// Bounds of busbw/algbw that its rounding leaves.
struct Factor {
  double low = 0, high = 0;
};
Factor printed_factor(const NcclFigures& f) {
  const double rounding = std::max(kRounding, 0.0005 * f.algbw);  // three or four digits of large ones
  if (f.algbw <= rounding) return {0, INFINITY};
  return {std::max(0.0, f.busbw - rounding) / (f.algbw + rounding), (f.busbw + rounding) / (f.algbw - rounding)};
}

// Why the figures of a row cannot all be true; empty = they can.
std::string contradiction(const NcclFigures& f, std::int64_t size, std::optional<double> factor) {
  constexpr double kApart = 0.02;
  if (f.time_s <= 0 || size <= 0) return {};
  const double algbw = double(size) / f.time_s;
  if (std::abs(algbw - f.algbw) > kApart * f.algbw + 2 * kRounding)
    return fmt::format("{} bytes in {:.4g} us are {:.4g} GB/s, not {:.4g}", size, f.time_s * 1e6, algbw * 1e-9, f.algbw * 1e-9);
  if (factor && std::abs(f.algbw * *factor - f.busbw) > kApart * f.busbw + 4 * kRounding)
    return fmt::format("algbw {:.4g} GB/s does not go with busbw {:.4g}", f.algbw * 1e-9, f.busbw * 1e-9);
  return {};
}

class Builder {
 public:
  Builder(const NcclTests& tests, measure::ProbeResult& probe)
      : tests_(tests), probe_(probe), collective_(collective_of(tests)), factor_(factor_of(collective_, tests.ranks)) {}

  void add(const NcclRow& row) {
    if (row.size == 0) return;
    if (row.out_of_place) add(row, *row.out_of_place, "");
    if (row.in_place) add(row, *row.in_place, "_in_place");
  }
  std::vector<Skipped> skipped;
  std::int64_t wrong = 0;

 private:
  void add(const NcclRow& row, const NcclFigures& f, const std::string& suffix) {
    std::string why = contradiction(f, row.size, factor_);
    // All-reduce moves at least what it reduces: its factor 2(n − 1)/n is 1 or more from two ranks on.
    if (why.empty() && collective_ == "all_reduce" && !factor_ && f.busbw > 0 && printed_factor(f).high < 1)
      why = fmt::format("an all-reduce with busbw {:.4g} below algbw {:.4g} GB/s", f.busbw * 1e-9, f.algbw * 1e-9);
    if (!why.empty()) {
      skipped.push_back({row.line, why});
      return;
    }
    wrong += f.wrong.value_or(0);
    if (f.time_s <= 0) return;
    const std::string point = "@" + size_label(row.size);
    const auto conditions = conditions_of(row, f);
    const auto times = f.iterations_s.empty() ? std::vector<double>{f.time_s} : f.iterations_s;
    auto& time = metric_in(probe_, "time" + suffix + point, "s", Better::lower, conditions);
    time.samples.insert(time.samples.end(), times.begin(), times.end());
    add_busbw(row, f, times, "busbw" + suffix + point, conditions);
  }

  void add_busbw(const NcclRow& row, const NcclFigures& f, const std::vector<double>& times, const std::string& name,
                 const measure::Conditions& conditions) {
    constexpr double kReadable = 1e9;  // below, two decimals of GB/s are too coarse
    std::vector<double> rates;
    if (factor_ && *factor_ > 0) {
      for (double t : times) rates.push_back(double(row.size) / t * *factor_);
    } else if (f.busbw >= kReadable) {
      rates.push_back(f.busbw);
    }
    if (rates.empty()) return;
    auto& busbw = metric_in(probe_, name, "B/s", Better::higher, conditions);
    busbw.samples.insert(busbw.samples.end(), rates.begin(), rates.end());
  }

  measure::Conditions conditions_of(const NcclRow& row, const NcclFigures& f) const {
    measure::Conditions c;
    measure::set(c, condition::kSize, row.size);
    if (tests_.ranks > 0) measure::set(c, condition::kRanks, std::int64_t(tests_.ranks));
    if (tests_.nodes > 0) measure::set(c, condition::kNodes, std::int64_t(tests_.nodes));
    measure::set(c, condition::kEngine, std::string("nccl"));
    measure::set(c, condition::kVerified, f.wrong.has_value());
    if (f.iterations_s.empty()) measure::set(c, condition::kStatistic, std::string("mean"));
    if (!row.type.empty()) measure::set(c, "datatype", row.type);
    if (tests_.warmup) measure::set(c, "warmup_iterations", *tests_.warmup);
    if (tests_.graph && *tests_.graph > 0) measure::set(c, "graph", true);
    measure::set(c, condition::kSourceTool, std::string("nccl-tests"));
    return c;
  }

  const NcclTests& tests_;
  measure::ProbeResult& probe_;
  std::string collective_;
  std::optional<double> factor_;
};

void set_status(const NcclTests& tests, std::int64_t wrong, measure::ProbeResult& probe) {
  const std::int64_t bad = std::max(wrong, tests.out_of_bounds.value_or(0));
  if (bad > 0)
    probe.reason = fmt::format("{} wrong values: what was moved is not what arrived", bad);
  else if (!tests.failures.empty())
    probe.reason = tests.failures.front();
  else if (probe.metrics.empty())
    probe.reason = "no row of results";
  if (!probe.reason.empty()) probe.status = measure::Status::failed;
  if (tests.ranks == 1) probe.warnings.emplace_back("one rank: nothing was communicated");
  if (!tests.concluded) probe.warnings.emplace_back("the closing lines are missing: the run or the file was cut off");
}

measure::GpuState gpu_named(const std::string& name, int index) {
  measure::GpuState out;
  out.index = index;
  out.name = name;
  return out;
}

std::string machine_text(const NcclTests& tests) {
  if (tests.devices.empty() || tests.devices.front().name.empty()) return {};
  const std::string& name = tests.devices.front().name;
  const bool alike = std::all_of(tests.devices.begin(), tests.devices.end(), [&](const auto& d) { return d.name == name; });
  if (!alike) return "GPUs of different kinds";
  return tests.nodes > 0 ? fmt::format("{} x {}, nodes: {}", tests.ranks, name, tests.nodes) : name;
}

}  // namespace

std::string collective_of(const NcclTests& tests) {
  if (!tests.collective.empty()) return tests.collective;
  double low = 0, high = INFINITY;
  const NcclRow* last = nullptr;
  for (const NcclRow& row : tests.rows) {
    if (!row.out_of_place || row.size == 0) continue;
    const Factor f = printed_factor(*row.out_of_place);
    if (f.low > 1.01) return "all_reduce";  // 2(n − 1)/n: nothing else exceeds 1
    low = std::max(low, f.low), high = std::min(high, f.high);
    last = &row;
  }
  if (!last || low <= 0) return {};  // nothing readable, or one rank
  const bool reduces = !last->redop.empty() && last->redop != "none", rooted = last->root.value_or(-1) >= 0;
  if (rooted) return reduces ? "reduce" : "broadcast";
  if (reduces) return high < 0.995 ? "reduce_scatter" : "";  // (n − 1)/n; close to 1 an all-reduce of two ranks looks the same
  return tests.redop_column ? "" : "all_gather";             // with the column, all-gather and all-to-all look the same
}

measure::Measurement result_of(const NcclTests& tests) {
  measure::Measurement out;
  out.file = tests.file;
  out.context.backend = "nccl-tests";
  out.context.nccl = tests.nccl;
  out.context.cuda = tests.cuda;
  out.context.environment = tests.environment;
  out.context.machine = machine_text(tests);
  if (!tests.devices.empty()) out.context.host = tests.devices.front().host;
  for (const NcclDevice& d : tests.devices) {
    if (d.host == out.context.host) out.context.gpus.push_back(gpu_named(d.name, int(out.context.gpus.size())));
  }
  const std::string collective = collective_of(tests);
  auto& probe = probe_in(out, "collective." + (collective.empty() ? "unnamed" : collective));
  Builder builder(tests, probe);
  for (const NcclRow& row : tests.rows) builder.add(row);
  auto skipped = tests.skipped;
  skipped.insert(skipped.end(), builder.skipped.begin(), builder.skipped.end());
  set_status(tests, builder.wrong, probe);
  if (collective.empty()) probe.warnings.emplace_back("the file does not say which collective it is");
  const auto left_out = warnings_of(skipped, tests.file);
  probe.warnings.insert(probe.warnings.end(), left_out.begin(), left_out.end());
  out.complete = tests.concluded && tests.failures.empty();
  return out;
}

}  // namespace trunkline::explain::readers
