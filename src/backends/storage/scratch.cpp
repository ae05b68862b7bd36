#include "backends/storage/scratch.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "backends/storage/engine.hpp"

namespace trunkline::backends::storage {
namespace {

tl::unexpected<Error> cannot(const char* what, const std::string& folder, int error) {
  Error out = request_error(Direction::write, 0, error);  // for its hint
  return fail({ErrorKind::failed, fmt::format("cannot {}: {}", what, std::strerror(error)), {folder, 0}, out.hint});
}

}  // namespace

Result<ScratchFile> ScratchFile::in(const std::string& folder) {
  int file = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {  // NFS, overlay and FUSE know no files without a name
    std::string name = folder + "/.trunkline-measure-XXXXXX";
    file = ::mkostemp(name.data(), O_CLOEXEC);
    if (file >= 0) ::unlink(name.c_str());
  }
  if (file < 0) return cannot("make a file here", folder, errno);
  return ScratchFile(file, folder);
}

ScratchFile::ScratchFile(ScratchFile&& other) noexcept : file_(std::exchange(other.file_, -1)), folder_(std::move(other.folder_)) {}

ScratchFile::~ScratchFile() {
  if (file_ >= 0) ::close(file_);
}

bool ScratchFile::set_direct(bool direct) const {
  const int flags = ::fcntl(file_, F_GETFL);
  return flags >= 0 && ::fcntl(file_, F_SETFL, direct ? flags | O_DIRECT : flags & ~O_DIRECT) == 0;
}

Result<void> ScratchFile::reserve(std::int64_t size) const {
  if (::fallocate(file_, 0, 0, off_t(size)) == 0) return {};
  if (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL)
    return cannot(fmt::format("reserve {} MiB", size >> 20).c_str(), folder_, errno);
  if (::ftruncate(file_, off_t(size)) != 0) return cannot("make the file longer", folder_, errno);
  return {};
}

Result<void> ScratchFile::sync() const {
  if (::fsync(file_) != 0) return cannot("fsync", folder_, errno);
  return {};
}

void ScratchFile::drop_cache() const { ::posix_fadvise(file_, 0, 0, POSIX_FADV_DONTNEED); }

}  // namespace trunkline::backends::storage
