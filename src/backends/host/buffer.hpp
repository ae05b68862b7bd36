// A large piece of memory on a chosen node. Internal to this folder.
#pragma once

#include <cstdint>
#include <span>

#include "backends/host/places.hpp"

namespace trunkline::backends::host {

class Buffer {
 public:
  // Address space on `node`; pages come when they are first touched. Huge pages are asked for, so that translation does not count.
  static Result<Buffer> on(const Places& places, int node, std::size_t size);

  Buffer(Buffer&& other) noexcept;
  Buffer& operator=(Buffer&&) = delete;
  ~Buffer();

  std::span<std::uint64_t> words() const { return {static_cast<std::uint64_t*>(start_), size_ / sizeof(std::uint64_t)}; }
  const void* start() const { return start_; }
  std::size_t size() const { return size_; }

 private:
  Buffer(void* start, std::size_t size) : start_(start), size_(size) {}
  void* start_ = nullptr;
  std::size_t size_ = 0;
};

// What is measured, for one thread.
void fill(std::span<std::uint64_t> words, std::uint64_t first);  // first, first+1, …
std::uint64_t sum(std::span<const std::uint64_t> words);
std::uint64_t sum_of_fill(std::size_t count, std::uint64_t first);  // what sum() must give after fill()
void copy(std::span<const std::uint64_t> from, std::span<std::uint64_t> to);

}  // namespace trunkline::backends::host
