// Output of nccl-tests and rccl-tests: the text table of every column generation, and the JSON that newer ones write.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

// Half a row: the buffers apart, or the same ("in place"). Rates as printed.
struct NcclFigures {
  double time_s = 0;
  double algbw = 0, busbw = 0;        // bytes/s
  std::optional<std::int64_t> wrong;  // values found wrong; absent = not checked
  std::vector<double> iterations_s;   // JSON with per-iteration times
};

struct NcclRow {
  int line = 0;
  std::int64_t size = 0, count = 0;
  std::string type, redop;
  std::optional<std::int64_t> root;  // -1 where no rank is the root
  std::optional<NcclFigures> out_of_place, in_place;
};

struct NcclDevice {
  int rank = 0;
  std::string host, name;
};

struct NcclTests {
  std::string file;
  std::string collective;  // "all_reduce", from the program's name; empty where the file does not show it
  std::vector<NcclRow> rows;
  std::vector<NcclDevice> devices;
  int ranks = 0;  // 0 = not shown
  int nodes = 0;
  std::optional<std::int64_t> warmup, iterations, validation, graph;
  std::string nccl, cuda;
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_* of the JSON
  std::optional<std::int64_t> out_of_bounds;
  std::optional<double> average_busbw;  // bytes/s
  bool concluded = false;               // its closing lines were seen
  bool redop_column = true;             // the oldest all-gather table has none
  std::vector<Skipped> skipped;
  std::vector<std::string> failures;  // what the program said when it gave up
};

bool is_nccl_tests(std::string_view text);
Result<NcclTests> read_nccl_tests(std::string_view text, const std::string& file);
bool is_nccl_tests_json(std::string_view text);
Result<NcclTests> read_nccl_tests_json(std::string_view text, const std::string& file);

// The collective that the program's name, or else the arithmetic of the rows, says it was. Empty = cannot be told.
std::string collective_of(const NcclTests& tests);

// Probe collective.NAME with busbw@SIZE, time@SIZE and the same in place. A bus bandwidth is worked out anew from the time where the
// number of ranks is known: the table rounds that of small sizes away. Wrong values or no rows make the probe `failed`.
measure::Measurement result_of(const NcclTests& tests);

}  // namespace trunkline::explain::readers
