// Requests in flight by as many threads, each of which waits for its own: where io_uring is missing or forbidden (containers).
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/storage/engine.hpp"

namespace trunkline::backends::storage {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point from) { return std::chrono::duration<double>(Clock::now() - from).count(); }

struct Request {
  std::int64_t number = 0, offset = 0;
  std::span<std::byte> buffer;
};

class Run {
 public:
  Run(const Buffers& buffers, int depth, std::int64_t block, const Transfer& transfer)
      : buffers_(buffers), depth_(depth), block_(block), transfer_(transfer) {}

  Result<Moved> go() {
    start_ = Clock::now();
    std::vector<std::thread> threads;
    const auto count = int(std::min<std::int64_t>(depth_, transfer_.requests));
    for (int i = 0; i < count; ++i) threads.emplace_back([this, i] { work(i); });
    for (auto& thread : threads) thread.join();
    if (error_) return fail(std::move(*error_));
    moved_.time = seconds(seconds_since(start_));
    return moved_;
  }

 private:
  void work(int thread) {
    while (const auto request = next(thread)) {
      const auto began = Clock::now();
      const auto problem = move(*request);
      finish(*request, problem, seconds_since(began));
    }
  }

  std::optional<Request> next(int thread) {
    const std::lock_guard lock(mutex_);
    if (error_ || next_ >= transfer_.requests) return std::nullopt;
    if (next_ > 0 && seconds_since(start_) >= transfer_.at_most.si()) return std::nullopt;
    if (transfer_.stopped && transfer_.stopped()) {
      error_ = Error{ErrorKind::interrupted, "interrupted", {}, {}};
      turn_.notify_all();
      return std::nullopt;
    }
    Request out;
    out.number = next_++;
    out.offset = transfer_.offset(out.number);
    out.buffer = buffers_[thread].first(std::size_t(std::min(block_, transfer_.end - out.offset)));
    if (transfer_.prepare) transfer_.prepare(out.offset, out.buffer);
    return out;
  }

  std::optional<Error> move(const Request& request) const {
    for (std::size_t done = 0; done < request.buffer.size();) {
      const auto rest = request.buffer.subspan(done);
      const auto at = off_t(request.offset + std::int64_t(done));
      const ssize_t n = transfer_.direction == Direction::read ? ::pread(transfer_.file, rest.data(), rest.size(), at)
                                                               : ::pwrite(transfer_.file, rest.data(), rest.size(), at);
      if (n < 0 && errno == EINTR) continue;
      if (n <= 0) return request_error(transfer_.direction, std::int64_t(at), n < 0 ? errno : 0);
      done += std::size_t(n);
    }
    return std::nullopt;
  }

  void finish(const Request& request, const std::optional<Error>& problem, double latency_s) {
    std::unique_lock lock(mutex_);
    if (problem && !error_) error_ = problem;
    if (!problem) {
      moved_.bytes += std::int64_t(request.buffer.size());
      ++moved_.requests;
      if (transfer_.latencies_s) transfer_.latencies_s->push_back(latency_s);
    }
    if (transfer_.in_order) turn_.wait(lock, [&] { return error_ || delivered_ == request.number; });
    if (error_) return turn_.notify_all();
    if (!transfer_.in_order) lock.unlock();
    const bool right = !transfer_.consume || transfer_.consume(request.offset, request.buffer);
    if (!transfer_.in_order) lock.lock();
    ++delivered_;
    if (!right && !error_) error_ = content_error(request.offset);
    turn_.notify_all();
  }

  const Buffers& buffers_;
  const int depth_;
  const std::int64_t block_;
  const Transfer& transfer_;
  Clock::time_point start_;
  std::mutex mutex_;
  std::condition_variable turn_;
  std::int64_t next_ = 0, delivered_ = 0;
  Moved moved_;
  std::optional<Error> error_;
};

class ThreadEngine : public Engine {
 public:
  ThreadEngine(Buffers buffers, int depth, std::int64_t block) : buffers_(std::move(buffers)), depth_(depth), block_(block) {}
  std::string name() const override { return "pread/pwrite in threads"; }
  Result<Moved> run(const Transfer& transfer) override { return Run(buffers_, depth_, block_, transfer).go(); }

 private:
  Buffers buffers_;
  int depth_;
  std::int64_t block_;
};

}  // namespace

Result<std::unique_ptr<Engine>> thread_engine(const EngineOptions& options) {
  TRUNKLINE_ASSIGN(buffers, Buffers::make(options.depth, options.block));
  return std::make_unique<ThreadEngine>(std::move(buffers), options.depth, options.block);
}

}  // namespace trunkline::backends::storage
