// A small stable hash (FNV-1a, 64 bit): the same text gives the same number on every machine and in every version.
#pragma once

#include <cstdint>
#include <string_view>

namespace trunkline::measure {

constexpr std::uint64_t stable_hash(std::string_view text, std::uint64_t seed = 0) {
  std::uint64_t hash = 0xcbf29ce484222325ULL ^ seed;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return hash;
}

}  // namespace trunkline::measure
