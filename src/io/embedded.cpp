#include "io/embedded.hpp"

namespace trunkline::io {

// Defined in the generated source (cmake/embed.cmake).
extern const EmbeddedFile kEmbeddedFiles[];
extern const unsigned kEmbeddedFileCount;

std::span<const EmbeddedFile> embedded_files() { return {kEmbeddedFiles, kEmbeddedFileCount}; }

std::optional<std::string_view> embedded_file(std::string_view path) {
  for (const auto& file : embedded_files()) {
    if (file.path == path) return file.content;
  }
  return std::nullopt;
}

}  // namespace trunkline::io
