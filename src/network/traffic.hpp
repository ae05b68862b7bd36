// Who sends how much to whom, and when.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "network/fabric.hpp"

namespace trunkline::network {

constexpr double kLatestStart = 1e6;                        // seconds
constexpr std::int64_t kMostBytes = 1'000'000'000'000'000;  // of one demand

struct Demand {
  int source = 0, destination = 0;  // hosts
  Bytes size;
  Seconds start;
};

// The hosts that a file may name: 0 … count − 1, or by the names of a fabric that has them.
struct HostRange {
  HostRange(int hosts, const Fabric* fabric = nullptr) : count(hosts), names(fabric) {}
  int count;
  const Fabric* names;
};

// A `.flows` file: a line a demand, `source destination bytes start_s`; # begins a comment. Hosts are 0 … hosts − 1. Refused with its
// line: another host, bytes that are not whole or not above zero, a time that is negative or beyond the simulated clock.
Result<std::vector<Demand>> read_flows(const std::string& path, const HostRange& hosts);
Result<std::vector<Demand>> flows_from(std::string_view text, const std::string& file, const HostRange& hosts);

// A matrix as text: line i, cell j = bytes from host i to host j, cells apart by commas or blanks. Zero cells send nothing.
Result<std::vector<Demand>> matrix_from(std::string_view text, const std::string& file, int hosts);

// Every one of the first `hosts` sends to one other and receives from one, none within its leaf (where there is more than one), drawn by
// the seed.
std::vector<Demand> permutation(const Fabric& fabric, int hosts, Bytes size, std::uint64_t seed);
std::vector<Demand> permutation(const Clos& clos, Bytes size, std::uint64_t seed);

// Pairs of different hosts drawn independently.
std::vector<Demand> random_pairs(int hosts, int count, Bytes size, std::uint64_t seed);

// Hosts 1 … fan_in send to host 0.
std::vector<Demand> incast(int fan_in, Bytes size);

// Each of the first `hosts` sends `size` to every other.
std::vector<Demand> all_to_all(int hosts, Bytes size);

// Each of the first `hosts` sends `size` to the next, the last to the first.
std::vector<Demand> ring(int hosts, Bytes size);

}  // namespace trunkline::network
