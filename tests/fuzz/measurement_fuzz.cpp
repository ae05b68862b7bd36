#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "measure/result.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  namespace measure = trunkline::measure;
  const auto read = measure::measurement_from({reinterpret_cast<const char*>(data), size}, "input.json");
  if (!read) {
    if (read.error().message.empty()) std::abort();  // an error always says what is wrong
    return 0;
  }
  // What was read can be written, and comes back the same.
  const std::string text = measure::to_json(*read);
  const auto again = measure::measurement_from(text, "again.json");
  if (!again || measure::to_json(*again) != text) std::abort();
  return 0;
}
