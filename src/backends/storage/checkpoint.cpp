#include "backends/storage/checkpoint.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>

#include "backends/storage/content.hpp"
#include "base/text.hpp"
#include "io/files.hpp"

#ifdef TRUNKLINE_HAS_XXHASH
#include <xxhash.h>
#endif

namespace trunkline::backends::storage {
namespace {

tl::unexpected<Error> cannot(const std::string& what, const std::string& path, int error) {
  return fail({ErrorKind::failed,
               fmt::format("cannot {}: {}", what, std::strerror(error)),
               {path, 0},
               request_error(Direction::write, 0, error).hint});
}

struct File {
  int descriptor = -1;
  ~File() {
    if (descriptor >= 0) ::close(descriptor);
  }
};

Result<std::unique_ptr<File>> open_file(const std::string& path, int flags, bool direct) {
  auto out = std::make_unique<File>();
  out->descriptor = ::open(path.c_str(), flags | O_CLOEXEC | (direct ? O_DIRECT : 0), 0600);
  if (out->descriptor < 0) return cannot("open", path, errno);
  return out;
}

// Checksums of the tensors of one shard while its bytes pass by in order.
class Hasher {
 public:
#ifdef TRUNKLINE_HAS_XXHASH
  Hasher(const Model& model, const Shard& shard) : model_(model), shard_(shard), state_(XXH3_createState()) {
    XXH3_64bits_reset(state_.get());
  }

  // `done` gets a tensor's number and checksum.
  template <class Done>
  void pass(std::int64_t offset, std::span<const std::byte> bytes, const Done& done) {
    const std::int64_t end = offset + std::int64_t(bytes.size());
    while (next_ < shard_.tensors.size()) {
      const Tensor& tensor = model_.tensors[shard_.tensors[next_]];
      const std::int64_t from = std::max(offset, tensor.begin), to = std::min(end, tensor.end);
      if (from < to) XXH3_64bits_update(state_.get(), bytes.data() + (from - offset), std::size_t(to - from));
      if (tensor.end > end) return;
      done(shard_.tensors[next_++], std::uint64_t(XXH3_64bits_digest(state_.get())));
      XXH3_64bits_reset(state_.get());
    }
  }

 private:
  struct Free {
    void operator()(XXH3_state_t* state) const { XXH3_freeState(state); }
  };
  const Model& model_;
  const Shard& shard_;
  std::unique_ptr<XXH3_state_t, Free> state_;
  std::size_t next_ = 0;
#else
  Hasher(const Model&, const Shard&) {}
  template <class Done>
  void pass(std::int64_t, std::span<const std::byte>, const Done&) {}
#endif
};

Transfer transfer_of(const Shard& shard, int file, Direction direction, const CheckpointOptions& options) {
  Transfer t;
  t.file = file;
  t.direction = direction;
  t.end = shard.size;
  t.requests = (shard.size + options.block - 1) / options.block;
  t.offset = [block = options.block](std::int64_t request) { return request * block; };
  t.in_order = true;
  t.stopped = options.stopped;
  return t;
}

Error at_path(Error error, const std::string& path) {
  if (error.where.file.empty() && error.kind != ErrorKind::interrupted) error.where.file = path;
  return error;
}

Result<void> save_shard(Model& model, std::size_t index, const std::string& path, Engine& engine, const CheckpointOptions& options) {
  const Shard& shard = model.shards[index];
  TRUNKLINE_ASSIGN(file, open_file(path, O_RDWR | O_CREAT | O_EXCL, options.direct));
  if (::fallocate(file->descriptor, 0, 0, off_t(shard.size)) != 0 && errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    return cannot(fmt::format("reserve {} MiB", shard.size >> 20), path, errno);
  Hasher hasher(model, shard);
  Transfer t = transfer_of(shard, file->descriptor, Direction::write, options);
  t.prepare = [&, seed = options.seed + index](std::int64_t offset, std::span<std::byte> bytes) {
    stamp(bytes, offset, seed);
    hasher.pass(offset, bytes, [&](std::size_t tensor, std::uint64_t checksum) { model.tensors[tensor].checksum = checksum; });
  };
  const auto moved = engine.run(t);
  if (!moved) return fail(at_path(moved.error(), path));
  if (options.fsync && ::fsync(file->descriptor) != 0) return cannot("fsync", path, errno);
  return {};
}

// Every tensor's place and checksum, a line each.
std::string index_text(const Model& model) {
  std::string out;
  for (const Tensor& t : model.tensors) out += fmt::format("{} {} {} {} {:016x}\n", t.name, t.shard, t.begin, t.end, t.checksum);
  return out;
}

Result<void> restore_shard(const Model& model, std::size_t index, const std::string& path, Engine& engine,
                           const CheckpointOptions& options) {
  const Shard& shard = model.shards[index];
  TRUNKLINE_ASSIGN(file, open_file(path, O_RDONLY, options.direct));
  Hasher hasher(model, shard);
  std::optional<std::string> wrong;
  Transfer t = transfer_of(shard, file->descriptor, Direction::read, options);
  t.consume = [&](std::int64_t offset, std::span<const std::byte> bytes) {
    hasher.pass(offset, bytes, [&](std::size_t tensor, std::uint64_t checksum) {
      if (checksum != model.tensors[tensor].checksum && !wrong) wrong = model.tensors[tensor].name;
    });
    return !wrong;
  };
  const auto moved = engine.run(t);
  if (wrong) {
    return fail({ErrorKind::failed,
                 fmt::format("the checksum of {} is not that of what was written", *wrong),
                 {path, 0},
                 "do not trust this disk or file system: see dmesg"});
  }
  if (!moved) return fail(at_path(moved.error(), path));
  return {};
}

// `work` for every shard, as many at a time as there are engines. The first error ends it.
Result<void> for_each_shard(const Model& model, const Engines& engines, const std::function<Result<void>(std::size_t, Engine&)>& work) {
  std::atomic<std::size_t> next = 0;
  std::mutex mutex;
  std::optional<Error> problem;
  const auto live = [&](Engine& engine) {
    while (true) {
      const std::size_t shard = next++;
      if (shard >= model.shards.size()) return;
      const auto done = work(shard, engine);
      if (done) continue;
      next = model.shards.size();
      const std::lock_guard lock(mutex);
      if (!problem) problem = done.error();
      return;
    }
  };
  std::vector<std::thread> others;
  for (std::size_t i = 1; i < engines.size(); ++i) others.emplace_back([&, i] { live(*engines[i]); });
  live(*engines[0]);
  for (auto& thread : others) thread.join();
  if (problem) return fail(*problem);
  return {};
}

}  // namespace

Result<Engines> engines_for(const Model& model, const CheckpointOptions& options) {
  const int threads = std::clamp(options.threads, 1, int(model.shards.size()));
  Engines out;
  for (int i = 0; i < threads; ++i) {
    TRUNKLINE_ASSIGN(chosen, make_engine({std::max(1, options.depth / threads), options.block, options.threads_engine}));
    out.push_back(std::move(chosen.engine));
  }
  return out;
}

Result<void> save(Model& model, CheckpointFolder& folder, const Engines& engines, const CheckpointOptions& options) {
  TRUNKLINE_TRY(for_each_shard(model, engines, [&](std::size_t shard, Engine& engine) {
    return save_shard(model, shard, folder.shard_path(shard), engine, options);
  }));
  TRUNKLINE_TRY(io::write_file(folder.index_path(), index_text(model)));
  return folder.commit();
}

Result<void> restore(const Model& model, const CheckpointFolder& folder, const Engines& engines, const CheckpointOptions& options) {
  TRUNKLINE_ASSIGN(index, io::read_file(folder.index_path()));
  if (index != index_text(model)) {
    return fail({ErrorKind::failed,
                 "the index is not what was written",
                 {folder.index_path(), 0},
                 "do not trust this disk or file system: see dmesg"});
  }
  return for_each_shard(model, engines, [&](std::size_t shard, Engine& engine) {
    return restore_shard(model, shard, folder.shard_path(shard), engine, options);
  });
}

void drop_cache(const Model& model, const CheckpointFolder& folder) {
  for (std::size_t shard = 0; shard < model.shards.size(); ++shard) {
    const auto file = open_file(folder.shard_path(shard), O_RDONLY, false);
    if (file) ::posix_fadvise((*file)->descriptor, 0, 0, POSIX_FADV_DONTNEED);
  }
}

}  // namespace trunkline::backends::storage
