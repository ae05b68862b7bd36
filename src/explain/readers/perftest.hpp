// Output of perftest: ib_write_bw, ib_send_bw, ib_read_bw, the same with _lat, and raw_ethernet_*.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

struct PerftestRow {
  int line = 0;
  std::int64_t size = 0, iterations = 0;
  std::map<std::string, double>
      values;  // SI, by column: bw_peak, bw_average, message_rate, t_min, t_max, t_typical, t_avg, t_stdev, p99, p999
};

// One table; a client's and a server's output in one file give two.
struct PerftestTable {
  std::string title;      // "RDMA_Write BW Test"; empty where the file begins later
  std::string operation;  // "write", "read", "send", "atomic", "raw ethernet"; empty = not shown
  bool bidirectional = false;
  std::map<std::string, std::string> facts;  // "Mtu", "Link type", "Device", … as printed
  std::vector<PerftestRow> rows;
};

struct Perftest {
  std::string file;
  std::vector<PerftestTable> tables;
  std::vector<Skipped> skipped;
};

bool is_perftest(std::string_view text);
Result<Perftest> read_perftest(std::string_view text, const std::string& file);

// Probe network.bandwidth with bandwidth@SIZE (the average; the peak is 0 in runs by duration), or network.latency with p50@SIZE, p99@SIZE,
// p99.9@SIZE. What client and server print of one run counts once.
measure::Measurement result_of(const Perftest& output);

}  // namespace trunkline::explain::readers
