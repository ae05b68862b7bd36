// Text with a unit → quantity, and back for people. Units are case-sensitive: b = bit, B = byte;
// k/K, M, G, T, P are decimal, Ki, Mi, Gi, Ti binary.
#pragma once

#include <string>
#include <string_view>

#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline {
inline namespace base {

// Each returns an Error whose message says what was found and which forms are accepted; `where` is left empty for
// the caller to fill. A bare number is refused wherever a unit exists.
Result<double> parse_number(std::string_view text);         // "100e6", "0.94"; finite
Result<std::int64_t> parse_integer(std::string_view text);  // "8", "1e6"; exact
Result<Bytes> parse_bytes(std::string_view text);           // "28.5 KB", "25 MiB"
Result<Bandwidth> parse_bandwidth(std::string_view text);   // "400 Gb/s", "8 GB/s"
Result<Seconds> parse_seconds(std::string_view text);       // "10 min", "4000 h", "130 ns"
Result<FlopRate> parse_flop_rate(std::string_view text);    // "312 TFLOP/s"
Result<Money> parse_money(std::string_view text);           // "12 CNY"

// Three significant digits and a unit that keeps the figure readable.
std::string to_text(Bytes value);
std::string to_text(Bandwidth value);
std::string to_text(Seconds value);
std::string to_text(FlopRate value);
std::string significant(double value, int digits = 3);

}  // namespace base
}  // namespace trunkline
