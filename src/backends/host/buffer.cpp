#include "backends/host/buffer.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace trunkline::backends::host {

Result<Buffer> Buffer::on(const Places& places, int node, std::size_t size) {
  void* start = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (start == MAP_FAILED)
    return fail({ErrorKind::failed, fmt::format("no {} MiB of memory to be had: {}", size >> 20, std::strerror(errno)), {}, {}});
  Buffer out(start, size);
  ::madvise(start, size, MADV_HUGEPAGE);  // a wish: without it everything works, a little slower
  TRUNKLINE_TRY(places.bind_memory(start, size, node));
  return out;
}

Buffer::Buffer(Buffer&& other) noexcept : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)) {}

Buffer::~Buffer() {
  if (start_) ::munmap(start_, size_);
}

void fill(std::span<std::uint64_t> words, std::uint64_t first) {
  for (auto& word : words) word = first++;
}

// Eight sums side by side: one alone would wait for each addition instead of for memory.
std::uint64_t sum(std::span<const std::uint64_t> words) {
  constexpr std::size_t kLanes = 8;
  std::uint64_t lanes[kLanes] = {};
  const std::size_t whole = words.size() / kLanes * kLanes;
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += words[i + lane];
  }
  std::uint64_t total = 0;
  for (const std::uint64_t lane : lanes) total += lane;
  for (std::size_t i = whole; i < words.size(); ++i) total += words[i];
  return total;
}

std::uint64_t sum_of_fill(std::size_t count, std::uint64_t first) {
  // count·first + count(count−1)/2, modulo 2^64 as the sum itself: the even factor is halved first.
  const std::uint64_t n = count;
  return n * first + (n % 2 == 0 ? (n / 2) * (n - 1) : n * ((n - 1) / 2));
}

void copy(std::span<const std::uint64_t> from, std::span<std::uint64_t> to) { std::memcpy(to.data(), from.data(), from.size_bytes()); }

}  // namespace trunkline::backends::host
