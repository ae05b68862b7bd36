// Measured efficiencies: from results, to and from a file, onto a platform.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/expected.hpp"
#include "io/spec.hpp"
#include "measure/result.hpp"

namespace trunkline::calibrate {

// One measured value. `key` is its place in the file: "links.share", "kernels.matrix.bf16", "storage.volume.write".
struct Measured {
  std::string key;
  double value = 0;                 // SI; a share has no unit
  std::string from;                 // which metrics of which host
  std::size_t n = 0;                // repetitions behind it
  std::optional<double> low, high;  // of several metrics: the least and greatest that they give; of one: its median's 95 % interval

  bool operator==(const Measured&) const = default;
};

// What a result holds on the subject and does not say.
struct Unused {
  std::string metric, reason;
};

struct Calibration {
  std::string file;
  std::string gpu;  // catalogue id of the GPU that kernels, links and slot were measured on
  std::string nic;  // kind of the network cards: "infiniband"
  std::vector<std::string> results;
  std::string host, date, tool_version;
  std::vector<Measured> values;      // in the order of calibration_spec()
  std::optional<io::Value> kernels;  // the block as kernels::with_measured takes it; may hold more than calibrate() finds
  std::vector<Unused> unused;        // not written to the file

  const Measured* find(std::string_view key) const;
};

// What `results`, taken on `platform`, say about its efficiencies. For each value that the model needs and a metric depends on: the value
// with which expected() meets the median; over several metrics the median of these. A metric takes part where at least kDecides of its time
// depends on the value. Kernels are fitted first, then links, then network cards, so that each rests on those before.
// Ignores: what a value does to other metrics; run-to-run spread (low and high show that of the metrics).
// Errors: nothing in the results can be used (with the reasons).
inline constexpr double kDecides = 0.8;
Result<Calibration> calibrate(const std::vector<measure::Measurement>& results, const topology::Platform& platform, Store store);

// --- the file
const io::ObjectSpec& calibration_spec();
std::string to_yaml(const Calibration& calibration);
Result<Calibration> calibration_from(const io::Value& value);
Result<Calibration> read_calibration(const std::string& path);

// --- its use
struct Applied {
  topology::Platform platform;
  kernels::Efficiencies efficiencies;
};

// The platform with measured values in place of its own. Its `assumed` says which, and which it could not use: values of another GPU or
// another kind of network card. What the platform does not have (a volume) is not added.
Result<Applied> apply(const Calibration& calibration, const topology::Platform& platform);

}  // namespace trunkline::calibrate
