#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "cli/cmd.hpp"
#include "cli/settings.hpp"
#include "network/study.hpp"
#include "report/fabric_report.hpp"

namespace trunkline::cli {
namespace {

constexpr std::int64_t kMostSeeds = 100'000;

struct FabricOptions {
  std::string file, seeds;
  std::vector<std::string> sets, sweeps;
};

struct Input {
  io::Value content;
  std::string folder;
  std::vector<Setting> settings;
  std::vector<Sweep> sweeps;
  int seeds = 1;
};

Result<Input> read_input(const FabricOptions& options) {
  if (options.file.empty()) return usage_error("fabric needs a fabric file", "for example: trunkline fabric fabric.yaml");
  Input input;
  for (const auto& text : options.sets) {
    TRUNKLINE_ASSIGN(setting, setting_from(text, FileKind::fabric));
    input.settings.push_back(std::move(setting));
  }
  for (const auto& text : options.sweeps) {
    TRUNKLINE_ASSIGN(sweep, sweep_from(text, FileKind::fabric));
    input.sweeps.push_back(std::move(sweep));
  }
  if (!options.seeds.empty()) {
    const auto seeds = parse_integer(options.seeds);
    if (!seeds || *seeds < 1 || *seeds > kMostSeeds) {
      return usage_error(fmt::format("--seeds takes a number from 1 to {}, found \"{}\"", kMostSeeds, excerpt(options.seeds)),
                         "for example --seeds 100");
    }
    input.seeds = int(*seeds);
  }
  TRUNKLINE_ASSIGN(content, io::read_value(options.file));
  input.content = std::move(content);
  input.folder = std::filesystem::path(options.file).parent_path().string();
  return input;
}

// Errors of the file itself where nothing is swept; else a point that cannot be ends up in its entry.
Result<report::FabricEntry> run_point(const Input& input, const std::vector<Setting>& point) {
  io::Value content = input.content;
  for (const auto& settings : {input.settings, point}) TRUNKLINE_TRY(apply(settings, false, content));
  report::FabricEntry entry;
  for (const Setting& setting : point) entry.swept.emplace_back(setting.key, setting.value);
  auto file = network::fabric_from(content, input.folder);
  if (file) {
    auto study = network::run_study(std::move(*file), input.seeds);
    if (study)
      entry.study = std::move(*study);
    else
      entry.error = study.error();
  } else {
    entry.error = file.error();
  }
  return entry;
}

Result<int> fabric(const FabricOptions& options, Session& session) {
  TRUNKLINE_ASSIGN(input, read_input(options));
  TRUNKLINE_ASSIGN(points, points_of(input.sweeps, input.settings));
  std::vector<report::FabricEntry> entries;
  std::size_t failed = 0;
  for (const auto& point : points) {
    TRUNKLINE_ASSIGN(entry, run_point(input, point));
    failed += !entry.study;
    entries.push_back(std::move(entry));
  }
  if (failed == entries.size()) return fail(entries.front().error);
  TRUNKLINE_TRY(session.output.write(report::fabric_document(entries, session.context)));
  return failed > 0 ? 1 : 0;
}

}  // namespace

Command fabric_command() {
  Command command;
  command.name = "fabric";
  command.arguments = "FILE";
  command.answers = "how a network carries a traffic: rates, completion, the fullest links";
  command.examples = {{"trunkline fabric fabric.yaml", "one run: rates, completion against the ideal, fullest links"},
                      {"trunkline fabric fabric.yaml --seeds 100", "how the figures lie over 100 drawings of routes and traffic"},
                      {"trunkline fabric fabric.yaml --sweep routing=ecmp,flowlet,spray,adaptive", "one line a way of routing"},
                      {"trunkline fabric fabric.yaml --set tolerance=0.001 --json -", "sooner, completion to 0.1 %; for programs"}};
  command.notes = "Keys of --set and --sweep: those of `trunkline schema fabric`.";
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<FabricOptions>();
    app.add_option("FILE", o->file, "a fabric file");
    app.add_option("--set", o->sets, "change a key of the file; several times")->type_name("KEY=VALUE")->allow_extra_args(false);
    app.add_option("--sweep", o->sweeps, "one line for each value; several: each combination")
        ->type_name("KEY=A,B,C")
        ->allow_extra_args(false);
    app.add_option("--seeds", o->seeds, "repeat with so many seeds of routing and traffic, and show how the figures lie")->type_name("N");
    return [o](Session& session) { return fabric(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
