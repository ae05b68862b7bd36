#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "backends/storage/checkpoint.hpp"
#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::backends::storage {
namespace {

namespace fs = std::filesystem;

constexpr char kPrefix[] = "trunkline-checkpoint.";

std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "unknown";
}

tl::unexpected<Error> cannot(const std::string& what, const std::string& path, int error) {
  return fail({ErrorKind::failed,
               fmt::format("cannot {}: {}", what, std::strerror(error)),
               {path, 0},
               request_error(Direction::write, 0, error).hint});
}

Result<void> sync_folder(const std::string& path) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return cannot("open the folder", path, errno);
  const int done = ::fsync(folder);
  const int error = errno;
  ::close(folder);
  if (done != 0 && error != EINVAL) return cannot("fsync the folder", path, error);  // EINVAL: a file system that needs none
  return {};
}

// "trunkline-checkpoint.HOST.PID" and the same with ".partial", of this host, whose process is gone.
bool is_left_over(const std::string& name) {
  const std::string mine = kPrefix + host_name() + ".";
  if (!name.starts_with(mine)) return false;
  const std::string_view number = std::string_view(name).substr(mine.size(), name.find('.', mine.size()) - mine.size());
  const auto process = parse_integer(number);
  return process && *process > 1 && *process != ::getpid() && ::kill(pid_t(*process), 0) != 0 && errno == ESRCH;
}

}  // namespace

Result<CheckpointFolder> CheckpointFolder::in(const std::string& parent) {
  std::error_code problem;
  std::vector<fs::path> left;
  for (fs::directory_iterator entry(parent, problem), end; !problem && entry != end; entry.increment(problem)) {
    if (is_left_over(entry->path().filename().string())) left.push_back(entry->path());
  }
  for (const auto& path : left) fs::remove_all(path, problem);
  const std::string final = fmt::format("{}/{}{}.{}", parent, kPrefix, host_name(), ::getpid());
  const std::string partial = final + ".partial";
  if (::mkdir(partial.c_str(), 0700) != 0) return cannot("make a folder", partial, errno);
  return CheckpointFolder(parent, partial, final);
}

CheckpointFolder::CheckpointFolder(CheckpointFolder&& other) noexcept
    : parent_(std::move(other.parent_)),
      partial_(std::exchange(other.partial_, {})),
      final_(std::move(other.final_)),
      renamed_(other.renamed_) {}

CheckpointFolder::~CheckpointFolder() {
  std::error_code ignored;
  if (!partial_.empty()) fs::remove_all(path(), ignored);
}

std::string CheckpointFolder::shard_path(std::size_t shard) const { return fmt::format("{}/shard-{:05}", path(), shard); }

Result<void> CheckpointFolder::commit() {
  TRUNKLINE_TRY(sync_folder(partial_));
  if (::rename(partial_.c_str(), final_.c_str()) != 0) return cannot("rename", partial_, errno);
  renamed_ = true;
  return sync_folder(parent_);
}

}  // namespace trunkline::backends::storage
