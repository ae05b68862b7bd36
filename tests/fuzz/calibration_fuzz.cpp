// Any text as a calibration file: an error with a message, or values that can be tried on a platform and written.
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
  if (calibrate::to_yaml(*calibration).empty()) std::abort();
  return 0;
}
