#include "io/files.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace trunkline::io {
namespace {

struct Descriptor {
  int fd = -1;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

tl::unexpected<Error> system_error(const std::string& path, const char* doing, ErrorKind kind) {
  return fail({kind, fmt::format("cannot {}: {}", doing, std::strerror(errno)), {path, 0}, {}});
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
  if (file.fd < 0) return system_error(path, "open", ErrorKind::bad_input);
  struct stat info {};
  if (::fstat(file.fd, &info) != 0) return system_error(path, "look at", ErrorKind::bad_input);
  if (S_ISDIR(info.st_mode)) return bad_input({path, 0}, "this is a directory, a file was expected");
  const auto too_large = [&] {
    return bad_input({path, 0}, fmt::format("larger than {} MiB, which is the limit for this kind of file", limit >> 20));
  };
  if (info.st_size > limit) return too_large();
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

Result<void> write_file(const std::string& path, std::string_view content) {
  const std::string temporary = fmt::format("{}.{}.tmp", path, ::getpid());
  Descriptor file{::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644)};
  if (file.fd < 0) return system_error(path, "write here", ErrorKind::bad_input);
  auto written = write_all(file.fd, content, path);
  if (written && ::fsync(file.fd) != 0 && errno != EINVAL && errno != EROFS) written = system_error(path, "sync", ErrorKind::failed);
  if (written && ::rename(temporary.c_str(), path.c_str()) != 0) written = system_error(path, "replace", ErrorKind::failed);
  if (!written) ::unlink(temporary.c_str());
  return written;
}

}  // namespace trunkline::io
