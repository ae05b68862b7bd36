#include "backends/storage/engine.hpp"

#include <fmt/format.h>
#include <sys/mman.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "backends/storage/content.hpp"

namespace trunkline::backends::storage {
namespace {

std::string hint_of(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or raise the quota, or give another folder with --path";
    case EIO: return "the device reports an error: see dmesg, and do not trust this disk";
    case EACCES:
    case EROFS: return "give a folder that may be written with --path";
    default: return {};
  }
}

}  // namespace

Result<Buffers> Buffers::make(int count, std::int64_t size) {
  const std::size_t total = std::size_t(count) * std::size_t(size);
  void* start = ::mmap(nullptr, total, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (start == MAP_FAILED)
    return fail({ErrorKind::failed, fmt::format("no {} MiB of memory for buffers: {}", total >> 20, std::strerror(errno)), {}, {}});
  randomize({static_cast<std::byte*>(start), total}, total);
  return Buffers(static_cast<std::byte*>(start), std::size_t(size), total);
}

Buffers::Buffers(Buffers&& other) noexcept
    : start_(std::exchange(other.start_, nullptr)), size_(std::exchange(other.size_, 0)), total_(std::exchange(other.total_, 0)) {}

Buffers::~Buffers() {
  if (start_) ::munmap(start_, total_);
}

Error request_error(Direction direction, std::int64_t offset, int error) {
  return {ErrorKind::failed,
          fmt::format("cannot {} at {} MiB: {}", direction == Direction::read ? "read" : "write", offset >> 20,
                      error == 0 ? "the file ends there" : std::strerror(error)),
          {},
          hint_of(error)};
}

Error content_error(std::int64_t offset) {
  return {ErrorKind::failed,
          fmt::format("what was read at {} KiB is not what was written there", offset >> 10),
          {},
          "do not trust this disk or file system: see dmesg"};
}

Result<ChosenEngine> make_engine(const EngineOptions& options) {
  ChosenEngine out;
  if (!options.threads) {
    auto uring = uring_engine(options);
    if (uring) {
      out.engine = std::move(*uring);
      return out;
    }
    out.why = uring.error().message;
  }
  TRUNKLINE_ASSIGN(threads, thread_engine(options));
  out.engine = std::move(threads);
  return out;
}

}  // namespace trunkline::backends::storage
