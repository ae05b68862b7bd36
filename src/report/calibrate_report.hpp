// What `trunkline calibrate` answers: measured efficiencies with their evidence.
#pragma once

#include <string>
#include <vector>

#include "calibrate/calibration.hpp"
#include "report/assumed.hpp"
#include "report/context.hpp"
#include "report/document.hpp"

namespace trunkline::report {

// A value, what stood in its place, and why it can be trusted.
struct CalibratedRow {
  calibrate::Measured measured;
  std::string shown;   // three digits and a unit
  std::string before;  // what the platform file or the catalogue says
  double before_value = 0;
};

struct Calibrated {
  calibrate::Calibration calibration;
  std::string platform;
  std::vector<CalibratedRow> rows;
  Assumptions assumed;  // of a platform that was read off the results
};

Document calibrate_document(const Calibrated& calibrated, const Context& context);

std::string calibrate_json(const Calibrated& calibrated, const Context& context);

}  // namespace trunkline::report
