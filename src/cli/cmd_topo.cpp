#include <memory>

#include "cli/cmd.hpp"
#include "report/topo_report.hpp"
#include "topology/describe.hpp"

namespace trunkline::cli {
namespace {

Result<int> topo(const std::string& file, Session& session) {
  if (file.empty()) {
    return usage_error("topo needs a platform file; reading this machine's own wiring is not built yet",
                       "for example: trunkline topo examples/platforms/NAME.yaml");
  }
  TRUNKLINE_ASSIGN(platform, topology::read_platform(file));
  TRUNKLINE_TRY(session.output.write(report::topo_document(topology::describe(platform), session.context)));
  return 0;
}

}  // namespace

Command topo_command() {
  Command command;
  command.name = "topo";
  command.arguments = "PLATFORM";
  command.answers = "how a machine is wired, and what its paths carry";
  command.examples = {{"trunkline topo platform.yaml", "tree, paths between GPUs and NICs with their limits, warnings"}};
  command.declare = [](CLI::App& app) -> Action {
    auto file = std::make_shared<std::string>();
    app.add_option("PLATFORM", *file, "a platform file");
    return [file](Session& session) { return topo(*file, session); };
  };
  return command;
}

}  // namespace trunkline::cli
