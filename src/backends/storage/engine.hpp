// Many requests in flight on one file. Internal to this folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::backends::storage {

enum class Direction { read, write };

// Requests number 0, 1, … of `block` bytes each, the one at the end of the file shorter.
struct Transfer {
  int file = -1;
  Direction direction = Direction::read;
  std::int64_t end = 0;       // of the file
  std::int64_t requests = 0;  // how many
  std::function<std::int64_t(std::int64_t request)> offset;
  // Writes: changes the buffer, which is full of random bytes; called in the order of the requests.
  std::function<void(std::int64_t offset, std::span<std::byte>)> prepare = {};
  // Reads: looks at what came; false = not what was written there. With `in_order`, called in the order of the requests.
  std::function<bool(std::int64_t offset, std::span<const std::byte>)> consume = {};
  bool in_order = false;
  Seconds at_most = seconds(1e9);  // begins no request after that
  std::vector<double>* latencies_s = nullptr;
  std::function<bool()> stopped = {};
};

struct Moved {
  std::int64_t bytes = 0, requests = 0;
  Seconds time;  // from the first request to the last completion
};

class Engine {
 public:
  virtual ~Engine() = default;
  virtual std::string name() const = 0;  // as a condition: "io_uring", "pread"

  // Errors: what the system says of a request (with the file's position), content that is not what was written, interruption.
  // No request is in flight when it returns, whatever the outcome.
  virtual Result<Moved> run(const Transfer& transfer) = 0;
};

struct EngineOptions {
  int depth = 32;  // requests in flight
  std::int64_t block = 1 << 20;
  bool threads = false;  // pread/pwrite also where io_uring is there
};

// io_uring where the build and the kernel have it, else threads. `why` says what it was that io_uring lacked; empty otherwise.
struct ChosenEngine {
  std::unique_ptr<Engine> engine;
  std::string why;
};
Result<ChosenEngine> make_engine(const EngineOptions& options);

// Buffers for the requests in flight, aligned for O_DIRECT and full of random bytes.
class Buffers {
 public:
  static Result<Buffers> make(int count, std::int64_t size);
  Buffers(Buffers&& other) noexcept;
  Buffers& operator=(Buffers&&) = delete;
  ~Buffers();
  std::span<std::byte> operator[](int index) const { return {start_ + std::size_t(index) * size_, size_}; }

 private:
  Buffers(std::byte* start, std::size_t size, std::size_t total) : start_(start), size_(size), total_(total) {}
  std::byte* start_ = nullptr;
  std::size_t size_ = 0, total_ = 0;
};

// The two kinds; `nullptr` and a reason where there is none. For make_engine.
Result<std::unique_ptr<Engine>> uring_engine(const EngineOptions& options);
Result<std::unique_ptr<Engine>> thread_engine(const EngineOptions& options);
bool built_with_uring();

// What every engine says of a request that went wrong.
Error request_error(Direction direction, std::int64_t offset, int error);
Error content_error(std::int64_t offset);

}  // namespace trunkline::backends::storage
