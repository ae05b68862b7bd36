// Output of ucx_perftest: the table of a client or server.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

// What is printed about once a second, and at the end.
struct UcxReport {
  int line = 0;
  bool final = false;
  double iterations = 0;
  double time_average_s = 0, time_overall_s = 0;  // latency (half a round trip), or the sender's time a message
  double rate_average = 0, rate_overall = 0;      // bytes/s
  double messages_average = 0, messages_overall = 0;
};

struct UcxPerftest {
  std::string file;
  std::string test;  // "tag match bandwidth", where the file shows it
  std::string send_memory, receive_memory;
  bool latency = false;                    // the times are latencies
  std::optional<std::int64_t> size_bytes;  // as printed, or as rates and numbers of messages imply
  std::vector<UcxReport> reports;
  std::vector<Skipped> skipped;
};

bool is_ucx_perftest(std::string_view text);
Result<UcxPerftest> read_ucx_perftest(std::string_view text, const std::string& file);

// Probe network.bandwidth with bandwidth@SIZE, or network.latency with mean@SIZE. Each line printed while it ran is one repetition (a
// mean over about a second); without such lines the final one is.
measure::Measurement result_of(const UcxPerftest& output);

}  // namespace trunkline::explain::readers
