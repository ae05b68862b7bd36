// Whole files: reading with a size limit, writing atomically.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace trunkline::io {

constexpr std::int64_t kMaxTextFile = 64LL << 20;  // what a person writes by hand is far smaller

// The whole file as text. Errors: missing, a directory, unreadable, larger than `limit`.
Result<std::string> read_file(const std::string& path, std::int64_t limit = kMaxTextFile);

// Whether this process has read, with read_file, the regular file that `path` leads to, under whatever name.
bool was_read(const std::string& path);

// Refuses what is no text: NUL bytes, UTF-16, broken UTF-8. The error names the line.
Result<void> check_text(std::string_view text, const std::string& file);

// Writes to a temporary name beside `path`, syncs, then renames: a crash leaves the old file or the new one. A link stays one: the file
// that it leads to is replaced. What is no regular file (/dev/stdout, a pipe) is written straight into.
Result<void> write_file(const std::string& path, std::string_view content);

}  // namespace trunkline::io
