// Output of nvbandwidth: the text and the JSON.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

struct NvbandwidthTest {
  int line = 0;
  std::string name;                                        // "device_to_device_memcpy_read_ce"
  std::string description;                                 // "memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)"
  std::string status;                                      // "passed", "waived", "failed"
  bool latency = false;                                    // values are seconds, else bytes/s
  std::vector<std::vector<std::optional<double>>> matrix;  // absent: "N/A", and a GPU with itself
  std::optional<double> sum;                               // as printed
  std::string error;
};

struct Nvbandwidth {
  std::string file, version, driver, cuda;
  std::vector<std::string> devices;  // as listed
  std::vector<NvbandwidthTest> tests;
  int unnamed_waived = 0;  // the text says "Waived:" without a name
  std::vector<Skipped> skipped;
};

bool is_nvbandwidth(std::string_view text);
Result<Nvbandwidth> read_nvbandwidth(std::string_view text, const std::string& file);
bool is_nvbandwidth_json(std::string_view text);
Result<Nvbandwidth> read_nvbandwidth_json(std::string_view text, const std::string& file);

// Probe nvbandwidth.TEST with the slowest, mean and added-up pair: bandwidth_min, bandwidth_mean, bandwidth_sum, or for latencies
// latency_max and latency_mean. Each a single figure: nvbandwidth reports the median of its own repetitions.
measure::Measurement result_of(const Nvbandwidth& output);

}  // namespace trunkline::explain::readers
