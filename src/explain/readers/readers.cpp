#include "explain/readers/readers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"
#include "explain/readers/fio.hpp"
#include "explain/readers/iperf3.hpp"
#include "explain/readers/nccl_tests.hpp"
#include "explain/readers/nvbandwidth.hpp"
#include "explain/readers/perftest.hpp"
#include "explain/readers/ucx_perftest.hpp"
#include "io/files.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Measurement;

bool is_own(std::string_view text) {
  return json_begins_with(text, "context") && contains(text, "\"probes\"") && contains(text, "\"schema_version\"");
}

Result<Measurement> own(std::string_view text, const std::string& file) { return measure::measurement_from(text, file); }

template <auto read>
Result<Measurement> as_result(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(output, read(text, file));
  return result_of(output);
}

// JSON before text, and what names itself before what only looks like something.
constexpr Reader kReaders[] = {
    {"trunkline", "a result file of trunkline measure", is_own, own},
    {"nccl-tests JSON", "nccl-tests -J", is_nccl_tests_json, as_result<read_nccl_tests_json>},
    {"nvbandwidth JSON", "nvbandwidth -j", is_nvbandwidth_json, as_result<read_nvbandwidth_json>},
    {"fio JSON", "fio --output-format=json", is_fio, as_result<read_fio>},
    {"iperf3 JSON", "iperf3 --json", is_iperf3, as_result<read_iperf3>},
    {"nvbandwidth", "nvbandwidth", is_nvbandwidth, as_result<read_nvbandwidth>},
    {"ucx_perftest", "ucx_perftest", is_ucx_perftest, as_result<read_ucx_perftest>},
    {"perftest", "ib_write_bw, ib_read_lat and their like", is_perftest, as_result<read_perftest>},
    {"nccl-tests", "all_reduce_perf and its like (NCCL, RCCL)", is_nccl_tests, as_result<read_nccl_tests>},
};

}  // namespace

std::span<const Reader> all_readers() { return kReaders; }

const Reader* reader_for(std::string_view text) {
  const auto found = std::find_if(std::begin(kReaders), std::end(kReaders), [&](const Reader& r) { return r.recognises(text); });
  return found == std::end(kReaders) ? nullptr : found;
}

Result<Measurement> result_from(std::string_view text, const std::string& file) {
  if (const Reader* reader = reader_for(text)) return reader->read(text, file);
  std::vector<std::string> names;
  for (const Reader& r : kReaders) names.emplace_back(r.shows);
  return bad_input({file, 0}, "no result of a kind that is known", "known are: " + join(names, "; "));
}

Result<Measurement> read_result(const std::string& path) {
  TRUNKLINE_ASSIGN(text, io::read_file(path));
  return result_from(text, path);
}

}  // namespace trunkline::explain::readers
