#include "explain/readers/ucx_perftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Better;

namespace condition = measure::condition;

constexpr double kMib = 1 << 20;     // ucx_perftest's MB
constexpr std::size_t kColumns = 8;  // iterations, three times, two bandwidths, two message rates

// "| Message size: 1048576      |" → "1048576".
std::string boxed_value(std::string_view line, std::string_view label) {
  const auto at = line.find(label);
  if (at == std::string_view::npos) return {};
  std::string_view rest = line.substr(at + label.size());
  rest = rest.substr(0, rest.find('|'));
  return excerpt(trim(rest));
}

std::optional<UcxReport> report_of(const Line& line) {
  std::string_view text = trim(line.text);
  UcxReport out;
  out.line = line.number;
  if (text.starts_with("Final:")) {
    out.final = true;
    text.remove_prefix(6);
  } else if (text.starts_with("[thread")) {
    const auto close = text.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    text.remove_prefix(close + 1);
  }
  const auto words = words_of(text);
  if (words.size() != kColumns) return std::nullopt;
  double v[kColumns];
  for (std::size_t i = 0; i < kColumns; ++i) {
    const auto value = number_of(words[i]);
    if (!value || *value < 0) return std::nullopt;
    v[i] = *value;
  }
  out.iterations = v[0];
  out.time_average_s = v[2] * 1e-6, out.time_overall_s = v[3] * 1e-6;
  out.rate_average = v[4] * kMib, out.rate_overall = v[5] * kMib;
  out.messages_average = v[6], out.messages_overall = v[7];
  return out;
}

// Bytes a message = rate / messages. Both are printed rounded (0.01 MB/s, one message): a power of two between the bounds, or the
// only whole number, is it.
std::optional<std::int64_t> implied_size(const UcxReport& r) {
  constexpr double kRate = 0.005 * kMib, kMessages = 0.5;
  if (r.messages_overall <= kMessages || r.rate_overall <= kRate) return std::nullopt;
  const double low = (r.rate_overall - kRate) / (r.messages_overall + kMessages),
               high = (r.rate_overall + kRate) / (r.messages_overall - kMessages);
  if (!(high < 1e15)) return std::nullopt;
  const auto power = std::int64_t(std::bit_ceil(std::uint64_t(std::ceil(std::max(low, 1.0)))));
  if (double(power) <= high) return power;
  const double whole = std::ceil(low);
  if (whole >= 1 && whole <= high && whole + 1 > high) return std::int64_t(whole);
  return std::nullopt;
}

measure::Conditions conditions_of(const UcxPerftest& output) {
  measure::Conditions c;
  if (output.size_bytes) measure::set(c, condition::kSize, *output.size_bytes);
  measure::set(c, condition::kEngine, std::string("ucx"));
  measure::set(c, condition::kStatistic, std::string("mean"));
  if (!output.test.empty()) measure::set(c, "operation", output.test);
  if (!output.send_memory.empty()) measure::set(c, "send_memory", output.send_memory);
  if (!output.receive_memory.empty()) measure::set(c, "receive_memory", output.receive_memory);
  measure::set(c, condition::kSourceTool, std::string("ucx_perftest"));
  return c;
}

}  // namespace

bool is_ucx_perftest(std::string_view text) { return contains(text, "message rate (msg/s)") && contains(text, "bandwidth (MB/s)"); }

Result<UcxPerftest> read_ucx_perftest(std::string_view text, const std::string& file) {
  UcxPerftest out;
  out.file = file;
  for (const Line& line : lines_of(text)) {
    if (contains(line.text, "latency (usec)")) out.latency = true;
    if (out.test.empty()) out.test = boxed_value(line.text, "Test:");
    if (out.send_memory.empty()) out.send_memory = boxed_value(line.text, "Send memory:");
    if (out.receive_memory.empty()) out.receive_memory = boxed_value(line.text, "Recv memory:");
    if (const auto size = whole_number_of(boxed_value(line.text, "Message size:")); size && *size > 0) out.size_bytes = size;
    const std::string_view text_of_line = trim(line.text);
    if (text_of_line.starts_with('+') || text_of_line.starts_with('|') || out.reports.size() >= kMostRows) continue;
    if (const auto report = report_of(line))
      out.reports.push_back(*report);
    else if (text_of_line.starts_with("[thread") || text_of_line.starts_with("Final:"))
      out.skipped.push_back({line.number, fmt::format("expected {} figures", kColumns)});
  }
  for (auto r = out.reports.rbegin(); r != out.reports.rend() && !out.size_bytes; ++r) out.size_bytes = implied_size(*r);
  return out;
}

measure::Measurement result_of(const UcxPerftest& output) {
  measure::Measurement out;
  out.file = output.file;
  out.context.backend = "ucx_perftest";
  out.complete = std::any_of(output.reports.begin(), output.reports.end(), [](const UcxReport& r) { return r.final; });
  auto& probe = probe_in(out, output.latency ? "network.latency" : "network.bandwidth");
  probe.warnings = warnings_of(output.skipped, output.file);
  const bool whole = std::all_of(output.reports.begin(), output.reports.end(), [](const UcxReport& r) { return r.final; });
  std::vector<double> samples;
  for (const UcxReport& r : output.reports) {
    const double overall = output.latency ? r.time_overall_s : r.rate_overall, average = output.latency ? r.time_average_s : r.rate_average;
    const double value = whole ? overall : average;
    if (value > 0 && (whole || !r.final)) samples.push_back(value);
  }
  if (samples.empty()) {
    probe.status = measure::Status::failed;
    probe.reason = "no row of results";
    return out;
  }
  const std::string point = output.size_bytes ? "@" + size_label(*output.size_bytes) : "";
  const auto better = output.latency ? Better::lower : Better::higher;
  metric_in(probe, (output.latency ? "mean" : "bandwidth") + point, output.latency ? "s" : "B/s", better, conditions_of(output)).samples =
      samples;
  return out;
}

}  // namespace trunkline::explain::readers
