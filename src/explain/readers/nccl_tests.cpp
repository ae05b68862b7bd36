#include "explain/readers/nccl_tests.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

struct Program {
  const char *name, *collective;
};
constexpr Program kPrograms[] = {{"all_reduce", "all_reduce"}, {"all_gather", "all_gather"}, {"reduce_scatter", "reduce_scatter"},
                                 {"broadcast", "broadcast"},   {"reduce", "reduce"},         {"alltoall", "all_to_all"},
                                 {"sendrecv", "send_recv"},    {"gather", "gather"},         {"scatter", "scatter"},
                                 {"hypercube", "hypercube"},   {"alltoallv", "all_to_all_v"}};

// The name before "_perf", wherever the program is named: a banner, a command line, a path.
std::string collective_named(std::string_view line) {
  const auto end = line.find("_perf");
  if (end == std::string_view::npos) return {};
  std::size_t start = end;
  const auto of_name = [](char c) { return (c >= 'a' && c <= 'z') || c == '_'; };
  while (start > 0 && of_name(line[start - 1])) --start;
  const std::string_view name = line.substr(start, end - start);
  for (const Program& p : kPrograms) {
    if (name == p.name) return p.collective;
  }
  return {};
}

// Columns as the header names them, in their order.
struct Header {
  std::vector<std::string> left;     // size count type redop root
  std::vector<std::string> figures;  // time algbw busbw wrong, twice, and what follows
};

std::string column_name(std::string_view word) {
  if (word == "bytes") return "size";
  if (word == "N") return "count";
  if (word == "op") return "redop";
  if (word == "#wrong" || word == "error" || word == "res") return "wrong";
  if (word == "cputime") return "time";
  return std::string(word);
}

std::optional<Header> header_of(const std::string& line) {
  if (!contains(line, "algbw") || !contains(line, "busbw")) return std::nullopt;
  Header h;
  for (const auto& word : words_of(line)) {
    if (word == "#") continue;
    const std::string name = column_name(word.starts_with("#") && word != "#wrong" && word != "#iters" ? word.substr(1) : word);
    if (name == "time" || !h.figures.empty())
      h.figures.push_back(name);
    else
      h.left.push_back(name);
  }
  if (h.left.empty() || h.left.front() != "size" || h.figures.size() < 3) return std::nullopt;
  return h;
}

// "NaN" and its like are no figures.
std::optional<NcclFigures> figures_of(const Header& h, const std::vector<std::string>& cells, std::size_t first, std::size_t columns) {
  NcclFigures out;
  for (std::size_t i = first; i < first + columns; ++i) {
    const std::string& name = h.figures[i];
    if (name == "wrong") {
      out.wrong = whole_number_of(cells[i]);
      if (const auto many = number_of(cells[i]); many && !out.wrong) out.wrong = std::int64_t(std::min(*many, 9e18));  // "1e+06"
      continue;
    }
    if (name != "time" && name != "algbw" && name != "busbw") continue;
    const auto value = number_of(cells[i]);
    if (!value || *value < 0) return std::nullopt;
    if (name == "time") out.time_s = *value * 1e-6;
    if (name == "algbw") out.algbw = *value * 1e9;
    if (name == "busbw") out.busbw = *value * 1e9;
  }
  return out;
}

// Whether the line starts as a row does: two whole numbers and a type.
bool is_row(const std::vector<std::string>& words) {
  if (words.size() < 6) return false;
  const auto size = whole_number_of(words[0]);
  return size && *size >= 0 && whole_number_of(words[1]) && !number_of(words[2]);
}

class TextReader {
 public:
  explicit TextReader(NcclTests& out) : out_(out) {}

  void read(const Line& line) {
    const std::string& text = line.text;
    if (out_.collective.empty()) out_.collective = collective_named(text);
    if (const auto found = header_of(text)) {
      header_ = found;
      out_.redop_column = std::find(header_->left.begin(), header_->left.end(), "redop") != header_->left.end();
      return;
    }
    if (contains(text, "Test NCCL failure") || contains(text, "Test CUDA failure") || contains(text, "Invalid number of GPUs")) {
      out_.failures.push_back(excerpt(trim(text), 200));
      return;
    }
    const std::string_view inner = trim(text);
    if (inner.starts_with('#') || inner.starts_with("NCCL version") || inner.starts_with("RCCL version")) return read_remark(inner);
    const auto words = words_of(text);
    if (header_ && is_row(words) && out_.rows.size() < kMostRows) read_row(line.number, words);
  }

 private:
  void read_remark(std::string_view text) {
    if (contains(text, "nThread") && contains(text, "minBytes")) return read_settings(text);
    if (contains(text, "CCL version")) return read_version(text);
    if (contains(text, "Rank") && contains(text, "device")) return read_device(text);
    const auto value = [&] { return text.substr(std::min(text.size(), text.find(':') + 1)); };
    if (contains(text, "Out of bounds values")) {
      const auto words = words_of(value());
      if (!words.empty()) out_.out_of_bounds = whole_number_of(words[0]);
      if (words.size() > 1 && words[1] == "FAILED" && !out_.out_of_bounds) out_.failures.emplace_back("out of bounds values: FAILED");
    }
    if (contains(text, "Avg bus bandwidth")) {
      const auto words = words_of(value());
      const auto rate = words.empty() ? std::nullopt : number_of(words[0]);
      if (rate) out_.average_busbw = *rate * 1e9;
      out_.concluded = true;
    }
  }

  // "# nThread 1 nGpus 8 minBytes 8 maxBytes 128 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0"
  void read_settings(std::string_view text) {
    const auto words = words_of(text);
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      const auto value = whole_number_of(words[i + 1]);
      if (!value) continue;
      if (words[i] == "validation:") out_.validation = value;
      if (words[i] == "graph:") out_.graph = value;
      if (words[i] != "iters:" || i == 0) continue;
      if (words[i - 1] == "warmup")
        out_.warmup = value;
      else if (words[i - 1] != "agg")
        out_.iterations = value;
    }
  }

  // "NCCL version 2.23.4+cuda12.6"
  void read_version(std::string_view text) {
    const auto words = words_of(text);
    const auto at = std::find(words.begin(), words.end(), "version");
    if (at == words.end() || at + 1 == words.end()) return;
    const auto plus = (at + 1)->find("+cuda");
    out_.nccl = excerpt((at + 1)->substr(0, plus));
    if (plus != std::string::npos) out_.cuda = excerpt((at + 1)->substr(plus + 5));
  }

  // "#  Rank  0 Group  0 Pid 1949011 on node00 device  0 [0x8f] NVIDIA H200"
  void read_device(std::string_view text) {
    const auto words = words_of(text);
    NcclDevice device;
    bool ranked = false;
    for (std::size_t i = 0; i + 1 < words.size(); ++i) {
      if (words[i] == "Rank" && whole_number_of(words[i + 1]))
        device.rank = int(std::clamp<std::int64_t>(*whole_number_of(words[i + 1]), 0, 1 << 24)), ranked = true;
      if (words[i] == "on") device.host = excerpt(words[i + 1]);
    }
    const auto bracket = text.find(']');
    if (bracket != std::string_view::npos) device.name = excerpt(trim(text.substr(bracket + 1)));
    if (ranked) out_.devices.push_back(std::move(device));
  }

  void read_row(int line, std::vector<std::string> words) {
    const std::size_t columns = header_->left.size() + header_->figures.size();
    std::vector<std::string> left = header_->left;
    // Empty cells of the left: the reduction of what reduces nothing, then the root.
    for (const char* name : {"redop", "root"}) {
      const auto empty = std::find(left.begin(), left.end(), name);
      if (words.size() < left.size() + header_->figures.size() && empty != left.end()) left.erase(empty);
    }
    const bool stamped =
        !header_->figures.empty() && header_->figures.back() == "timestamp" && words.size() == left.size() + header_->figures.size() + 1;
    if (words.size() != left.size() + header_->figures.size() && !stamped) {
      out_.skipped.push_back({line, fmt::format("{} cells, the table has {} columns", words.size(), columns)});
      return;
    }
    NcclRow row;
    row.line = line;
    for (std::size_t i = 0; i < left.size(); ++i) {
      if (left[i] == "size") row.size = whole_number_of(words[i]).value_or(0);
      if (left[i] == "count") row.count = whole_number_of(words[i]).value_or(0);
      if (left[i] == "type") row.type = excerpt(words[i], 20);
      if (left[i] == "redop") row.redop = excerpt(words[i], 20);
      if (left[i] == "root") row.root = whole_number_of(words[i]);
    }
    words.erase(words.begin(), words.begin() + std::ptrdiff_t(left.size()));
    add_figures(std::move(row), words);
  }

  void add_figures(NcclRow row, const std::vector<std::string>& cells) {
    const auto& figures = header_->figures;
    const std::size_t second = std::size_t(std::find(figures.begin() + 1, figures.end(), "time") - figures.begin());
    row.out_of_place = figures_of(*header_, cells, 0, second);
    if (second < figures.size()) row.in_place = figures_of(*header_, cells, second, figures.size() - second);
    if (!row.out_of_place || (second < figures.size() && !row.in_place)) out_.skipped.push_back({row.line, "a figure is no number"});
    if (row.out_of_place || row.in_place) out_.rows.push_back(std::move(row));
  }

  NcclTests& out_;
  std::optional<Header> header_;
};

}  // namespace

bool is_nccl_tests(std::string_view text) {
  if (contains(text, "Avg bus bandwidth") || contains(text, "Test NCCL failure") || contains(text, "Test CUDA failure")) return true;
  return (contains(text, "algbw") && contains(text, "busbw")) || (contains(text, "# nThread") && contains(text, "minBytes"));
}

Result<NcclTests> read_nccl_tests(std::string_view text, const std::string& file) {
  NcclTests out;
  out.file = file;
  TextReader reader(out);
  for (const Line& line : lines_of(text)) reader.read(line);
  std::set<std::string> hosts;
  for (const NcclDevice& d : out.devices) {
    out.ranks = std::max(out.ranks, d.rank + 1);
    hosts.insert(d.host);
  }
  // Only where every rank is listed are all hosts known.
  if (int(out.devices.size()) == out.ranks && !hosts.contains("")) out.nodes = int(hosts.size());
  return out;
}

}  // namespace trunkline::explain::readers
