#include <algorithm>

#include "report/doctor_report.hpp"

namespace trunkline::report {

Document doctor_document(const std::vector<Check>& checks, const Context& context) {
  Table table;
  table.columns = {{"part"}, {"here"}, {"needed for", Align::left, true}, {"found", Align::left, true}};
  const bool fixes = std::any_of(checks.begin(), checks.end(), [](const Check& check) { return !check.fix.empty(); });
  if (fixes) table.columns.push_back({"fix", Align::left, true});
  for (const Check& check : checks) {
    const Cell here = check.present ? Cell("yes", Tone::good) : check.optional ? Cell("no") : Cell("missing", Tone::bad);
    table.add({check.name, here, check.needed_for, check.found, check.fix});
  }
  Document document;
  document.blocks.emplace_back(table);
  document.data = std::move(table);
  document.json = doctor_json(checks, context);
  return document;
}

}  // namespace trunkline::report
