#include "validate/p2p_table.hpp"

#include <fmt/format.h>

#include <cctype>
#include <optional>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/value.hpp"
#include "topology/platform.hpp"
#include "validate/row_reader.hpp"

namespace trunkline::validate {
namespace {

constexpr double kLeastBytes = 4 << 20, kReferenceBytes = 1 << 30;

// What one transfer may show, wide of anything built.
constexpr double kSlowest = 1e5, kFastest = 1e13;

// Bounds that hold 80 % of measured / predicted of the committed table.
constexpr double kLow = 0.9, kHigh = 1.1;

// First fit wins.
struct Host {
  std::string_view system, gpu;  // lower-case words of the two columns
  const char* node;
};
constexpr Host kHosts[] = {{"juwels booster", "a100", "a100-4"},
                           {"", "gb200", "gb200-nvl72"},
                           {"", "h200", "hgx-h200"},
                           {"", "h100", "hgx-h100"},
                           {"", "b200", "hgx-b200"},
                           {"", "a100-sxm4-40gb", "hgx-a100-40"},
                           {"", "a100", "hgx-a100-80"},
                           {"", "v100-sxm2-16gb", "hgx-v100"},
                           {"", "v100", "hgx-v100-32"}};

enum class Ends { gpus, host, nodes };

class RowReader : RowReaderOf<PointToPointRow> {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : RowReaderOf(TableKind::point_to_point, table, row) {}

  PointToPointRow read() {
    out_.id = row_name(table_, row_);
    out_.file = table_.file();
    out_.table = table_name(table_, row_);
    out_.line = row_.line;
    out_.kind = text("kind");
    out_.system = text("system");
    if (readable() && ends() && directions() && measured()) predict();
    return std::move(out_);
  }

 private:
  // "GPU3", "3" → inside a node; "node0" → between nodes.
  static std::optional<Ends> end_of(std::string_view name) {
    const bool node = name.starts_with("node"), gpu = name.starts_with("GPU");
    const auto digits = name.substr(node ? 4 : gpu ? 3 : 0);
    if (digits.empty() || digits.size() > 4 || digits.find_first_not_of("0123456789") != std::string_view::npos) return std::nullopt;
    return node ? Ends::nodes : Ends::gpus;
  }

  bool ends() {
    const std::string kind = lower(out_.kind);
    if (kind.empty()) return leave_out("kind: not stated");
    const auto says = [&](std::string_view word) { return kind.find(word) != std::string::npos; };
    const bool mpi = kind == "osu_bw" || kind == "osu_bibw";
    if (mpi || says("gpu-gpu") || says("p2p intra-server"))
      ends_ = Ends::gpus;
    else if (says("rdma write bandwidth") || says("p2p inter-server"))
      ends_ = Ends::nodes;
    else if (says("host-to-device") || says("device-to-host") || says("h2d") || says("d2h"))
      ends_ = Ends::host;
    else
      return leave_out(cell_problem("kind", out_.kind, "is not a transfer between two GPUs, a GPU and its host, or two nodes"));
    for (const char* column : {"src", "dst"}) {
      if (text(column).empty()) continue;
      const auto end = end_of(text(column));
      if (!end || (!mpi && *end != ends_))
        return leave_out(cell_problem(column, text(column), "is not known; expected a GPU's number, GPU0 … or node0 …"));
      ends_ = *end;
    }
    if (mpi && text("src").empty() != text("dst").empty()) return leave_out("src, dst: one of them is not stated");
    return true;
  }

  bool directions() {
    const std::string stated = lower(text("direction")), kind = lower(out_.kind);
    const bool kind_says_both = kind.find("bidir") != std::string::npos || kind == "osu_bibw";
    if (stated == "bidirectional" || stated == "bidir")
      both_ = true;
    else if (stated == "uni" || stated == "unidirectional")
      both_ = false;
    else if (stated.empty() && ends_ == Ends::gpus && !kind_says_both && !has_word(kind, "uni") && kind != "osu_bw")
      return leave_out("direction: not stated, nor does the kind say whether both are counted together");
    else if (stated.empty())
      both_ = kind_says_both;
    else
      return leave_out(cell_problem("direction", text("direction"), "is not known; expected uni, unidirectional, bidir or bidirectional"));
    if (!stated.empty() && both_ != kind_says_both && (kind_says_both || kind.find("uni") != std::string::npos))
      return skip(cell_problem("direction", text("direction"), "contradicts the kind \"" + excerpt(out_.kind, 40) + "\""));
    return true;
  }

  bool measured() {
    const std::string& unit = text("unit");
    if (text("value").empty()) return leave_out("value: not stated");
    double scale = 0;
    if (unit == "GB/s")
      scale = 1e9;
    else if (unit == "MB/s")
      scale = 1e6;
    else if (unit == "Gb/s")
      scale = 1e9 / 8;
    else
      return leave_out(cell_problem("unit", unit, "is not a bandwidth that is predicted; expected GB/s, MB/s or Gb/s"));
    if (text("size_bytes").empty()) {
      bytes_ = kReferenceBytes;
      assume("size_bytes", "1 GiB (not stated: a rate of large messages)");
    } else {
      bytes_ = number("size_bytes");
      if (bytes_ < kLeastBytes) return leave_out("size_bytes: below 4 MiB the time of the software counts, which is not modelled");
    }
    if (lower(text("notes")).find("not a healthy value") != std::string::npos) return leave_out("notes: not a healthy value");
    const double rate = number("value") * scale;
    if (rate < kSlowest || rate > kFastest) {
      return skip(cell_problem("value", text("value"),
                               fmt::format("{} (unit) is not a rate of a link; expected {} to {}", unit, to_text(byte_per_s(kSlowest)),
                                           to_text(byte_per_s(kFastest)))));
    }
    out_.measured_s = bytes_ / rate;
    return true;
  }

  bool predict() {
    const auto rate = path_rate();
    if (!rate) return false;
    out_.set_prediction(bytes_ / (*rate * (both_ ? 2 : 1)), kLow, kHigh);
    out_.judged = out_.predicted();
    return true;
  }

  std::optional<double> path_rate() {
    if (ends_ == Ends::nodes) return network_rate();
    const auto node = node_of();
    if (!node || !gpus_exist(*node)) return std::nullopt;
    if (ends_ == Ends::gpus) return topology::limits_of(*node).gpu_to_gpu.si();
    if (both_) {
      leave_out("direction: host links loaded both ways at once are not modelled");
      return std::nullopt;
    }
    return (node->host_link.si() > 0 ? node->host_link : node->pcie_bandwidth).si();
  }

  bool gpus_exist(const topology::NodeType& node) {
    const auto index = [&](const char* column) {
      const std::string_view name = text(column);
      return parse_integer(name.substr(name.starts_with("GPU") ? 3 : 0)).value_or(-1);
    };
    for (const char* column : {"src", "dst"}) {
      if (index(column) >= node.gpus)
        return skip(cell_problem(column, text(column), fmt::format("is not a GPU of a node of {}", node.gpus)));
    }
    if (index("src") >= 0 && index("src") == index("dst"))
      return leave_out(fmt::format("src, dst: both are {}: a copy within one GPU", text("src")));
    return true;
  }

  std::optional<topology::NodeType> node_of() {
    const std::string gpu = lower(text("gpu_type")), system = lower(out_.system);
    for (const Host& host : kHosts) {
      if (gpu.find(host.gpu) == std::string::npos || system.find(host.system) == std::string::npos) continue;
      auto node = topology::node_type(host.node);
      if (!node) break;
      assume("node", host.node);
      return *node;
    }
    if (gpu.empty())
      leave_out("gpu_type: not stated");
    else
      skip(cell_problem("gpu_type", text("gpu_type"), "has no ready-made node"));
    return std::nullopt;
  }

  // "HDR 200 Gb/s InfiniBand", "ConnectX-5 100G RoCE": the number before the G, and the kind of network.
  std::optional<double> network_rate() {
    const std::string stated = lower(text("network"));
    double rate = 0;
    for (std::size_t i = 0; i < stated.size() && rate <= 0; ++i) {
      if (!std::isdigit(static_cast<unsigned char>(stated[i])) || (i > 0 && stated[i - 1] != ' ')) continue;
      const auto end = stated.find_first_not_of("0123456789", i);
      if (end == std::string::npos || end - i > 5) continue;
      const auto unit = stated.find_first_not_of(' ', end);
      if (unit != std::string::npos && stated[unit] == 'g') rate = parse_number(stated.substr(i, end - i)).value_or(0);
    }
    std::string kind;
    for (const char* word : {"roce", "efa", "infiniband", "omnipath"}) {
      if (kind.empty() && stated.find(word) != std::string::npos) kind = word;
    }
    if (rate <= 0 || kind.empty()) {
      if (stated.empty())
        leave_out("network: rate and kind not stated");
      else
        skip(cell_problem("network", text("network"), "does not state a rate in Gb/s and one of RoCE, EFA, InfiniBand, Omni-Path"));
      return std::nullopt;
    }
    const std::string file = fmt::format(
        "name: pair\nnode: {{type: hgx-h100, count: 2, nics: {{kind: {}, rate: {} Gb/s, count: 8, near: pcie_switch}}}}\n", kind, rate);
    const auto value = io::parse_yaml(file, "pair");
    const auto platform = value ? topology::platform_from(*value) : Result<topology::Platform>(tl::unexpected(value.error()));
    if (!platform) {
      skip(cell_problem("network", text("network"), platform.error().message));
      return std::nullopt;
    }
    const auto& nics = platform->node.nics;
    assume("nic", fmt::format("{:.0f} % of {} Gb/s {}", 100 * nics.efficiency, rate, kind));
    return nics.rate.si() * nics.efficiency;
  }

  Ends ends_ = Ends::gpus;
  bool both_ = false;
  double bytes_ = 0;
};

}  // namespace

PointToPointRow point_to_point_row(const io::CsvTable& table, const io::CsvRow& row) { return RowReader(table, row).read(); }

Result<std::vector<PointToPointRow>> validate_point_to_point(const io::CsvTable& table) {
  for (const char* column : {"kind", "value", "unit"}) {
    if (!table.has(column)) {
      return bad_input({table.file(), 1}, fmt::format("no column \"{}\"", column),
                       "expected a table of point-to-point results with the columns of data/published/README.md");
    }
  }
  std::vector<PointToPointRow> rows;
  for (const auto& line : table.rows()) rows.push_back(point_to_point_row(table, line));
  return rows;
}

PointToPointSummary summary_of(const std::vector<PointToPointRow>& rows) {
  const auto all = pointers(rows);
  return {by_table(all), summarise("all", all)};
}

}  // namespace trunkline::validate
