#include "explain/readers/perftest.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <tuple>

#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Better;

namespace condition = measure::condition;

constexpr double kMib = 1 << 20, kGigabit = 1e9 / 8, kMicro = 1e-6, kMega = 1e6;

// A column of the header, and what one of its unit is. perftest's MB is 2^20 bytes.
struct Column {
  const char *text, *key;
  double unit;
};
constexpr Column kColumns[] = {
    {"#bytes", "size", 1},
    {"#iterations", "iterations", 1},
    {"BW peak[Gb/sec]", "bw_peak", kGigabit},
    {"BW peak[MB/sec]", "bw_peak", kMib},
    {"BW peak[MiB/sec]", "bw_peak", kMib},
    {"BW average[Gb/sec]", "bw_average", kGigabit},
    {"BW average[MB/sec]", "bw_average", kMib},
    {"BW average[MiB/sec]", "bw_average", kMib},
    {"MsgRate[Mpps]", "message_rate", kMega},
    {"t_min[usec]", "t_min", kMicro},
    {"t_max[usec]", "t_max", kMicro},
    {"t_typical[usec]", "t_typical", kMicro},
    {"t_avg[usec]", "t_avg", kMicro},
    {"t_stdev[usec]", "t_stdev", kMicro},
    {"99% percentile[usec]", "p99", kMicro},
    {"99.9% percentile[usec]", "p999", kMicro},
    {"tps average", "message_rate", 1},
};

constexpr const char* kFacts[] = {"Dual-port",      "Device",    "Number of qps", "Transport type",  "Connection type",
                                  "Using SRQ",      "TX depth",  "RX depth",      "CQ Moderation",   "Mtu",
                                  "Link type",      "GID index", "rdma_cm QPs",   "Data ex. method", "Outstand reads",
                                  "Max inline data"};

std::vector<Column> header_of(std::string_view line) {
  std::vector<std::pair<std::size_t, Column>> found;
  for (const Column& c : kColumns) {
    const auto at = line.find(c.text);
    if (at != std::string_view::npos) found.emplace_back(at, c);
  }
  std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Column> out;
  for (auto& [at, column] : found) out.push_back(column);
  if (out.size() < 3 || std::string_view(out.front().key) != "size") return {};
  return out;
}

bool is_title(std::string_view line) {
  return (contains(line, "BW Test") || contains(line, "Latency Test") || contains(line, "Lat Test")) && !contains(line, "|");
}

class TextReader {
 public:
  explicit TextReader(Perftest& out) : out_(out) {}

  void read(const Line& line) {
    const std::string_view text = trim(line.text);
    if (is_title(text)) return begin(text);
    if (const auto columns = header_of(text); !columns.empty()) {
      if (out_.tables.empty() || !out_.tables.back().rows.empty()) out_.tables.emplace_back();
      columns_ = columns;
      return;
    }
    read_facts(text);
    if (columns_.empty() || text.empty()) return;
    const auto words = words_of(text);
    const auto size = whole_number_of(words[0]);
    if (size && *size > 0 && words.size() > 2 && rows_ < kMostRows) read_row(line.number, words);
  }

 private:
  void begin(std::string_view title) {
    PerftestTable table;
    table.title = excerpt(title);
    table.bidirectional = contains(title, "Bidirectional");
    const std::string plain = lower(title);
    for (const char* name : {"write", "read", "send", "atomic"}) {
      if (table.operation.empty() && contains(plain, name)) table.operation = name;
    }
    if (contains(plain, "raw ethernet")) table.operation = "raw ethernet";
    out_.tables.push_back(std::move(table));
    columns_.clear();
  }

  // "Dual-port       : OFF          Device         : mlx5_0"
  void read_facts(std::string_view text) {
    if (!contains(text, ":")) return;
    for (const char* name : kFacts) {
      const auto at = text.find(name);
      if (at == std::string_view::npos) continue;
      std::string_view rest = text.substr(at + std::string_view(name).size());
      const auto colon = rest.find_first_not_of(" \t");
      if (colon == std::string_view::npos || rest[colon] != ':') continue;
      rest = trim(rest.substr(colon + 1));
      const auto end = std::min(rest.find("  "), rest.find('\t'));
      if (out_.tables.empty() || !out_.tables.back().rows.empty()) out_.tables.emplace_back();
      out_.tables.back().facts[name] = excerpt(trim(rest.substr(0, end)));
    }
  }

  void read_row(int line, const std::vector<std::string>& words) {
    if (words.size() < columns_.size()) {
      out_.skipped.push_back({line, fmt::format("{} cells, the table has {} columns", words.size(), columns_.size())});
      return;
    }
    PerftestRow row;
    row.line = line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const auto value = number_of(words[i]);
      if (!value || *value < 0) {
        out_.skipped.push_back({line, fmt::format("\"{}\" is no figure", excerpt(words[i], 20))});
        return;
      }
      const std::string key = columns_[i].key;
      if (key == "size")
        row.size = *whole_number_of(words[i]);
      else if (key == "iterations")
        row.iterations = whole_number_of(words[i]).value_or(0);
      else
        row.values[key] = *value * columns_[i].unit;
    }
    out_.tables.back().rows.push_back(std::move(row));
    ++rows_;
  }

  Perftest& out_;
  std::size_t rows_ = 0;
  std::vector<Column> columns_;
};

// "4096[B]" → 4096.
std::optional<std::int64_t> fact_number(const PerftestTable& table, const char* name) {
  const auto found = table.facts.find(name);
  return found == table.facts.end() ? std::nullopt : whole_number_of(found->second.substr(0, found->second.find('[')));
}

measure::Conditions conditions_of(const PerftestTable& table, const PerftestRow& row, const char* statistic) {
  measure::Conditions c;
  measure::set(c, condition::kSize, row.size);
  if (!table.operation.empty()) measure::set(c, "operation", table.operation);
  if (table.bidirectional) measure::set(c, "direction", std::string("both"));
  measure::set(c, condition::kEngine, std::string("verbs"));
  measure::set(c, condition::kStatistic, std::string(statistic));
  if (const auto pairs = fact_number(table, "Number of qps")) measure::set(c, "queue_pairs", *pairs);
  if (const auto depth = fact_number(table, "TX depth")) measure::set(c, condition::kDepth, *depth);
  if (const auto mtu = fact_number(table, "Mtu")) measure::set(c, "mtu_bytes", *mtu);
  const auto fact = [&](const char* name, const char* key) {
    const auto found = table.facts.find(name);
    if (found != table.facts.end()) measure::set(c, key, found->second);
  };
  fact("Connection type", "connection");
  fact("Device", "device");
  const auto link = table.facts.find("Link type");
  if (link != table.facts.end()) measure::set(c, "link_kind", std::string(link->second == "IB" ? "InfiniBand" : link->second));
  measure::set(c, condition::kSourceTool, std::string("perftest"));
  return c;
}

struct Figure {
  const char *key, *probe, *metric, *statistic, *unit;
  Better better;
};
constexpr Figure kFigures[] = {{"bw_average", "network.bandwidth", "bandwidth", "mean", "B/s", Better::higher},
                               {"t_typical", "network.latency", "p50", "p50", "s", Better::lower},
                               {"p99", "network.latency", "p99", "p99", "s", Better::lower},
                               {"p999", "network.latency", "p99.9", "p99.9", "s", Better::lower}};

}  // namespace

bool is_perftest(std::string_view text) {
  return contains(text, "#bytes") && contains(text, "#iterations") && (contains(text, "[usec]") || contains(text, "/sec]"));
}

Result<Perftest> read_perftest(std::string_view text, const std::string& file) {
  Perftest out;
  out.file = file;
  TextReader reader(out);
  for (const Line& line : lines_of(text)) reader.read(line);
  return out;
}

measure::Measurement result_of(const Perftest& output) {
  measure::Measurement out;
  out.file = output.file;
  out.context.backend = "perftest";
  out.complete = true;
  std::set<std::tuple<std::int64_t, std::int64_t, std::map<std::string, double>>> seen;
  for (const PerftestTable& table : output.tables) {
    for (const PerftestRow& row : table.rows) {
      // The other end's report of the same run is equal to the last digit.
      if (!seen.emplace(row.size, row.iterations, row.values).second) continue;
      for (const Figure& f : kFigures) {
        const auto value = row.values.find(f.key);
        if (value == row.values.end() || value->second <= 0) continue;
        auto& probe = probe_in(out, f.probe);
        const std::string name = f.metric + std::string(table.bidirectional ? "_both_ways" : "") + "@" + size_label(row.size);
        metric_in(probe, name, f.unit, f.better, conditions_of(table, row, f.statistic)).samples.push_back(value->second);
      }
    }
  }
  if (out.probes.empty()) {
    auto& probe = probe_in(out, "network.bandwidth");
    probe.status = measure::Status::failed;
    probe.reason = "no row of results";
  }
  out.probes.front().warnings = warnings_of(output.skipped, output.file);
  return out;
}

}  // namespace trunkline::explain::readers
