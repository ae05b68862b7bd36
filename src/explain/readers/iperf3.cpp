#include "explain/readers/iperf3.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

namespace condition = measure::condition;

constexpr double kBit = 1.0 / 8;

std::optional<double> rate_at(const io::Value& end, const char* key) {
  const io::Value* sum = map_at(end, key);
  const auto bits = sum ? number_at(*sum, "bits_per_second") : std::nullopt;
  if (!bits || *bits <= 0) return std::nullopt;
  return *bits * kBit;
}

void read_start(const io::Value& start, Iperf3& out) {
  out.version = excerpt(text_at(start, "version"));
  if (const io::Value* test = map_at(start, "test_start")) {
    out.protocol = excerpt(text_at(*test, "protocol"), 10);
    out.streams = whole_at(*test, "num_streams");
    out.block_bytes = whole_at(*test, "blksize");
    out.reverse = number_at(*test, "reverse").value_or(0) != 0;
  }
}

void read_intervals(const io::Value& root, Iperf3& out) {
  for (const io::Value& item : items_at(root, "intervals")) {
    const io::Value* sum = map_at(item, "sum");
    if (!sum || text_at(*sum, "omitted") == "true") continue;
    const auto bits = number_at(*sum, "bits_per_second"), seconds = number_at(*sum, "seconds");
    if (bits && seconds && *bits >= 0 && *seconds > 0)
      out.intervals.push_back({number_at(*sum, "start").value_or(0), *seconds, *bits * kBit});
    for (const io::Value& stream : items_at(item, "streams")) {
      if (!out.pmtu) out.pmtu = whole_at(stream, "pmtu");
    }
  }
}

void read_end(const io::Value& end, Iperf3& out) {
  out.sent = rate_at(end, "sum_sent");
  out.received = rate_at(end, "sum_received");
  for (const char* key : {"sum_sent", "sum"}) {  // UDP has only "sum"
    const io::Value* sum = map_at(end, key);
    if (!sum) continue;
    if (out.seconds <= 0) out.seconds = number_at(*sum, "seconds").value_or(0);
    if (!out.retransmits) out.retransmits = whole_at(*sum, "retransmits");
    if (!out.sent) out.sent = rate_at(end, key);
  }
  out.congestion = excerpt(text_at(end, "sender_tcp_congestion"), 20);
}

// Intervals as long as most of them are: the last one is often cut.
std::vector<double> full_intervals(const Iperf3& output) {
  double longest = 0;
  for (const auto& i : output.intervals) longest = std::max(longest, i.seconds);
  std::vector<double> out;
  for (const auto& i : output.intervals) {
    if (i.seconds > 0.9 * longest && i.rate > 0) out.push_back(i.rate);
  }
  return out;
}

measure::Conditions conditions_of(const Iperf3& output) {
  measure::Conditions c;
  if (output.block_bytes) measure::set(c, condition::kBlock, *output.block_bytes);
  if (output.streams) measure::set(c, "streams", *output.streams);
  measure::set(c, condition::kEngine, "sockets " + output.protocol);
  measure::set(c, "direction", std::string(output.reverse ? "to the client" : "from the client"));
  measure::set(c, condition::kStatistic, std::string("mean"));
  if (!output.congestion.empty()) measure::set(c, "congestion_control", output.congestion);
  if (output.pmtu && *output.pmtu > 0) measure::set(c, "path_mtu_bytes", *output.pmtu);
  measure::set(c, condition::kSourceTool, output.version);
  return c;
}

}  // namespace

bool is_iperf3(std::string_view text) {
  if (contains(text, "\"intervals\"") && contains(text, "\"bits_per_second\"")) return true;
  return contains(text, "\"iperf 3");  // a run that failed has neither
}

Result<Iperf3> read_iperf3(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(root, json_in(text, file));
  Iperf3 out;
  out.file = file;
  if (const io::Value* start = map_at(root, "start")) read_start(*start, out);
  read_intervals(root, out);
  if (const io::Value* end = map_at(root, "end")) read_end(*end, out);
  out.error = excerpt(text_at(root, "error"), 200);
  return out;
}

measure::Measurement result_of(const Iperf3& output) {
  constexpr double kShort = 1;  // seconds: below, slow start is most of it
  measure::Measurement out;
  out.file = output.file;
  out.context.backend = "iperf3";
  out.complete = output.error.empty() && output.sent.has_value();
  auto& probe = probe_in(out, "network.bandwidth");
  if (!output.error.empty()) {
    probe.status = measure::Status::failed;
    probe.reason = output.error;
  }
  auto samples = full_intervals(output);
  if (samples.empty() && output.sent) samples.push_back(*output.sent);
  if (samples.empty() && output.error.empty()) {
    probe.status = measure::Status::failed;
    probe.reason = "nothing was transferred";
  }
  if (samples.empty()) return out;
  metric_in(probe, "bandwidth@stream", "B/s", measure::Better::higher, conditions_of(output)).samples = samples;
  if (output.seconds > 0 && output.seconds < kShort)
    probe.warnings.push_back(fmt::format("the test took {}: too short to show a bandwidth", to_text(seconds(output.seconds))));
  if (output.sent && !output.received && output.protocol != "UDP") probe.warnings.emplace_back("the receiver reports nothing received");
  return out;
}

}  // namespace trunkline::explain::readers
