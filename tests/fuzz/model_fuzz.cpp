// Any text as a model configuration (JSON): an error with a message, or a model whose count is a finite positive number.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "workload/model.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = trunkline::io::parse_json({reinterpret_cast<const char*>(data), size}, "config.json");
  if (!value) return 0;
  const auto model = trunkline::workload::model_from(*value, "fuzz");
  if (!model) {
    if (model.error().message.empty()) std::abort();
    return 0;
  }
  const double all = model->parameters(), active = model->active_parameters();
  if (!std::isfinite(all) || all <= 0 || active > all || model->towers.empty()) std::abort();
  return 0;
}
