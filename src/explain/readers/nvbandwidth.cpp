#include "explain/readers/nvbandwidth.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.hpp"

namespace trunkline::explain::readers {
namespace {

using measure::Better;
using measure::Status;

namespace condition = measure::condition;

constexpr std::size_t kMostPairs = 1 << 20, kMostTests = 1000;  // of a matrix, of a file: it has some 40 tests

bool says_latency(std::string_view description) { return contains(description, "(ns)"); }

// A GPU with itself is printed as 0.00 or N/A.
std::optional<double> cell_of(std::string_view text, bool latency) {
  const auto value = number_of(text);
  if (!value || *value <= 0) return std::nullopt;
  return latency ? *value * 1e-9 : *value * 1e9;
}

class TextReader {
 public:
  explicit TextReader(Nvbandwidth& out) : out_(out) {}

  void read(const Line& line) {
    const std::string_view text = trim(line.text);
    if (text.empty()) {
      in_matrix_ = false;
    } else if (text.starts_with("nvbandwidth Version:")) {
      out_.version = excerpt(trim(text.substr(20)));
    } else if (text.starts_with("Driver Version:")) {
      out_.driver = excerpt(trim(text.substr(15)));
    } else if (text.starts_with("CUDA Runtime Version:")) {
      out_.cuda = excerpt(trim(text.substr(21)));
    } else if (text.starts_with("Device ") && contains(text, ":")) {
      out_.devices.push_back(excerpt(trim(text.substr(text.find(':') + 1))));
    } else if (text.starts_with("Running ")) {
      begin(line.number, text.substr(8));
    } else if (text.starts_with("Waived")) {
      ++out_.unnamed_waived;
    } else if (text.starts_with("SUM ")) {
      read_sum(text);
    } else if (!out_.tests.empty()) {
      read_inside(line.number, text);
    }
  }

 private:
  void begin(int line, std::string_view name) {
    if (out_.tests.size() >= kMostTests) return;
    while (!name.empty() && (name.back() == '.' || name.back() == ' ')) name.remove_suffix(1);
    NvbandwidthTest test;
    test.line = line;
    test.name = excerpt(name);
    test.status = "passed";
    out_.tests.push_back(std::move(test));
    in_matrix_ = false;
  }

  void read_sum(std::string_view text) {
    const auto words = words_of(text);
    if (words.size() < 3 || out_.tests.empty() || out_.tests.back().name != words[1]) return;
    out_.tests.back().sum = cell_of(words[2], out_.tests.back().latency);
  }

  // The description, the line of column numbers, the rows, an error.
  void read_inside(int line, std::string_view text) {
    NvbandwidthTest& test = out_.tests.back();
    const auto words = words_of(text);
    if (contains(text, "(row)")) {
      test.description = excerpt(text, 200);
      test.latency = says_latency(text);
      in_matrix_ = true;
      columns_ = 0;
    } else if (contains(text, "[Error]") || contains(text, "ERROR") || contains(text, "CUDA error")) {
      test.status = "failed";
      test.error = excerpt(text, 200);
    } else if (in_matrix_ && columns_ == 0) {
      columns_ = words.size();
    } else if (in_matrix_) {
      add_row(line, words, test);
    }
  }

  void add_row(int line, const std::vector<std::string>& words, NvbandwidthTest& test) {
    if (words.size() < 2 || words.size() > columns_ + 1 || test.matrix.size() * columns_ > kMostPairs) {
      out_.skipped.push_back({line, "no row of the matrix above it"});
      return;
    }
    std::vector<std::optional<double>> row;
    for (std::size_t i = 1; i < words.size(); ++i) row.push_back(cell_of(words[i], test.latency));
    test.matrix.push_back(std::move(row));
  }

  Nvbandwidth& out_;
  bool in_matrix_ = false;
  std::size_t columns_ = 0;
};

NvbandwidthTest test_of(const io::Value& item) {
  NvbandwidthTest test;
  test.line = item.where().line;
  test.name = excerpt(text_at(item, "name"));
  test.status = lower(text_at(item, "status"));
  test.description = excerpt(trim(text_at(item, "bandwidth_description")), 200);
  test.latency = says_latency(test.description);
  test.error = excerpt(text_at(item, "error"), 200);
  for (const io::Value& row : items_at(item, "bandwidth_matrix")) {
    std::vector<std::optional<double>> cells;
    if (row.is_list()) {
      for (const io::Value& cell : row.items()) cells.push_back(cell.is_scalar() ? cell_of(cell.text(), test.latency) : std::nullopt);
    }
    test.matrix.push_back(std::move(cells));
  }
  test.sum = cell_of(text_at(item, "sum"), test.latency);
  return test;
}

std::vector<double> pairs_of(const NvbandwidthTest& test) {
  std::vector<double> out;
  for (const auto& row : test.matrix) {
    for (const auto& cell : row) {
      if (cell) out.push_back(*cell);
    }
  }
  return out;
}

void add_metrics(const NvbandwidthTest& test, const std::vector<double>& pairs, const measure::Conditions& conditions,
                 measure::ProbeResult& probe) {
  double sum = 0;
  for (double p : pairs) sum += p;
  const double mean = sum / double(pairs.size());
  const auto add = [&](const char* name, Better better, double value) {
    metric_in(probe, name, test.latency ? "s" : "B/s", better, conditions).samples.push_back(value);
  };
  if (test.latency) {
    add("latency_max", Better::lower, *std::max_element(pairs.begin(), pairs.end()));
    add("latency_mean", Better::lower, mean);
  } else {
    add("bandwidth_min", Better::higher, *std::min_element(pairs.begin(), pairs.end()));
    add("bandwidth_mean", Better::higher, mean);
    add("bandwidth_sum", Better::higher, test.sum.value_or(sum));
  }
}

}  // namespace

bool is_nvbandwidth(std::string_view text) {
  return contains(text, "nvbandwidth Version") || (contains(text, "Running ") && contains(text, "memcpy") && contains(text, "(row)"));
}

Result<Nvbandwidth> read_nvbandwidth(std::string_view text, const std::string& file) {
  Nvbandwidth out;
  out.file = file;
  TextReader reader(out);
  for (const Line& line : lines_of(text)) reader.read(line);
  return out;
}

bool is_nvbandwidth_json(std::string_view text) { return json_begins_with(text, "nvbandwidth"); }

Result<Nvbandwidth> read_nvbandwidth_json(std::string_view text, const std::string& file) {
  TRUNKLINE_ASSIGN(root, json_in(text, file));
  const io::Value* top = map_at(root, "nvbandwidth");
  if (!top) return bad_input(root.where(), "no block \"nvbandwidth\" in it", "expected what nvbandwidth -j prints");
  Nvbandwidth out;
  out.file = file;
  out.version = excerpt(text_at(*top, "version"));
  out.driver = excerpt(text_at(*top, "Driver Version"));
  out.cuda = excerpt(text_at(*top, "CUDA Runtime Version"));
  for (const io::Value& item : items_at(*top, "testcases")) {
    if (out.tests.size() >= kMostTests) break;
    if (item.is_map() && !text_at(item, "name").empty())
      out.tests.push_back(test_of(item));
    else
      out.skipped.push_back({item.where().line, "a test without its name"});
  }
  return out;
}

measure::Measurement result_of(const Nvbandwidth& output) {
  measure::Measurement out;
  out.file = output.file;
  out.complete = true;
  out.context.backend = "nvbandwidth";
  out.context.driver = output.driver;
  out.context.cuda = output.cuda;
  if (!output.devices.empty()) out.context.machine = fmt::format("{} x {}", output.devices.size(), output.devices.front());
  const std::string tool = output.version.empty() ? "nvbandwidth" : "nvbandwidth " + output.version;
  for (const NvbandwidthTest& test : output.tests) {
    auto& probe = probe_in(out, "nvbandwidth." + test.name);
    const auto pairs = pairs_of(test);
    if (test.status == "waived") {
      probe.status = Status::waived;
      probe.reason = "nvbandwidth waived it: this machine has no such pair";
    } else if (test.status != "passed" || pairs.empty()) {
      probe.status = Status::failed;
      probe.reason = test.error.empty() ? "no value in it" : test.error;
    }
    measure::Conditions conditions = {{"pairs", std::int64_t(pairs.size())}, {condition::kSourceTool, tool}};
    if (probe.status == Status::ok) add_metrics(test, pairs, conditions, probe);
  }
  if (!out.probes.empty()) out.probes.front().warnings = warnings_of(output.skipped, output.file);
  return out;
}

}  // namespace trunkline::explain::readers
