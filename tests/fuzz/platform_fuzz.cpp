// Any text as a platform file: an error or a platform, never a crash; what is accepted can be described.
#include <cstdint>
#include <string_view>

#include "io/value.hpp"
#include "topology/describe.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = trunkline::io::parse_yaml(text, "fuzz.yaml");
  if (!value) return 0;
  const auto platform = trunkline::topology::platform_from(*value);
  if (!platform) return 0;
  const auto description = trunkline::topology::describe(*platform);
  return trunkline::topology::text_rows(description).empty() ? 1 : 0;
}
