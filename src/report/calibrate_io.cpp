#include "report/calibrate_report.hpp"
#include "report/json_io.hpp"

namespace trunkline::report {

std::string calibrate_json(const Calibrated& c, const Context& context) {
  Json out;
  out["platform"] = c.platform;
  out["gpu"] = or_null(c.calibration.gpu);
  out["nic"] = or_null(c.calibration.nic);
  out["results"] = c.calibration.results;
  out["values"] = Json::array();
  for (const auto& row : c.rows) {
    const auto& m = row.measured;
    out["values"].push_back({{"key", m.key},
                             {"value", m.value},
                             {"before", row.before_value > 0 ? Json(row.before_value) : Json(nullptr)},
                             {"low", or_null(m.low)},
                             {"high", or_null(m.high)},
                             {"n", m.n},
                             {"from", m.from}});
  }
  out["unused"] = Json::array();
  for (const auto& u : c.calibration.unused) out["unused"].push_back({{"metric", u.metric}, {"reason", u.reason}});
  out["assumed"] = object_of(c.assumed);
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
