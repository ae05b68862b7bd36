// What `--set key=value` and `--sweep key=a,b,c` mean: changes to a job file, or with the prefix "platform." to a platform file; of the
// command fabric to a fabric file.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "io/value.hpp"

namespace trunkline::cli {

enum class FileKind { job_and_platform, fabric };

struct Setting {
  std::string key;  // as written, with its prefix
  std::string value;
  bool platform = false;
};

struct Sweep {
  std::string key;
  std::vector<std::string> values;
};

// "parallelism.tp=8". Errors: no `=`, a key that no such file has (with the nearest ones).
Result<Setting> setting_from(const std::string& text, FileKind kind = FileKind::job_and_platform);
// "parallelism.tp=1,2,4". A value with commas of its own stands in braces or brackets.
Result<Sweep> sweep_from(const std::string& text, FileKind kind = FileKind::job_and_platform);

// Changes `document`; `platform` chooses which of the settings apply.
Result<void> apply(const std::vector<Setting>& settings, bool platform, io::Value& document);

// Every combination of the sweeps' values, the last key changing fastest; one empty combination without sweeps.
// Errors: more than `kMostPoints`; a key that stands twice, in the sweeps or in the settings beside them, so that one would silently win.
constexpr std::size_t kMostPoints = 10000;
Result<std::vector<std::vector<Setting>>> points_of(const std::vector<Sweep>& sweeps, const std::vector<Setting>& settings = {});

}  // namespace trunkline::cli
