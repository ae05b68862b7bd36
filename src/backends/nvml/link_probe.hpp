// Internal to this folder.
#pragma once

#include <memory>
#include <span>

#include "backends/nvml/gpus.hpp"
#include "measure/probe.hpp"

namespace trunkline::backends::nvml {

std::unique_ptr<measure::Probe> link_probe();

// What the probe answers for these GPUs. An error of the kind `missing` where no link is to be expected.
struct LinkReport {
  std::vector<measure::Metric> metrics;
  std::vector<std::string> warnings;
};
Result<LinkReport> report_on(std::span<const Gpu> gpus);

}  // namespace trunkline::backends::nvml
