#include <fmt/format.h>

#include <memory>

#include "calibrate/guess.hpp"
#include "calibrate/values.hpp"
#include "cli/cmd.hpp"
#include "cli/offers.hpp"
#include "report/calibrate_report.hpp"

namespace trunkline::cli {
namespace {

struct CalibrateOptions {
  std::vector<std::string> results;
  std::string platform, storage;
};

struct Subject {
  topology::Platform platform;
  bool stated = false;  // by a file; else read off the results
};

Result<Subject> subject_of(const CalibrateOptions& o, const std::vector<measure::Measurement>& results) {
  if (o.platform.empty()) return Subject{calibrate::platform_of(results), false};
  TRUNKLINE_ASSIGN(platform, topology::read_platform(o.platform));
  return Subject{std::move(platform), true};
}

// The value beside what it replaces. A platform that was read off the results states no rates of storage and lines.
report::CalibratedRow row_of(const calibrate::Measured& measured, const Subject& subject) {
  const auto& kind = *calibrate::kind_of(measured.key);
  report::CalibratedRow row{measured, calibrate::shown_text(kind, measured.value), "–", 0};
  const bool placeholder = !subject.stated && kind.needs != calibrate::Needs::same_gpu;
  const calibrate::Applied stated{subject.platform, kernels::Efficiencies::default_for(subject.platform.node.gpu)};
  const double before = placeholder ? 0 : kind.get(stated);
  if (before > 0) row.before_value = before, row.before = calibrate::shown_text(kind, before);
  return row;
}

Result<int> calibrate_results(const CalibrateOptions& o, Session& session) {
  if (o.results.empty())
    return usage_error("calibrate needs a result",
                       "for example: trunkline calibrate result.json --platform platform.yaml -o efficiencies.yaml");
  TRUNKLINE_ASSIGN(store, store_named(o.storage));
  std::vector<measure::Measurement> results;
  for (const auto& file : o.results) {
    TRUNKLINE_ASSIGN(result, read_runs(file));
    results.push_back(std::move(result));
  }
  TRUNKLINE_ASSIGN(subject, subject_of(o, results));
  TRUNKLINE_ASSIGN(calibration, calibrate::calibrate(results, subject.platform, store));
  report::Calibrated out;
  out.platform = subject.platform.name;
  out.assumed = subject.stated ? report::Assumptions{} : subject.platform.assumed;
  for (const auto& measured : calibration.values) out.rows.push_back(row_of(measured, subject));
  out.calibration = std::move(calibration);
  TRUNKLINE_TRY(session.output.write(report::calibrate_document(out, session.context)));
  return 0;
}

}  // namespace

Command calibrate_command() {
  Command command;
  command.name = "calibrate";
  command.arguments = "RESULT… [--platform FILE] -o FILE.yaml";
  command.answers = "which efficiencies results show, for predict to use";
  command.examples = {
      {"trunkline calibrate result.json --platform a.yaml -o efficiencies.yaml", "measured shares in place of catalogued ones"},
      {"trunkline predict job.yaml --platform a.yaml --calibration efficiencies.yaml", "their use"},
      {"trunkline calibrate allreduce.log fio.json --platform a.yaml --storage volume -o e.yaml", "from outputs of other tools"}};
  command.notes =
      "A share is the value at which the model meets what was measured. What was not measured keeps its default. Without --platform the "
      "machine "
      "is taken from the GPUs in the result. A platform file whose `measured` names a result needs no calibration file.";
  command.has_yaml = true;
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<CalibrateOptions>();
    app.add_option("RESULT", o->results, "results: of trunkline measure, or of any tool that compare reads");
    app.add_option("-p,--platform", o->platform, "the platform that they were taken on")->type_name("FILE");
    app.add_option("--storage", o->storage, "which storage was measured, where the platform has both: volume or local_disk")
        ->type_name("WHICH");
    return [o](Session& session) { return calibrate_results(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
