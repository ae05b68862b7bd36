#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "base/quantity_text.hpp"

using namespace trunkline;

namespace {

template <class T>
void check(const Result<T>& parsed) {
  if (!parsed && parsed.error().message.empty()) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  check(parse_number(text));
  check(parse_integer(text));
  check(parse_money(text));
  check(parse_flop_rate(text));
  const auto size_value = parse_bytes(text);
  check(size_value);
  if (size_value && (size_value->count() < 0 || !parse_bytes(to_text(*size_value)))) std::abort();
  const auto rate = parse_bandwidth(text);
  check(rate);
  if (rate && (!std::isfinite(rate->si()) || rate->si() < 0 || !parse_bandwidth(to_text(*rate)))) std::abort();
  const auto time = parse_seconds(text);
  check(time);
  if (time && (!std::isfinite(time->si()) || time->si() < 0 || !parse_seconds(to_text(*time)))) std::abort();
  return 0;
}
