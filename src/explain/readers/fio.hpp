// fio --output-format=json.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/readers/support.hpp"

namespace trunkline::explain::readers {

// One direction of one job (or of a reported group).
struct FioTraffic {
  double bytes = 0, rate = 0, iops = 0;  // bytes, bytes/s, operations/s
  std::optional<double> p50_s, p99_s;    // completion latency
};

struct FioJob {
  int line = 0;
  std::string name;
  std::int64_t group = 0;
  std::string pattern;  // as asked: "read", "randread", "randrw"
  std::string engine;
  std::optional<std::int64_t> block_bytes, depth, jobs, size_bytes;
  std::optional<bool> direct;
  bool invalidate = true;  // the page cache is emptied before
  bool fsync = false;      // its time is part of the writes'
  std::int64_t error = 0;
  std::optional<FioTraffic> read, write;
};

struct Fio {
  std::string file, version;
  std::vector<FioJob> jobs;
};

bool is_fio(std::string_view text);
Result<Fio> read_fio(std::string_view text, const std::string& file);

// "4k" = 4096, "1M", "65536"; fio counts in 1024. Of "4k,8k" (read, write) the first.
std::optional<std::int64_t> fio_size(std::string_view text);

// Probes storage.read, storage.write, storage.random_read, storage.random_write, or storage.mixed where a job does both; with our names of
// metrics. Jobs of one name and group ran at the same time: their rates add up. One figure a job: fio keeps no repetitions.
// What a buffered read was served from is taken as fio's `invalidate` says (cold unless it was turned off).
measure::Measurement result_of(const Fio& output);

}  // namespace trunkline::explain::readers
