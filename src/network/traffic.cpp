#include "network/traffic.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/rng.hpp"
#include "base/text.hpp"
#include "io/files.hpp"

namespace trunkline::network {
namespace {

constexpr std::string_view kBlank = " \t\r";
constexpr const char* kLine = "a line is: source destination bytes start_s";

std::string_view next_word(std::string_view& line) {
  line.remove_prefix(std::min(line.find_first_not_of(kBlank), line.size()));
  const std::string_view word = line.substr(0, line.find_first_of(kBlank));
  line.remove_prefix(word.size());
  return word;
}

template <class Number>
std::optional<Number> number_in(std::string_view word) {
  Number value{};
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (error != std::errc() || end != word.data() + word.size()) return std::nullopt;
  return value;
}

Result<int> host_in(std::string_view word, const Where& where, const HostRange& hosts) {
  if (hosts.names) {
    if (const auto named = hosts.names->host_named(word); named && *named < hosts.count) return *named;
  }
  const auto host = number_in<int>(word);
  if (!host) return bad_input(where, fmt::format("found \"{}\" where a host number was expected", excerpt(word)), kLine);
  if (*host < 0 || *host >= hosts.count) {
    return bad_input(where, fmt::format("host {} of a fabric with hosts 0 to {}", *host, hosts.count - 1),
                     "use another host or a larger fabric");
  }
  return *host;
}

Result<Bytes> size_in(std::string_view word, const Where& where) {
  const auto size = number_in<std::int64_t>(word);
  if (!size) return bad_input(where, fmt::format("found \"{}\" where whole bytes were expected", excerpt(word)), "write 1000000 for 1 MB");
  if (*size <= 0) return bad_input(where, fmt::format("a flow of {} bytes", *size), "leave out flows that carry nothing");
  if (*size > kMostBytes)
    return bad_input(where, fmt::format("a flow of {} bytes", *size), fmt::format("at most {} are simulated", kMostBytes));
  return Bytes(*size);
}

Result<Seconds> start_in(std::string_view word, const Where& where) {
  const auto start = number_in<double>(word);
  if (!start || !(*start >= 0 && *start <= kLatestStart)) {
    return bad_input(where, fmt::format("found \"{}\" where a start time from 0 to {} s was expected", excerpt(word), kLatestStart),
                     "write 0 for flows that start together");
  }
  return seconds(*start);
}

Result<Demand> demand_in(std::string_view line, const Where& where, const HostRange& hosts) {
  TRUNKLINE_ASSIGN(source, host_in(next_word(line), where, hosts));
  TRUNKLINE_ASSIGN(destination, host_in(next_word(line), where, hosts));
  TRUNKLINE_ASSIGN(size, size_in(next_word(line), where));
  TRUNKLINE_ASSIGN(start, start_in(next_word(line), where));
  const std::string_view rest = next_word(line);
  if (!rest.empty()) return bad_input(where, fmt::format("found \"{}\" after the start time", excerpt(rest)), kLine);
  return Demand{source, destination, size, start};
}

// Calls take(line, number) for every line that holds more than a comment, up to the first error.
template <class Take>
Result<void> for_each_line(std::string_view text, Take take) {
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlank) != std::string_view::npos) TRUNKLINE_TRY(take(line, number));
  }
  return {};
}

// One line of a matrix: what host `source` sends.
Result<void> add_row(std::string_view line, const Where& where, int source, int hosts, std::vector<Demand>& out) {
  const auto wrong = [&](int cells) {
    return bad_input(where, fmt::format("line {} of the matrix has {} cells for {} hosts", source, cells, hosts),
                     "line i, cell j = bytes from host i to host j; a line and a cell for every host that takes part");
  };
  int destination = 0;
  std::string cells(line);
  std::replace(cells.begin(), cells.end(), ',', ' ');
  std::string_view rest = cells;
  for (std::string_view word = next_word(rest); !word.empty(); word = next_word(rest), ++destination) {
    if (destination >= hosts) return wrong(destination + 1);
    if (word == "0") continue;
    TRUNKLINE_ASSIGN(size, size_in(word, where));
    if (destination != source) out.push_back({source, destination, size, seconds(0)});
  }
  if (destination < hosts) return wrong(destination);
  return {};
}

}  // namespace

Result<std::vector<Demand>> flows_from(std::string_view text, const std::string& file, const HostRange& hosts) {
  std::vector<Demand> out;
  TRUNKLINE_TRY(for_each_line(text, [&](std::string_view line, int number) -> Result<void> {
    TRUNKLINE_ASSIGN(demand, demand_in(line, {file, number}, hosts));
    out.push_back(demand);
    return {};
  }));
  if (out.empty()) return bad_input({file, 0}, "no flows", kLine);
  return out;
}

Result<std::vector<Demand>> matrix_from(std::string_view text, const std::string& file, int hosts) {
  std::vector<Demand> out;
  int source = 0;
  TRUNKLINE_TRY(for_each_line(text, [&](std::string_view line, int number) -> Result<void> {
    if (source == hosts)
      return bad_input({file, number}, fmt::format("the matrix has more than {} lines, one a host", hosts), "use a larger fabric");
    return add_row(line, {file, number}, source++, hosts, out);
  }));
  if (source < hosts) return bad_input({file, 0}, fmt::format("a matrix of {} lines for {} hosts", source, hosts), "a line for every host");
  if (out.empty()) return bad_input({file, 0}, "a matrix in which nobody sends", "write bytes above zero into a cell");
  return out;
}

Result<std::vector<Demand>> read_flows(const std::string& path, const HostRange& hosts) {
  TRUNKLINE_ASSIGN(text, io::read_file(path));
  return flows_from(text, path, hosts);
}

std::vector<Demand> permutation(const Fabric& fabric, int hosts, Bytes size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<int> to(static_cast<std::size_t>(hosts));
  std::iota(to.begin(), to.end(), 0);
  const auto below = [&](int bound) { return std::size_t(rng.below(std::uint64_t(bound))); };
  for (int i = hosts - 1; i > 0; --i) std::swap(to[std::size_t(i)], to[below(i + 1)]);
  bool several = false;
  for (int i = 1; i < hosts; ++i) several = several || fabric.leaf_of(i) != fabric.leaf_of(0);
  const auto stays = [&](std::size_t i) {
    return several ? fabric.leaf_of(int(i)) == fabric.leaf_of(to[i]) : hosts > 1 && to[i] == int(i);
  };
  // Whoever stays swaps with a random other until nobody does; a leaf with more than half of all hosts cannot be served so.
  for (int round = 0; round < 100; ++round) {
    bool again = false;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!stays(i)) continue;
      std::swap(to[i], to[below(hosts)]);
      again = true;
    }
    if (!again) break;
  }
  std::vector<Demand> out;
  for (int i = 0; i < hosts; ++i) {
    if (to[std::size_t(i)] != i) out.push_back({i, to[std::size_t(i)], size, seconds(0)});
  }
  return out;
}

std::vector<Demand> permutation(const Clos& clos, Bytes size, std::uint64_t seed) {
  return permutation(ClosFabric(std::shared_ptr<const Clos>(&clos, [](const Clos*) {})), clos.hosts(), size, seed);
}

std::vector<Demand> random_pairs(int hosts, int count, Bytes size, std::uint64_t seed) {
  Rng rng(seed);
  std::vector<Demand> out;
  for (int i = 0; i < count && hosts > 1; ++i) {
    const auto source = int(rng.below(std::uint64_t(hosts)));
    auto destination = int(rng.below(std::uint64_t(hosts - 1)));
    if (destination >= source) ++destination;
    out.push_back({source, destination, size, seconds(0)});
  }
  return out;
}

std::vector<Demand> incast(int fan_in, Bytes size) {
  std::vector<Demand> out;
  for (int i = 1; i <= fan_in; ++i) out.push_back({i, 0, size, seconds(0)});
  return out;
}

std::vector<Demand> all_to_all(int hosts, Bytes size) {
  std::vector<Demand> out;
  for (int shift = 1; shift < hosts; ++shift) {
    for (int i = 0; i < hosts; ++i) out.push_back({i, (i + shift) % hosts, size, seconds(0)});
  }
  return out;
}

std::vector<Demand> ring(int hosts, Bytes size) {
  std::vector<Demand> out;
  for (int i = 0; i < hosts && hosts > 1; ++i) out.push_back({i, (i + 1) % hosts, size, seconds(0)});
  return out;
}

}  // namespace trunkline::network
