#include <fmt/format.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <optional>

#include "backends/storage/engine.hpp"

#ifdef TRUNKLINE_HAS_LIBURING
#include <liburing.h>
#endif

namespace trunkline::backends::storage {

#ifdef TRUNKLINE_HAS_LIBURING
namespace {

using Clock = std::chrono::steady_clock;

double seconds_between(Clock::time_point from, Clock::time_point to) { return std::chrono::duration<double>(to - from).count(); }

// A request in flight, in the buffer of the same number.
struct Slot {
  std::int64_t request = 0, offset = 0;
  std::size_t size = 0, done = 0;  // a short transfer is continued
  bool complete = false;           // came, but waits for its turn
  Clock::time_point began;
};

// One run of a transfer: keeps the queue full until requests or time run out, then waits for the rest.
class Run {
 public:
  Run(io_uring& ring, const Buffers& buffers, int depth, std::int64_t block, const Transfer& transfer)
      : ring_(ring), buffers_(buffers), block_(block), transfer_(transfer), slots_(std::size_t(depth)) {}

  Result<Moved> go() {
    start_ = Clock::now();
    for (int slot = 0; slot < int(slots_.size()) && may_begin(); ++slot) begin(slot);
    while (in_flight_ > 0) {
      const int submitted = io_uring_submit_and_wait(&ring_, 1);
      if (submitted < 0 && submitted != -EINTR && submitted != -EAGAIN && submitted != -EBUSY) {
        // The ring itself is broken: what is in flight cannot be waited for, but this cannot happen with a ring that was set up.
        return fail({ErrorKind::failed, fmt::format("io_uring: {}", std::strerror(-submitted)), {}, {}});
      }
      reap();
    }
    if (error_) return fail(std::move(*error_));
    moved_.time = seconds(seconds_between(start_, Clock::now()));
    return moved_;
  }

 private:
  bool may_begin() {
    if (error_ || next_ >= transfer_.requests) return false;
    if (transfer_.stopped && transfer_.stopped()) {
      error_ = Error{ErrorKind::interrupted, "interrupted", {}, {}};
      return false;
    }
    return next_ == 0 || seconds_between(start_, Clock::now()) < transfer_.at_most.si();
  }

  void begin(int slot) {
    Slot& s = slots_[std::size_t(slot)];
    s = {};
    s.request = next_++;
    s.offset = transfer_.offset(s.request);
    s.size = std::size_t(std::min(block_, transfer_.end - s.offset));
    if (transfer_.prepare) transfer_.prepare(s.offset, buffers_[slot].first(s.size));
    s.began = Clock::now();
    queue(slot);
    ++in_flight_;
  }

  void queue(int slot) {
    const Slot& s = slots_[std::size_t(slot)];
    io_uring_sqe* entry = io_uring_get_sqe(&ring_);
    while (!entry) {  // the submission queue is as long as the depth, so this only happens after an interrupted call
      io_uring_submit(&ring_);
      entry = io_uring_get_sqe(&ring_);
    }
    std::byte* at = buffers_[slot].data() + s.done;
    const auto size = unsigned(s.size - s.done);
    const auto offset = std::uint64_t(s.offset) + s.done;
    if (transfer_.direction == Direction::read)
      io_uring_prep_read(entry, transfer_.file, at, size, offset);
    else
      io_uring_prep_write(entry, transfer_.file, at, size, offset);
    io_uring_sqe_set_data64(entry, std::uint64_t(slot));
  }

  void reap() {
    io_uring_cqe* entry = nullptr;
    while (io_uring_peek_cqe(&ring_, &entry) == 0 && entry) {
      const int slot = int(io_uring_cqe_get_data64(entry));
      const int result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      completed(slot, result);
      io_uring_submit(&ring_);  // at once: waiting for others to be handed in together would count as its latency
    }
  }

  void completed(int slot, int result) {
    Slot& s = slots_[std::size_t(slot)];
    if (result == -EAGAIN || result == -EINTR) return queue(slot);
    if (result <= 0) {
      if (!error_) error_ = request_error(transfer_.direction, s.offset + std::int64_t(s.done), -result);
      --in_flight_;
      return drop_undelivered();
    }
    s.done += std::size_t(result);
    if (s.done < s.size && !error_) return queue(slot);
    if (transfer_.latencies_s) transfer_.latencies_s->push_back(seconds_between(s.began, Clock::now()));
    moved_.bytes += std::int64_t(s.done);
    ++moved_.requests;
    s.complete = true;
    if (transfer_.in_order)
      deliver_in_order();
    else
      deliver(slot);
  }

  // With n slots and requests begun in order, request r lies in some slot; the next to deliver is looked for among them.
  void deliver_in_order() {
    for (bool found = true; found;) {
      found = false;
      for (int slot = 0; slot < int(slots_.size()); ++slot) {
        if (slots_[std::size_t(slot)].complete && slots_[std::size_t(slot)].request == next_delivered_) {
          ++next_delivered_;
          deliver(slot);
          found = true;
        }
      }
    }
    if (error_) drop_undelivered();
  }

  // After a fault the turn of some never comes.
  void drop_undelivered() {
    for (Slot& s : slots_) {
      if (s.complete) --in_flight_;
      s.complete = false;
    }
  }

  void deliver(int slot) {
    Slot& s = slots_[std::size_t(slot)];
    s.complete = false;
    --in_flight_;
    if (transfer_.consume && !error_ && !transfer_.consume(s.offset, buffers_[slot].first(s.size))) error_ = content_error(s.offset);
    if (may_begin()) begin(slot);
  }

  io_uring& ring_;
  const Buffers& buffers_;
  const std::int64_t block_;
  const Transfer& transfer_;
  std::vector<Slot> slots_;
  std::int64_t next_ = 0, next_delivered_ = 0;
  int in_flight_ = 0;  // begun and not yet delivered
  Clock::time_point start_;
  Moved moved_;
  std::optional<Error> error_;
};

class UringEngine : public Engine {
 public:
  UringEngine(Buffers buffers, int depth, std::int64_t block) : buffers_(std::move(buffers)), depth_(depth), block_(block) {}
  ~UringEngine() override {
    if (open_) io_uring_queue_exit(&ring_);
  }
  Result<void> open() {
    const int done = io_uring_queue_init(unsigned(depth_), &ring_, 0);
    if (done < 0) return fail({ErrorKind::missing, fmt::format("the kernel refuses io_uring ({})", std::strerror(-done)), {}, {}});
    open_ = true;
    return {};
  }
  std::string name() const override { return "io_uring"; }
  Result<Moved> run(const Transfer& transfer) override { return Run(ring_, buffers_, depth_, block_, transfer).go(); }

 private:
  Buffers buffers_;
  int depth_;
  std::int64_t block_;
  io_uring ring_{};
  bool open_ = false;
};

}  // namespace

Result<std::unique_ptr<Engine>> uring_engine(const EngineOptions& options) {
  TRUNKLINE_ASSIGN(buffers, Buffers::make(options.depth, options.block));
  auto engine = std::make_unique<UringEngine>(std::move(buffers), options.depth, options.block);
  TRUNKLINE_TRY(engine->open());
  return engine;
}

bool built_with_uring() { return true; }
#else
Result<std::unique_ptr<Engine>> uring_engine(const EngineOptions&) {
  return fail({ErrorKind::missing, "this program was built without io_uring", {}, "apt-get install liburing-dev, and build again"});
}
bool built_with_uring() { return false; }
#endif

}  // namespace trunkline::backends::storage
