#include "backends/storage/content.hpp"

#include <cstring>

#include "base/rng.hpp"

namespace trunkline::backends::storage {
namespace {

std::uint64_t mark(std::int64_t offset, std::uint64_t seed) { return Rng(seed ^ std::uint64_t(offset) * 0x9E3779B97F4A7C15ULL).next(); }

}  // namespace

void randomize(std::span<std::byte> buffer, std::uint64_t seed) {
  Rng rng(seed);
  for (std::size_t at = 0; at + sizeof(std::uint64_t) <= buffer.size(); at += sizeof(std::uint64_t)) {
    const std::uint64_t word = rng.next();
    std::memcpy(buffer.data() + at, &word, sizeof word);
  }
}

void stamp(std::span<std::byte> block, std::int64_t offset, std::uint64_t seed) {
  for (std::size_t at = 0; at < block.size(); at += std::size_t(kContentPage)) {
    const std::uint64_t word = mark(offset + std::int64_t(at), seed);
    std::memcpy(block.data() + at, &word, sizeof word);
  }
}

bool stamped(std::span<const std::byte> block, std::int64_t offset, std::uint64_t seed) {
  for (std::size_t at = 0; at < block.size(); at += std::size_t(kContentPage)) {
    std::uint64_t word = 0;
    std::memcpy(&word, block.data() + at, sizeof word);
    if (word != mark(offset + std::int64_t(at), seed)) return false;
  }
  return true;
}

}  // namespace trunkline::backends::storage
