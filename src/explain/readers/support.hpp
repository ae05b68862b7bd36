// What the readers of text and JSON outputs share.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "io/value.hpp"
#include "measure/result.hpp"

namespace trunkline::explain::readers {

// A line as its program wrote it: without carriage return, terminal colours and the rank that a launcher put before it
// ("[1,0]<stdout>:", "3: ").
struct Line {
  int number = 0;  // in the file, from 1
  std::string text;
};
std::vector<Line> lines_of(std::string_view text);

std::vector<std::string> words_of(std::string_view line);
bool contains(std::string_view text, std::string_view part);

std::optional<double> number_of(std::string_view text);  // finite; nothing before or after it
std::optional<std::int64_t> whole_number_of(std::string_view text);

inline constexpr std::size_t kMostRows = 10'000;  // of a table; no benchmark prints more, so what follows is no output of one

// A line or cell that was left out, and why.
struct Skipped {
  int line = 0;
  std::string reason;
};
std::vector<std::string> warnings_of(const std::vector<Skipped>& skipped, const std::string& file);

// --- JSON

// The JSON object in `text`, which may have lines of a log before and behind it. Lines keep their numbers.
Result<io::Value> json_in(std::string_view text, const std::string& file);
// Whether the first JSON object in `text` has `key` among its first keys.
bool json_begins_with(std::string_view text, std::string_view key);

// Absent where the key is missing or of another form.
const io::Value* map_at(const io::Value& map, std::string_view key);
std::span<const io::Value> items_at(const io::Value& map, std::string_view key);  // empty as well
std::string text_at(const io::Value& map, std::string_view key);
std::optional<double> number_at(const io::Value& map, std::string_view key);
std::optional<std::int64_t> whole_at(const io::Value& map, std::string_view key);

// --- results

// "64KiB", "1MiB", "40160460B": the largest binary unit that the size is a whole number of.
std::string size_label(std::int64_t bytes);

// The metric `name` of the probe, added where it is new: a figure that a file gives twice is two repetitions.
measure::Metric& metric_in(measure::ProbeResult& probe, const std::string& name, const std::string& unit, measure::Better better,
                           const measure::Conditions& conditions);

measure::ProbeResult& probe_in(measure::Measurement& m, const std::string& name);

}  // namespace trunkline::explain::readers
