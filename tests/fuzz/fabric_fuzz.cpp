// Any text as a fabric file: an error with a message, or a fabric whose traffic, where it is small, can be carried out.
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "io/value.hpp"
#include "network/study.hpp"

using namespace trunkline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto value = io::parse_yaml(text, "fuzz.yaml");
  if (!value) return 0;
  auto file = network::fabric_from(*value, "no/such/folder");
  if (!file) {
    if (file.error().message.empty()) std::abort();
    return 0;
  }
  if (file->fabric->hosts() > 64 || file->fabric->wires() > 2000 || file->traffic.count > 1000 || file->run.queue_pairs > 16) return 0;
  const auto study = network::run_study(std::move(*file));
  if (!study) return 0;
  const auto& run = study->first();
  if (!std::isfinite(run.finish.si()) || !(run.max_utilisation <= 1 + 1e-9) || run.unserved > run.flows) std::abort();
  return 0;
}
