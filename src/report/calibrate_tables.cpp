#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "report/calibrate_report.hpp"

namespace trunkline::report {
namespace {

std::string range_text(const calibrate::Measured& m) {
  if (!m.low || !m.high || m.value <= 0) return "–";
  return fmt::format("{:+.1f} to {:+.1f}", 100 * (*m.low / m.value - 1), 100 * (*m.high / m.value - 1));
}

Table values_of(const Calibrated& c) {
  Table table;
  table.columns = {
      {"value"},           {"measured", Align::right}, {"before", Align::right}, {"change %", Align::right}, {"range %", Align::right},
      {"n", Align::right}, {"from", Align::left, true}};
  for (const auto& row : c.rows) {
    const double before = row.before_value;
    table.add({row.measured.key, Cell(row.shown, Tone::strong), row.before,
               before > 0 ? fmt::format("{:+.1f}", 100 * (row.measured.value / before - 1)) : "–", range_text(row.measured),
               fmt::format("{}", row.measured.n), row.measured.from});
  }
  return table;
}

Table unused_of(const Calibrated& c) {
  Table table;
  table.columns = {{"not used"}, {"why", Align::left, true}};
  for (const auto& u : c.calibration.unused) table.add({u.metric, u.reason});
  return table;
}

}  // namespace

Document calibrate_document(const Calibrated& c, const Context& context) {
  Document document;
  document.heading(fmt::format("measured efficiencies of \"{}\"", c.platform));
  document.blocks.emplace_back(values_of(c));
  if (!c.calibration.unused.empty()) document.blocks.emplace_back(unused_of(c));
  document.paragraph(
      "range %: where several metrics say something, the least and the greatest that they give; where one does, the 95 % interval of its "
      "median.",
      Tone::dim);
  if (!c.assumed.empty()) document.blocks.emplace_back(assumed_list(c.assumed, "assumed, as no platform file says it"));
  document.data = values_of(c);
  document.json = calibrate_json(c, context);
  document.yaml = calibrate::to_yaml(c.calibration);
  return document;
}

}  // namespace trunkline::report
