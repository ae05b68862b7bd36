// What is written: random, and different in every page, so that nothing below can compress, merge or guess it. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace trunkline::backends::storage {

constexpr std::int64_t kContentPage = 4096;

// Fills memory with random bytes; done once for each buffer.
void randomize(std::span<std::byte> buffer, std::uint64_t seed);

// Marks every page of a block that goes to `offset` of a file (both multiples of the page size).
void stamp(std::span<std::byte> block, std::int64_t offset, std::uint64_t seed);

// Whether a block that came from `offset` bears the marks.
bool stamped(std::span<const std::byte> block, std::int64_t offset, std::uint64_t seed);

}  // namespace trunkline::backends::storage
