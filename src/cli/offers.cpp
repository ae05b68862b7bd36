#include "cli/offers.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/text.hpp"
#include "cli/command.hpp"
#include "compare/comparison.hpp"
#include "compare/offer.hpp"
#include "explain/readers/readers.hpp"

namespace trunkline::cli {

Result<measure::Measurement> read_runs(const std::string& files) {
  std::error_code ignored;
  if (files.find(',') == std::string::npos || std::filesystem::exists(files, ignored)) return explain::readers::read_result(files);
  std::vector<measure::Measurement> runs;
  for (const auto file : split(files, ',')) {
    TRUNKLINE_ASSIGN(run, explain::readers::read_result(std::string(file)));
    runs.push_back(std::move(run));
  }
  return compare::joined(runs);
}

Result<std::optional<measure::Measurement>> measured_by(const topology::Platform& platform) {
  if (platform.measured.empty()) return std::nullopt;
  const std::filesystem::path named = platform.measured;
  const auto path = named.is_absolute() ? named : std::filesystem::path(platform.file).parent_path() / named;
  auto result = explain::readers::read_result(path.string());
  if (!result) {
    Error error = result.error();
    error.hint = fmt::format("it is named under `measured` in {}; {}", platform.file, error.hint);
    return fail(std::move(error));
  }
  return std::move(*result);
}

Result<calibrate::Applied> calibrated(const topology::Platform& platform, const std::optional<calibrate::Calibration>& calibration) {
  if (calibration) return calibrate::apply(*calibration, platform);
  TRUNKLINE_ASSIGN(result, measured_by(platform));
  if (!result) return calibrate::Applied{platform, kernels::Efficiencies::default_for(platform.node.gpu)};
  TRUNKLINE_ASSIGN(offer, compare::offer_of(platform, std::move(result), calibrate::Store::unsaid));
  return std::move(offer.applied);
}

Result<calibrate::Store> store_named(const std::string& word) {
  if (word.empty()) return calibrate::Store::unsaid;
  if (word == "volume") return calibrate::Store::volume;
  if (word == "local_disk") return calibrate::Store::local_disk;
  const std::vector<std::string> known = {"volume", "local_disk"};
  return usage_error(fmt::format("--storage takes volume or local_disk, found \"{}\"", excerpt(word)), did_you_mean(word, known));
}

}  // namespace trunkline::cli
