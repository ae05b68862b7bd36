// Data files built into the program, so that it runs from anywhere: data/catalog, data/models, data/calibration.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace trunkline::io {

struct EmbeddedFile {
  std::string_view path;  // relative to data/, for example "catalog/gpus.yaml"
  std::string_view content;
};

std::span<const EmbeddedFile> embedded_files();
std::optional<std::string_view> embedded_file(std::string_view path);

}  // namespace trunkline::io
