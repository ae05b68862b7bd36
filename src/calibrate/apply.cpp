#include <fmt/format.h>

#include "calibrate/values.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::calibrate {
namespace {

// Why a value does not belong on the platform; empty = it does.
std::string misfit(const Calibration& c, const ValueKind& kind, const topology::Platform& platform) {
  const std::string& gpu = platform.node.gpu.id;
  if (kind.needs == Needs::same_gpu && !c.gpu.empty() && c.gpu != gpu) return fmt::format("measured on {}, not on {}", c.gpu, gpu);
  if (!has_place(platform, kind)) return "the platform has no such part";
  const std::string nic = topology::name_of(platform.node.nics.kind);
  if (kind.needs == Needs::same_nic && !c.nic.empty() && c.nic != nic) return fmt::format("measured on {} cards, not on {}", c.nic, nic);
  return {};
}

std::string origin_of(const Calibration& c, const Measured& m) {
  std::string out = m.from.empty() ? c.file : m.from;
  if (m.n > 0) out += fmt::format(", n {}", m.n);
  return out.empty() ? "measured" : "measured: " + out;
}

constexpr const char* kDefaults[] = {"kernels", "links", "pcie", "nics", "storage", "ingest"};

// Groups of which nothing was measured, in one line.
std::string kept(const Calibration& c, const topology::Platform& platform) {
  std::string out;
  for (const char* group : kDefaults) {
    const std::string prefix = std::string(group) + ".";
    bool measured = false, placed = false;
    for (const ValueKind& kind : value_kinds()) {
      if (!kind.key.starts_with(prefix)) continue;
      measured = measured || c.find(kind.key);
      placed = placed || has_place(platform, kind);
    }
    if (placed && !measured) out += (out.empty() ? "" : ", ") + std::string(group);
  }
  return out;
}

}  // namespace

Result<Applied> apply(const Calibration& c, const topology::Platform& platform) {
  Applied out{platform, kernels::Efficiencies::default_for(platform.node.gpu)};
  auto& assumed = out.platform.assumed;
  const bool same_gpu = c.gpu.empty() || c.gpu == platform.node.gpu.id;
  if (c.kernels && same_gpu) {
    TRUNKLINE_ASSIGN(efficiencies, kernels::with_measured(out.efficiencies, *c.kernels));
    out.efficiencies = efficiencies;
  }
  for (const Measured& m : c.values) {
    const ValueKind& kind = *kind_of(m.key);
    if (const std::string why = misfit(c, kind, platform); !why.empty()) {
      assumed.emplace_back("calibration", fmt::format("{} is not used: {}", m.key, why));
      continue;
    }
    if (!m.key.starts_with("kernels.")) kind.put(out, m.value);
    assumed.emplace_back(m.key, fmt::format("{} ({})", shown_text(kind, m.value), origin_of(c, m)));
  }
  if (const std::string rest = kept(c, platform); !rest.empty())
    assumed.emplace_back("calibration", "nothing measured of " + rest + ": catalogued values");
  return out;
}

}  // namespace trunkline::calibrate
