#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "io/value.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = trunkline::io::parse_yaml({reinterpret_cast<const char*>(data), size}, "input.yaml");
  if (!value && value.error().message.empty()) std::abort();  // an error always says what is wrong
  return 0;
}
