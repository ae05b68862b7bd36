#include <fmt/format.h>

#include <memory>

#include "base/text.hpp"
#include "cli/cmd.hpp"
#include "io/spec.hpp"
#include "network/fabric_file.hpp"
#include "topology/platform.hpp"
#include "workload/job.hpp"

namespace trunkline::cli {
namespace {

struct Kind {
  std::string name;
  const io::ObjectSpec& (*spec)();
};

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> list = {
      {"job", workload::job_spec}, {"platform", topology::platform_spec}, {"fabric", network::fabric_spec}};
  return list;
}

Result<int> schema(const std::string& name, Session& session) {
  std::vector<std::string> names;
  for (const Kind& kind : kinds()) {
    if (kind.name == name) {
      report::Document page;
      page.json = io::json_schema(kind.spec());
      page.blocks.emplace_back(report::Verbatim{page.json});
      TRUNKLINE_TRY(session.output.write(page));
      return 0;
    }
    names.push_back(kind.name);
  }
  if (name.empty()) return usage_error("which kind of file?", "one of: " + join(names, ", "));
  return usage_error(fmt::format("no kind of file is called \"{}\"", excerpt(name)), did_you_mean(name, names));
}

}  // namespace

Command schema_command() {
  Command command;
  command.name = "schema";
  command.arguments = "KIND";
  command.answers = "what may stand in a job, platform or fabric file (JSON Schema)";
  command.examples = {{"trunkline schema job", "every key of a job file, what it means, which words it takes"},
                      {"trunkline schema platform -o platform.schema.json", "as a file, for an editor that completes keys"}};
  command.declare = [](CLI::App& app) -> Action {
    auto name = std::make_shared<std::string>();
    app.add_option("KIND", *name, "job, platform or fabric");
    return [name](Session& session) { return schema(*name, session); };
  };
  return command;
}

}  // namespace trunkline::cli
