#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>

#include "backends/fake/fake.hpp"
#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "cli/backends.hpp"
#include "cli/cmd.hpp"
#include "cli/measure_progress.hpp"
#include "io/files.hpp"
#include "measure/runner.hpp"
#include "measure/stop.hpp"
#include "report/measure_report.hpp"

namespace trunkline::cli {
namespace {

using measure::Measurement;
using measure::Option;
using measure::OptionKind;
using measure::Status;

// Options of every probe; the backends add theirs.
const std::vector<Option>& common_options() {
  static const std::vector<Option> list = {
      {"--time", OptionKind::time, "TIME", "for each probe, at most; default 20 s", {}, 1e-3},
      {"--repetitions",
       OptionKind::integer,
       "N",
       "so many samples of everything, whatever the time; default: until the median is known to 2 %",
       {},
       1},
      {"--seed", OptionKind::integer, "N", "of the order of repetitions and of random data; default 1", {}, 0},
      {"--backend", OptionKind::text, "NAME", "machine (default), or fake: answers from the models for --platform", {"machine", "fake"}},
      {"--platform", OptionKind::text, "FILE", "of --backend fake: the machine to play"},
      {"--fault", OptionKind::text, "KIND",
       "of --backend fake: " + join(backends::fake::fault_names(), ", ") + "; KIND=SHARE sets what is left"},
  };
  return list;
}

std::vector<Option> all_options() {
  std::vector<Option> out = common_options();
  std::set<std::string> names;
  for (const auto& backend : machine_backends()) {
    for (const Option& option : backend.options) {
      if (names.insert(option.name()).second) out.push_back(option);  // backends may share one
    }
  }
  return out;
}

struct MeasureOptions {
  std::vector<std::string> probes;
  bool list = false, dry_run = false, quick = false;
  std::map<std::string, std::string> values;
  std::map<std::string, bool> flags;
};

// The machine to measure: this one, or one that is played.
struct Subject {
  std::unique_ptr<measure::Environment> environment;
  measure::Probes probes;
  measure::RunOptions options;
};

Result<Subject> subject_of(const measure::Settings& settings) {
  Subject out;
  const bool fake = settings.text("backend") == "fake";
  if (!fake) {
    for (const char* name : {"platform", "fault"}) {
      if (settings.has(name))
        return usage_error(fmt::format("--{} belongs to --backend fake", name), fmt::format("leave --{} out, or add --backend fake", name));
    }
    out.environment = measure::this_machine();
    for (const auto& backend : machine_backends()) {
      for (auto& probe : backend.probes()) out.probes.push_back(std::move(probe));
      out.options.libraries.insert(out.options.libraries.end(), backend.libraries.begin(), backend.libraries.end());
      if (backend.describe) out.options.describe.push_back(backend.describe);
      if (backend.complete) out.options.complete.push_back(backend.complete);
    }
    return out;
  }
  if (!settings.has("platform"))
    return usage_error("--backend fake needs --platform FILE", "for example: --platform examples/platforms/provider-a.yaml");
  TRUNKLINE_ASSIGN(platform, topology::read_platform(*settings.text("platform")));
  std::optional<backends::fake::Fault> fault;
  if (const auto text = settings.text("fault")) {
    TRUNKLINE_ASSIGN(read, backends::fake::fault_from(*text));
    fault = read;
  }
  auto machine = backends::fake::machine(platform, fault);
  out.environment = std::move(machine.environment);
  out.probes = std::move(machine.probes);
  out.options.backend = "fake";
  return out;
}

Result<measure::Settings> settings_from(const MeasureOptions& options) {
  measure::Settings settings;
  for (const auto& [name, text] : options.values) {
    if (!text.empty()) settings.put(name, text);
  }
  for (const auto& [name, set] : options.flags) {
    if (set) settings.put(name, "true");
  }
  TRUNKLINE_TRY(measure::check(all_options(), settings));
  settings.quick = options.quick;
  settings.seed = std::uint64_t(settings.integer("seed").value_or(1));
  settings.repetitions = int(std::min<std::int64_t>(settings.integer("repetitions").value_or(0), 1'000'000));
  if (settings.quick && (settings.has("time") || settings.repetitions > 0))
    return usage_error("--quick chooses the time of each probe itself", "leave out --quick, or --time and --repetitions");
  return settings;
}

int list_probes(const std::vector<measure::Probe*>& probes, std::vector<report::ProbeLine>& lines) {
  for (const measure::Probe* probe : probes) lines.push_back({probe->name(), probe->answers(), probe->needs()});
  return 0;
}

Result<std::vector<report::PlannedProbe>> plan(const std::vector<measure::Probe*>& probes, const measure::Settings& settings,
                                               const measure::RunOptions& options) {
  std::vector<report::PlannedProbe> out;
  const Seconds budget = settings.quick ? measure::quick_budget(options.quick_total, seconds(0), probes.size()) : options.per_probe;
  for (const measure::Probe* probe : probes) {
    auto estimate = probe->estimate(settings, budget);
    if (estimate)
      out.push_back({probe->name(), {}, *estimate});
    else if (estimate.error().kind == ErrorKind::missing)
      out.push_back({probe->name(), measure::reason_of(estimate.error()), {}});
    else
      return fail(estimate.error());
  }
  return out;
}

// Says before the work what it will move. Wrong settings (no such folder) end it here rather than in the middle.
Result<void> announce(const std::vector<measure::Probe*>& probes, const measure::Settings& settings, const measure::RunOptions& options,
                      const Output& output) {
  TRUNKLINE_ASSIGN(planned, plan(probes, settings, options));
  Bytes written, read;
  Seconds time;
  for (const auto& probe : planned) {
    if (!probe.estimate) continue;
    written += probe.estimate->written;
    read += probe.estimate->read;
    time += probe.estimate->time;
  }
  std::vector<std::string> parts;
  if (written.count() > 0) parts.push_back(fmt::format("writes some {}", to_text(written)));
  if (read.count() > 0) parts.push_back(fmt::format("reads some {}", to_text(read)));
  if (time.si() > 0) parts.push_back(fmt::format("takes at most about {}", to_text(time)));
  if (written.count() + read.count() > 0) output.progress(join(parts, ", "));
  return {};
}

// What the exit status says: broken probes, or that nothing of what was asked for can be measured here.
int status_of(const Measurement& measurement) {
  if (!measurement.complete) return exit_status(ErrorKind::interrupted);
  const auto count = [&](Status status) {
    return std::count_if(measurement.probes.begin(), measurement.probes.end(), [&](const auto& p) { return p.status == status; });
  };
  if (count(Status::failed) > 0) return exit_status(ErrorKind::failed);
  return count(Status::ok) > 0 ? 0 : exit_status(ErrorKind::missing);
}

Result<int> measure_now(Subject& subject, const std::vector<measure::Probe*>& probes, const measure::Settings& settings, Session& session) {
  TRUNKLINE_TRY(announce(probes, settings, subject.options, session.output));
  const auto files = session.output.json_files();
  const auto save = [&](const Measurement& m) {
    for (const std::string& file : files) {
      // A disk that is full now may have space at the end: what is measured goes on, and the last writing decides.
      if (const auto written = io::write_file(file, measure::to_json(m)); !written)
        session.output.progress(fmt::format("warning: {}", written.error().text()));
    }
  };
  const auto progress = measure_progress(session.output);
  Measurement measurement;
  {
    measure::StopOnSignal stop;
    measurement = measure::run(*subject.environment, probes, settings, subject.options, *progress, save, measure::StopOnSignal::requested);
  }
  TRUNKLINE_TRY(session.output.write(report::measure_document(measurement)));
  if (!measurement.complete)
    session.output.progress(files.empty() ? "interrupted"
                                          : fmt::format("interrupted: {} holds what was measured until then", join(files, ", ")));
  return status_of(measurement);
}

Result<int> measure_command_action(const MeasureOptions& options, Session& session) {
  TRUNKLINE_ASSIGN(settings, settings_from(options));
  TRUNKLINE_ASSIGN(subject, subject_of(settings));
  TRUNKLINE_ASSIGN(probes, measure::select(subject.probes, options.probes));
  subject.options.tool_version = session.context.tool_version;
  subject.options.command_line = session.context.command_line;
  subject.options.per_probe = settings.time("time").value_or(subject.options.per_probe);
  if (options.list) {
    std::vector<report::ProbeLine> lines;
    list_probes(probes, lines);
    TRUNKLINE_TRY(session.output.write(report::probe_list_document(lines, session.context)));
    return 0;
  }
  if (options.dry_run) {
    TRUNKLINE_ASSIGN(planned, plan(probes, settings, subject.options));
    TRUNKLINE_TRY(session.output.write(report::measure_plan_document(planned, session.context)));
    return 0;
  }
  return measure_now(subject, probes, settings, session);
}

void declare_option(CLI::App& app, const Option& option, MeasureOptions& options) {
  if (option.kind == OptionKind::flag)
    app.add_flag(option.flags, options.flags[option.name()], option.doc);
  else
    app.add_option(option.flags, options.values[option.name()], option.doc)->type_name(option.type);
}

}  // namespace

Command measure_command() {
  Command command;
  command.name = "measure";
  command.arguments = "[PROBE…]";
  command.answers = "what the links of this machine really give, as a share of what they can";
  command.examples = {{"trunkline measure --quick -o here.json", "all that this machine has, within a minute"},
                      {"trunkline measure storage --path /data -o disk.json", "the probes of one group, on another disk"},
                      {"trunkline measure --dry-run", "how much would be written and how long it would take"},
                      {"trunkline measure --list", "every probe and what it needs"},
                      {"trunkline measure --backend fake --platform platform.yaml --fault slow-link", "a machine that does not exist"}};
  command.notes =
      "PROBE is a name or the beginning of names up to a dot: host, storage.write. A result file (-o FILE.json) is rewritten after every "
      "probe. "
      "Exit status: 0 measured, 3 nothing of it can be measured here, 4 a probe failed, 130 interrupted.";
  command.declare = [](CLI::App& app) -> Action {
    auto options = std::make_shared<MeasureOptions>();
    app.add_option("PROBE", options->probes, "probes or groups of them; default: all");
    app.add_flag("--list", options->list, "show the probes and what they need");
    app.add_flag("--dry-run", options->dry_run, "show what would be moved and how long it would take");
    app.add_flag("--quick", options->quick, "all of it within a minute, with smaller files and fewer samples");
    for (const Option& option : all_options()) declare_option(app, option, *options);
    return [options](Session& session) { return measure_command_action(*options, session); };
  };
  return command;
}

}  // namespace trunkline::cli
