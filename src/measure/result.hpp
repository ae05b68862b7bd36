// What was measured, under which conditions: the spine between `measure` and everything that reads its results.
//
// Vocabulary: a *probe* (storage.write) yields *metrics*; a metric's name is a quantity, with a point behind @ where one probe
// measures several: "bandwidth", "bandwidth@cold", "busbw@1MiB". (probe, metric) is the key by which two results are compared.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "base/result.hpp"
#include "measure/gpu_state.hpp"
#include "stats/confidence.hpp"
#include "stats/summary.hpp"

namespace trunkline::measure {

constexpr int kSchemaVersion = 1;  // of the result file; keys are added, never renamed

enum class Status {
  ok,
  waived,  // cannot be measured here: `reason` says what is missing
  failed,  // was tried and broke: `reason` says how; samples taken before stay
};

enum class Better { higher, lower };

// A recorded circumstance. Two metrics compare only where the facts agree that decide the outcome.
using Fact = std::variant<bool, std::int64_t, double, std::string>;
struct Condition {
  std::string name;  // a quantity carries its unit in the name: "block_bytes"
  Fact value;
  bool operator==(const Condition&) const = default;
};
using Conditions = std::vector<Condition>;

// The value recorded under `name`, or nullptr.
const Fact* find(const Conditions& conditions, std::string_view name);
void set(Conditions& conditions, std::string name, Fact value);  // adds, or replaces
std::string to_text(const Fact& fact);

// Names of conditions that all backends share, so that results of different tools can be compared.
namespace condition {
inline constexpr char kFsync[] = "fsync";               // bool: inside the time
inline constexpr char kCache[] = "cache";               // "direct" | "cold" | "cached": where reads came from, writes went through
inline constexpr char kBlock[] = "block_bytes";         // one request
inline constexpr char kDepth[] = "depth";               // requests in flight
inline constexpr char kSize[] = "size_bytes";           // of the file, buffer or message that was moved
inline constexpr char kThreads[] = "threads";           //
inline constexpr char kRanks[] = "ranks";               //
inline constexpr char kNodes[] = "nodes";               // hosts that take part
inline constexpr char kEngine[] = "engine";             // "io_uring", "pread", "ucx", "nccl": who moved the data
inline constexpr char kVerified[] = "verified";         // bool: the data, or the way it went, was checked
inline constexpr char kStatistic[] = "statistic";       // what one sample is where it is no plain repetition: "mean", "p99"
inline constexpr char kDeviceShare[] = "device_share";  // bytes that the device moved / bytes asked for
inline constexpr char kSourceTool[] = "source_tool";    // of imported results: "fio 3.33"
}  // namespace condition

struct Metric {
  std::string name;
  std::string unit;  // SI: "B/s", "s", "1/s", "FLOP/s"; "1" for a share
  Better better = Better::higher;
  std::vector<double> samples;       // one a repetition, in the order taken
  std::vector<double> warmup = {};   // repetitions before, not counted
  std::optional<double> limit = {};  // what the hardware can give, in the same unit; absent where that is not known
  std::string limit_source = {};     // how it follows from what was detected
  Conditions conditions = {};
  std::string stopped = {};  // why sampling ended: "precise" | "time" | "count" | "interrupted" | "failed"; empty = not known

  std::optional<stats::Summary> summary() const;
  std::optional<double> median() const;
  std::optional<stats::Interval> interval() const;  // 95 %, of the median; absent below six samples
  // median/limit, or limit/median where less is better: 1 = all that the hardware can give.
  std::optional<double> share_of_limit() const;
};

// What else went on while a probe ran. Absent = could not be read here.
struct Contention {
  std::optional<double> steal_share;   // of the CPU time: taken by the hypervisor
  std::optional<double> others_share;  // of the CPU time: used by other processes
  std::optional<double> load_before;   // runnable tasks, mean of the last minute
  bool noticed = false;                // enough to doubt the figures; a warning says why

  bool operator==(const Contention&) const = default;
};

struct ProbeResult {
  std::string name;
  Status status = Status::ok;
  std::string reason;  // empty when ok
  std::vector<Metric> metrics = {};
  Contention contention = {};
  std::vector<std::string> warnings = {};  // what makes the figures doubtful, and what to do
  std::optional<double> duration_s = {};

  const Metric* find(std::string_view metric) const;
};

struct NumaNode {
  int index = 0;
  std::string cpus;  // "0-15,32-47"
  std::int64_t memory_bytes = 0;
  bool operator==(const NumaNode&) const = default;
};

// Where, when, with what. Empty text and absent numbers = not known.
struct Context {
  std::string tool_version, command_line;
  std::string started, finished;  // UTC, "2025-06-01T12:00:00Z"
  std::string host, os, kernel;
  std::string machine;  // product name as the firmware states it
  std::string virtualization;
  std::string cpu;
  std::optional<int> cpus, cores, sockets;
  std::optional<double> cpu_quota;  // CPUs' worth of time that a container is limited to
  std::optional<std::int64_t> memory_bytes;
  std::vector<NumaNode> numa;
  std::string governor;
  std::optional<double> clock_min_hz, clock_max_hz;       // allowed range
  std::optional<double> clock_before_hz, clock_after_hz;  // mean over the CPUs
  std::optional<double> load_before, load_after;
  std::optional<double> steal_share;  // over the whole run
  std::vector<GpuState> gpus;
  std::string driver, cuda, nccl;                                // versions
  std::vector<std::pair<std::string, std::string>> libraries;    // others that took part: {"liburing", "2.3"}
  std::vector<std::pair<std::string, std::string>> environment;  // NCCL_*, UCX_*, OMPI_MCA_* and their like
  std::string topology_hash;                                     // equal = same CPUs, memory nodes and PCI devices
  std::string backend;                                           // "machine", "fake", or the tool that results were imported from
  bool quick = false;
  std::optional<std::uint64_t> seed;

  bool operator==(const Context&) const = default;
};

struct Measurement {
  std::string file;  // where it was read from
  Context context;
  std::vector<ProbeResult> probes;
  bool complete = false;  // false: interrupted, or still running

  const ProbeResult* find(std::string_view probe) const;
};

std::string name_of(Status status);  // as in JSON
std::string name_of(Better better);

// The result file. Numbers are written in the fewest digits that give the same double again; what is absent is null. Derived
// values (median, interval, share) are written for other readers and computed anew from the samples when read.
std::string to_json(const Measurement& measurement);

// Errors name file and line: no result file, a newer schema version, a key of the wrong form. Unknown keys are passed over.
Result<Measurement> measurement_from(std::string_view json, const std::string& file);
Result<Measurement> read_measurement(const std::string& path);

}  // namespace trunkline::measure
