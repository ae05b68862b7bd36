// Any text as output of nvbandwidth: an error or a result that can be written as one, never a crash.
#include <cstdint>
#include <string_view>

#include "explain/readers/nvbandwidth.hpp"

namespace readers = trunkline::explain::readers;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto output = readers::read_nvbandwidth(text, "fuzz");
  if (output && trunkline::measure::to_json(readers::result_of(*output)).empty()) return 1;
  const auto json = readers::read_nvbandwidth_json(text, "fuzz");
  if (json && trunkline::measure::to_json(readers::result_of(*json)).empty()) return 1;
  return 0;
}
