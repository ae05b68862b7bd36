// A platform together with what was measured on it.
#pragma once

#include <string>
#include <vector>

#include "calibrate/calibration.hpp"
#include "measure/result.hpp"

namespace trunkline::compare {

struct Offer {
  std::string name;
  calibrate::Applied stated;           // as its file says
  calibrate::Applied applied;          // the platform with its measured values in place
  calibrate::Calibration calibration;  // these values with their evidence; without any where nothing was measured
  std::optional<measure::Measurement> result;
};

// The stated platform and the result that was taken on it. What the result says nothing about keeps the stated value. Errors: a value that
// the platform cannot take.
Result<Offer> offer_of(const topology::Platform& platform, std::optional<measure::Measurement> result, calibrate::Store store);

}  // namespace trunkline::compare
