// Files to measure with, gone on every way out. Internal to this folder.
#pragma once

#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace trunkline::backends::storage {

// A file without a name: the kernel removes it when this process ends, however it ends.
class ScratchFile {
 public:
  static Result<ScratchFile> in(const std::string& folder);
  ScratchFile(ScratchFile&& other) noexcept;
  ScratchFile& operator=(ScratchFile&&) = delete;
  ~ScratchFile();

  int descriptor() const { return file_; }

  // Past the page cache or through it; false where the file system does not do that.
  bool set_direct(bool direct) const;
  // Makes the file `size` long with its space taken, so that writing meets no surprise. A file system that cannot reserve only sets the
  // length.
  Result<void> reserve(std::int64_t size) const;
  Result<void> sync() const;
  // Throws its clean pages out of the page cache.
  void drop_cache() const;

 private:
  ScratchFile(int file, std::string folder) : file_(file), folder_(std::move(folder)) {}
  int file_ = -1;
  std::string folder_;
};

}  // namespace trunkline::backends::storage
