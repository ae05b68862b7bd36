// Platform files together with what was measured on them, as predict, compare and calibrate take them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "calibrate/calibration.hpp"
#include "measure/result.hpp"

namespace trunkline::cli {

// One result: a file of any known format, or several runs of one thing joined by commas.
Result<measure::Measurement> read_runs(const std::string& files);

// The result file that the platform file names under `measured`, if it does. Its path counts from the platform file.
Result<std::optional<measure::Measurement>> measured_by(const topology::Platform& platform);

// The platform with the values of `calibration` (--calibration) or, without one, of its own result.
Result<calibrate::Applied> calibrated(const topology::Platform& platform, const std::optional<calibrate::Calibration>& calibration);

// "volume", "local_disk", or nothing.
Result<calibrate::Store> store_named(const std::string& word);

}  // namespace trunkline::cli
