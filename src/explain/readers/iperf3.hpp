// iperf3 --json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

struct Iperf3Interval {
  double start_s = 0, seconds = 0;
  double rate = 0;  // bytes/s, all streams
};

struct Iperf3 {
  std::string file, version;
  std::string protocol;  // "TCP", "UDP"
  std::string congestion;
  std::string error;
  std::optional<std::int64_t> streams, block_bytes, pmtu, retransmits;
  bool reverse = false;
  double seconds = 0;                     // of the whole test
  std::optional<double> sent, received;   // bytes/s; received absent where the receiver saw nothing
  std::vector<Iperf3Interval> intervals;  // without those omitted by -O
};

bool is_iperf3(std::string_view text);
Result<Iperf3> read_iperf3(std::string_view text, const std::string& file);

// Probe network.bandwidth with bandwidth@stream: one repetition for each full interval. An unfinished last interval does not count.
measure::Measurement result_of(const Iperf3& output);

}  // namespace trunkline::explain::readers
