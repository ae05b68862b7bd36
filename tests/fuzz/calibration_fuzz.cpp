// Any text as a calibration file: an error with a message, or values that can be used on a platform and written back the same.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "calibrate/calibration.hpp"

using namespace trunkline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const topology::Platform platform = [] {
    topology::Platform p;
    p.node = *topology::node_type("hgx-h100");
    return p;
  }();
  const auto value = io::parse_yaml({reinterpret_cast<const char*>(data), size}, "efficiencies.yaml");
  if (!value) return 0;
  const auto calibration = calibrate::calibration_from(*value);
  if (!calibration) {
    if (calibration.error().message.empty()) std::abort();
    return 0;
  }
  const auto applied = calibrate::apply(*calibration, platform);
  if (!applied && applied.error().message.empty()) std::abort();
  const std::string text = calibrate::to_yaml(*calibration);
  const auto written = io::parse_yaml(text, "again.yaml");
  if (!written) std::abort();
  const auto again = calibrate::calibration_from(*written);
  if (!again || calibrate::to_yaml(*again) != text) std::abort();
  return 0;
}
