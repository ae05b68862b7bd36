#include "backends/nvml/link_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "backends/nvml/library.hpp"
#include "catalog/catalog.hpp"

namespace trunkline::backends::nvml {
namespace {

using measure::Better;
using measure::Metric;

constexpr char kShow[] = "nvidia-smi nvlink -s and -e show every link";

std::optional<int> links_in_catalogue(const std::string& name) {
  const auto gpu = catalog::Catalog::builtin().gpu(name);
  return gpu && (*gpu)->links > 0 ? std::optional((*gpu)->links) : std::nullopt;
}

Metric one(std::string name, std::string unit, Better better, double value) {
  Metric out{std::move(name), std::move(unit), better, {value}};
  out.stopped = "count";
  return out;
}

// The sum over the links that are up, absent where no link says.
template <class Value>
std::optional<double> sum(const Gpu& gpu, Value value) {
  std::optional<double> out;
  for (const Link& link : gpu.links) {
    const std::optional<double> one = link.up ? value(link) : std::nullopt;
    if (one) out = out.value_or(0) + *one;
  }
  return out;
}

void put_errors(const Gpu& gpu, const std::string& who, LinkReport& out) {
  using Count = std::optional<std::uint64_t> LinkErrors::*;
  const auto of = [&](Count count) {
    return sum(gpu, [&](const Link& l) -> std::optional<double> {
      const auto& value = l.errors.*count;
      return value ? std::optional(double(*value)) : std::nullopt;
    });
  };
  const auto total = sum(gpu, [](const Link& l) -> std::optional<double> {
    const auto value = l.errors.total();
    return value ? std::optional(double(*value)) : std::nullopt;
  });
  if (!total) return;
  Metric errors = one("errors@" + who, "1", Better::lower, *total);
  const std::pair<const char*, Count> kinds[] = {{"replays", &LinkErrors::replay},
                                                 {"recoveries", &LinkErrors::recovery},
                                                 {"crc_flit_errors", &LinkErrors::crc_flit},
                                                 {"crc_data_errors", &LinkErrors::crc_data}};
  for (const auto& [name, count] : kinds) {
    if (const auto value = of(count)) measure::set(errors.conditions, name, std::int64_t(*value));
  }
  out.metrics.push_back(std::move(errors));
  for (const Link& link : gpu.links) {
    if (link.errors.total().value_or(0) > 0)
      out.warnings.push_back(
          fmt::format("{}: link {} has counted {} errors since the driver was loaded: if the count rises under load, "
                      "the cable, board or switch port is bad; {}",
                      who, link.index, *link.errors.total(), kShow));
  }
}

void put(const Gpu& gpu, LinkReport& out) {
  const std::string who = fmt::format("gpu{}", gpu.state.index);
  const auto expected = links_in_catalogue(gpu.state.name);
  Metric up = one("links_up@" + who, "1", Better::higher, gpu.links_up());
  if (expected) {
    up.limit = *expected;
    up.limit_source = "links of the catalogue";
  }
  const auto first = std::find_if(gpu.links.begin(), gpu.links.end(), [](const Link& l) { return l.up; });
  if (first != gpu.links.end()) measure::set(up.conditions, "remote", name_of(first->remote));
  out.metrics.push_back(std::move(up));
  const auto line = sum(gpu, [](const Link& l) { return l.line ? std::optional(l.line->si()) : std::nullopt; });
  if (line) out.metrics.push_back(one("line_rate@" + who, "B/s", Better::higher, *line));
  put_errors(gpu, who, out);
  const int wanted = expected.value_or(int(gpu.links.size()));
  if (gpu.links_up() < wanted)
    out.warnings.push_back(
        fmt::format("{}: {} of {} NVLinks are up: everything between GPUs is slower by as much; {}", who, gpu.links_up(), wanted, kShow));
}

class LinkProbe : public measure::Probe {
 public:
  std::string name() const override { return "gpu.nvlink"; }
  std::string answers() const override { return "which NVLinks are up, how fast they are signalled, and whether they make errors"; }
  std::string needs() const override { return "GPUs with NVLink, NVIDIA's driver"; }

  Result<measure::Estimate> estimate(const measure::Settings&, Seconds) const override {
    TRUNKLINE_ASSIGN(report, now());
    measure::Estimate out;
    out.time = milliseconds(100);
    out.note = "reads counters, moves nothing";
    return out;
  }

  Result<void> run(const measure::Settings&, measure::Sampler& sampler) override {
    TRUNKLINE_ASSIGN(report, now());
    sampler.metrics() = std::move(report.metrics);
    for (std::string& warning : report.warnings) sampler.warn(std::move(warning));
    return {};
  }

 private:
  static Result<LinkReport> now() {
    TRUNKLINE_ASSIGN(opened, library());
    TRUNKLINE_ASSIGN(found, gpus(*opened));
    return report_on(found);
  }
};

}  // namespace

Result<LinkReport> report_on(std::span<const Gpu> gpus) {
  const auto lacking = [](std::string what) { return fail({ErrorKind::missing, std::move(what), {}, {}}); };
  if (gpus.empty()) return lacking("the driver shows no GPU");
  const int up = std::accumulate(gpus.begin(), gpus.end(), 0, [](int sum, const Gpu& gpu) { return sum + gpu.links_up(); });
  const bool linked = std::any_of(gpus.begin(), gpus.end(),
                                  [](const Gpu& gpu) { return !gpu.links.empty() || links_in_catalogue(gpu.state.name).value_or(0) > 0; });
  if (!linked) return lacking(fmt::format("{} has no NVLink", gpus[0].state.name));
  // One GPU by itself, as in many virtual machines, has nobody to be linked to. Of several, silence would hide a fault.
  if (gpus.size() == 1 && up == 0) return lacking("none of this GPU's NVLinks is up: it stands alone in this machine");
  LinkReport out;
  for (const Gpu& gpu : gpus) put(gpu, out);
  return out;
}

std::unique_ptr<measure::Probe> link_probe() { return std::make_unique<LinkProbe>(); }

}  // namespace trunkline::backends::nvml
