#include "backends/nvml/nvml.hpp"

#include <fmt/format.h>

#include "backends/nvml/gpus.hpp"
#include "backends/nvml/library.hpp"
#include "backends/nvml/link_probe.hpp"

namespace trunkline::backends::nvml {
namespace {

void describe(measure::Context& context) {
  const auto opened = library();
  if (!opened) return;
  if (const std::string version = (*opened)->driver_version(); !version.empty()) context.driver = version;
  const auto found = gpus(**opened);
  if (!found) return;
  for (const Gpu& gpu : *found) context.gpus.push_back(gpu.state);
}

void complete(measure::Context& context) {
  for (measure::GpuState& gpu : context.gpus) gpu.after = read_now(gpu.pci);
}

std::vector<measure::Need> needs() {
  measure::Need driver{"NVIDIA driver", "gpu, collective", false, {}, {}};
  const auto opened = library();
  const auto found = opened ? gpus(**opened) : Result<std::vector<Gpu>>(fail(opened.error()));
  if (!found) {
    driver.found = found.error().message;
    driver.fix = found.error().hint;
    return {driver};
  }
  driver.present = !found->empty();
  driver.found = fmt::format("version {}, {} GPUs", (*opened)->driver_version(), found->size());
  if (!driver.present) driver.fix = "the driver runs but shows no GPU: lspci and dmesg say whether one is there";
  return {driver};
}

}  // namespace

measure::Backend backend() {
  measure::Backend out;
  out.name = "nvml";
  out.probes = [] {
    measure::Probes probes;
    probes.push_back(link_probe());
    return probes;
  };
  out.describe = describe;
  out.complete = complete;
  out.needs = needs;
  return out;
}

}  // namespace trunkline::backends::nvml
