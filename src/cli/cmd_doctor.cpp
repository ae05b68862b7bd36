#include <fmt/format.h>

#include <filesystem>

#include "catalog/catalog.hpp"
#include "cli/backends.hpp"
#include "cli/cmd.hpp"
#include "io/embedded.hpp"
#include "predict/constants.hpp"
#include "report/doctor_report.hpp"

namespace trunkline::cli {
namespace {

using report::Check;

Check built_in_data() {
  const std::size_t files = io::embedded_files().size();
  return {"built-in data",
          "every command",
          files > 0,
          false,
          fmt::format("{} files, {} GPUs", files, catalog::Catalog::builtin().gpus().size()),
          {}};
}

Check fitted_constants() {
  const bool present = !predict::Constants::builtin().factors.empty();
  return {"fitted constants",
          "predict (without them: uncorrected times, wide intervals)",
          present,
          true,
          present ? fmt::format("{} pairs of framework and GPU generation", predict::Constants::builtin().factors.size()) : "none built in",
          present ? "" : "trunkline validate TABLE… --fit data/calibration/step_constants.yaml, then build again"};
}

Check published_tables() {
  std::error_code problem;
  int tables = 0;
  for (const auto& entry : std::filesystem::directory_iterator("data/published", problem)) tables += entry.path().extension() == ".csv";
  return {"published tables",
          "validate (or name tables of your own)",
          tables > 0,
          true,
          tables > 0 ? fmt::format("{} in data/published", tables) : "no data/published in this folder",
          tables > 0 ? "" : "run in the folder of the sources"};
}

// What the backends of `measure` stand on.
void add_backends(std::vector<Check>& checks) {
  for (const measure::Backend& backend : machine_backends()) {
    for (const measure::Need& need : backend.needs ? backend.needs() : std::vector<measure::Need>())
      checks.push_back({need.name, "measure " + need.needed_for, need.present, true, need.found, need.fix});
  }
}

Result<int> doctor(Session& session) {
  std::vector<Check> checks = {built_in_data(), fitted_constants(), published_tables()};
  add_backends(checks);
  TRUNKLINE_TRY(session.output.write(report::doctor_document(checks, session.context)));
  for (const Check& check : checks) {
    if (!check.present && !check.optional) return exit_status(ErrorKind::missing);
  }
  return 0;
}

}  // namespace

Command doctor_command() {
  Command command;
  command.name = "doctor";
  command.answers = "what is missing on this machine, and for which command";
  command.examples = {{"trunkline doctor", "parts, whether they are here, how to get them"}};
  command.declare = [](CLI::App&) -> Action { return [](Session& session) { return doctor(session); }; };
  return command;
}

}  // namespace trunkline::cli
