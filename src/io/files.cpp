#include "io/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

#include "base/text.hpp"

namespace trunkline::io {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

// What was read so far. Kept for the whole process: a command that ends by writing a file may have read it deep below.
struct ReadFiles {
  std::mutex lock;
  std::set<std::pair<dev_t, ino_t>> files;
};

ReadFiles& read_files() {
  static ReadFiles files;
  return files;
}

tl::unexpected<Error> system_error(const std::string& path, const char* doing, ErrorKind kind, std::string hint = {}) {
  return fail({kind, fmt::format("cannot {}: {}", doing, std::strerror(errno)), {path, 0}, std::move(hint)});
}

// What to do about a path that leads nowhere: make the folder, or take the name that is nearly this one.
std::string missing_hint(const std::string& path) {
  namespace fs = std::filesystem;
  const fs::path wanted(path);
  const fs::path folder = wanted.has_parent_path() ? wanted.parent_path() : fs::path(".");
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return fmt::format("the folder {} does not exist", excerpt(folder.string(), 200));
  std::vector<std::string> names;
  for (fs::directory_iterator entry(folder, ignored), end; entry != end && names.size() < 1000; entry.increment(ignored)) {
    names.push_back(entry->path().filename().string());
  }
  const auto near = nearest(wanted.filename().string(), names, 1);
  if (near.empty()) return fmt::format("there is no such file in {}", excerpt(folder.string(), 200));
  return fmt::format("did you mean {}?", wanted.has_parent_path() ? (folder / near[0]).string() : near[0]);
}

Result<void> write_all(int fd, std::string_view content, const std::string& path) {
  while (!content.empty()) {
    const ssize_t n = ::write(fd, content.data(), content.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "write", ErrorKind::failed);
    content.remove_prefix(std::size_t(n));
  }
  return {};
}

}  // namespace

Result<std::string> read_file(const std::string& path, std::int64_t limit) {
  Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return system_error(path, "open", ErrorKind::bad_input, errno == ENOENT ? missing_hint(path) : std::string());
  struct stat info{};
  if (::fstat(file.fd, &info) != 0) return system_error(path, "look at", ErrorKind::bad_input);
  if (S_ISDIR(info.st_mode)) return bad_input({path, 0}, "this is a directory, a file was expected");
  const auto too_large = [&] {
    return bad_input({path, 0}, fmt::format("larger than {} MiB, which is the limit for this kind of file", limit >> 20),
                     "check that it is the file you meant; a long table can be given in parts");
  };
  if (info.st_size > limit) return too_large();
  if (S_ISREG(info.st_mode)) {
    const std::lock_guard guard(read_files().lock);
    read_files().files.emplace(info.st_dev, info.st_ino);
  }
  std::string text;
  char chunk[1 << 16];
  while (true) {
    const ssize_t n = ::read(file.fd, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return system_error(path, "read", ErrorKind::bad_input);
    if (n == 0) return text;
    text.append(chunk, std::size_t(n));
    if (std::int64_t(text.size()) > limit) return too_large();
  }
}

bool was_read(const std::string& path) {
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return false;
  const std::lock_guard guard(read_files().lock);
  return read_files().files.contains({info.st_dev, info.st_ino});
}

Result<void> check_text(std::string_view text, const std::string& file) {
  if (text.starts_with("\xFF\xFE") || text.starts_with("\xFE\xFF")) return bad_input({file, 1}, "this text is UTF-16", "save it as UTF-8");
  const auto line_of = [&](std::size_t at) { return 1 + int(std::count(text.begin(), text.begin() + std::ptrdiff_t(at), '\n')); };
  if (const auto at = text.find('\0'); at != std::string_view::npos) {
    return bad_input({file, line_of(at)}, "a NUL byte: this is no text file, or it is damaged", "fetch or write the file again");
  }
  if (const auto at = first_invalid_utf8(text)) {
    return bad_input({file, line_of(*at)}, fmt::format("the byte 0x{:02x} is not UTF-8 here", static_cast<unsigned char>(text[*at])),
                     "save the file as UTF-8");
  }
  return {};
}

namespace {

Result<void> replace_file(const std::string& path, std::string_view content) {
  struct stat info{};
  const bool exists = ::stat(path.c_str(), &info) == 0;
  if (exists && S_ISDIR(info.st_mode)) return bad_input({path, 0}, "this is a directory, a file was to be written");
  if (exists && !S_ISREG(info.st_mode)) {
    Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
    if (file.fd < 0) return system_error(path, "write here", ErrorKind::bad_input);
    return write_all(file.fd, content, path);
  }
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, exists ? info.st_mode & 07777 : 0666)};
  if (file.fd < 0) {
    const bool broke = errno == ENOSPC || errno == EDQUOT || errno == EIO;  // the path is fine, what lies below is not
    return system_error(path, "write here", broke ? ErrorKind::failed : ErrorKind::bad_input,
                        errno == ENOENT ? missing_hint(path) : std::string());
  }
  auto written = write_all(file.fd, content, path);
  if (written && ::fsync(file.fd) != 0 && errno != EINVAL && errno != EROFS) written = system_error(path, "sync", ErrorKind::failed);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = system_error(path, "replace", ErrorKind::failed);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace

Result<void> write_file(const std::string& path, std::string_view content) {
  std::error_code problem;
  if (!std::filesystem::is_symlink(path, problem)) return replace_file(path, content);
  const auto target = std::filesystem::canonical(path, problem);
  return replace_file(problem ? path : target.string(), content);  // a link that leads nowhere gives way to the file
}

}  // namespace trunkline::io
