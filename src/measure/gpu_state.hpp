// A GPU as its driver describes it: part of what a measurement writes down about the machine.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace trunkline::measure {

// What changes while it works. Absent = the driver does not say.
struct GpuReading {
  std::optional<double> sm_clock_hz, memory_clock_hz;
  std::optional<double> power_w, temperature_c;
  std::optional<int> pcie_generation, pcie_width;  // as the link runs at this moment: an idle one may be slower
  std::vector<std::string> throttle = {};          // why the clock is held down: "power cap", "thermal", …

  bool operator==(const GpuReading&) const = default;
};

struct GpuState {
  int index = 0;                // as the driver counts
  std::string name, uuid, pci;  // "NVIDIA H200", "GPU-…", "0000:18:00.0"
  std::optional<std::int64_t> memory_bytes;
  std::optional<int> pcie_generation, pcie_width;    // at most, in this slot
  std::optional<double> sm_clock_hz, power_limit_w;  // at most
  std::optional<bool> ecc;
  std::optional<int> links_up;  // NVLinks
  GpuReading before, after;     // of the whole run

  bool operator==(const GpuState&) const = default;
};

}  // namespace trunkline::measure
