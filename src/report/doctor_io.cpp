#include "report/doctor_report.hpp"
#include "report/json_io.hpp"

namespace trunkline::report {

std::string doctor_json(const std::vector<Check>& checks, const Context& context) {
  Json out;
  out["checks"] = Json::array();
  for (const Check& check : checks) {
    out["checks"].push_back({{"name", check.name},
                             {"needed_for", check.needed_for},
                             {"present", check.present},
                             {"optional", check.optional},
                             {"found", or_null(check.found)},
                             {"fix", or_null(check.fix)}});
  }
  out["context"] = context_json(context);
  return text_of(out);
}

}  // namespace trunkline::report
