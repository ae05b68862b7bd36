#include "network/traffic.hpp"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "base/rng.hpp"
#include "io/files.hpp"

namespace trunkline::network {
namespace {

constexpr std::string_view kBlank = " \t\r";

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

Result<int> host_in(std::string_view word, const Where& where, int hosts) {
  const auto host = number_in<int>(word);
  if (!host)
    return bad_input(where, fmt::format("found \"{}\" where a host number was expected", word),
                     "a line is: source destination bytes start_s");
  if (*host < 0 || *host >= hosts) {
    return bad_input(where, fmt::format("host {} of a fabric with hosts 0 to {}", *host, hosts - 1), "use another host or a larger fabric");
  }
  return *host;
}

Result<Demand> demand_in(std::string_view line, const Where& where, int hosts) {
  Demand demand;
  TRUNKLINE_ASSIGN(source, host_in(next_word(line), where, hosts));
  TRUNKLINE_ASSIGN(destination, host_in(next_word(line), where, hosts));
  const std::string_view size_word = next_word(line), start_word = next_word(line);
  const auto size = number_in<std::int64_t>(size_word);
  const auto start = number_in<double>(start_word);
  if (!size || *size < 0)
    return bad_input(where, fmt::format("found \"{}\" where whole bytes were expected", size_word), "write 1000000 for 1 MB");
  if (!start || !(*start >= 0) || !std::isfinite(*start)) {
    return bad_input(where, fmt::format("found \"{}\" where a start time in seconds was expected", start_word),
                     "write 0 for flows that start together");
  }
  const std::string_view rest = next_word(line);
  if (!rest.empty())
    return bad_input(where, fmt::format("found \"{}\" after the start time", rest), "a line is: source destination bytes start_s");
  return Demand{source, destination, Bytes(*size), seconds(*start)};
}

}  // namespace

Result<std::vector<Demand>> flows_from(std::string_view text, const std::string& file, int hosts) {
  std::vector<Demand> out;
  for (int number = 1; !text.empty(); ++number) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = line.substr(0, line.find('#'));
    if (line.find_first_not_of(kBlank) == std::string_view::npos) continue;
    TRUNKLINE_ASSIGN(demand, demand_in(line, {file, number}, hosts));
    out.push_back(demand);
  }
  if (out.empty()) return bad_input({file, 0}, "no flows", "a line is: source destination bytes start_s");
  return out;
}

Result<std::vector<Demand>> read_flows(const std::string& path, int hosts) {
  TRUNKLINE_ASSIGN(text, io::read_file(path));
  return flows_from(text, path, hosts);
}

std::vector<Demand> permutation(const Clos& clos, Bytes size, std::uint64_t seed) {
  Rng rng(seed);
  const int hosts = clos.hosts();
  std::vector<int> to(static_cast<std::size_t>(hosts));
  std::iota(to.begin(), to.end(), 0);
  const auto below = [&](int bound) { return std::size_t(rng.below(std::uint64_t(bound))); };
  for (int i = hosts - 1; i > 0; --i) std::swap(to[std::size_t(i)], to[below(i + 1)]);
  const auto stays = [&](std::size_t i) {
    return clos.leaves() > 1 ? clos.leaf_of(int(i)) == clos.leaf_of(to[i]) : hosts > 1 && to[i] == int(i);
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
