#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "cli/cmd.hpp"
#include "cli/named_files.hpp"
#include "cli/offers.hpp"
#include "cli/settings.hpp"
#include "predict/prediction.hpp"
#include "report/predict_report.hpp"

namespace trunkline::cli {
namespace {

struct PredictOptions {
  std::string job, timeline, baseline, show, calibration, network = "nic";
  std::vector<std::string> platforms, sets, sweeps;
};

struct Input {
  io::Value job;
  std::string job_file;
  std::vector<std::pair<std::string, io::Value>> platforms;  // file, content
  std::vector<Setting> settings;
  std::vector<Sweep> sweeps;
  std::optional<int> baseline;
  std::optional<calibrate::Calibration> calibration;
  bool slots = false;
  predict::Network network = predict::Network::nic;
};

Result<Input> read_input(const PredictOptions& options) {
  if (options.job.empty())
    return usage_error("predict needs a job file", "for example: trunkline predict job.yaml --platform platform.yaml");
  if (options.platforms.empty())
    return usage_error("predict needs at least one --platform FILE", "for example: trunkline predict job.yaml --platform platform.yaml");
  Input input;
  for (const auto& text : options.sets) {
    TRUNKLINE_ASSIGN(setting, setting_from(text));
    input.settings.push_back(std::move(setting));
  }
  for (const auto& text : options.sweeps) {
    TRUNKLINE_ASSIGN(sweep, sweep_from(text));
    input.sweeps.push_back(std::move(sweep));
  }
  if (!options.baseline.empty()) {
    const auto gpus = parse_integer(options.baseline);
    if (!gpus || *gpus < 1 || *gpus > 10'000'000)
      return usage_error(fmt::format("--baseline takes a number of GPUs, found \"{}\"", excerpt(options.baseline)),
                         "for example --baseline 8");
    input.baseline = int(*gpus);
  }
  const auto metrics = report::sweep_metrics();
  if (!options.show.empty() && std::find(metrics.begin(), metrics.end(), options.show) == metrics.end()) {
    return usage_error(fmt::format("--show: no such figure, \"{}\"", excerpt(options.show)), did_you_mean(options.show, metrics));
  }
  input.slots = !options.timeline.empty();
  if (options.network != "nic" && options.network != "flow") {
    return usage_error(fmt::format("--network: nic or flow, found \"{}\"", excerpt(options.network)),
                       "nic: the network cards alone limit traffic; flow: besides, every flow on its own path through the fabric");
  }
  input.network = options.network == "flow" ? predict::Network::flow : predict::Network::nic;
  if (!options.calibration.empty()) {
    TRUNKLINE_ASSIGN(calibration, calibrate::read_calibration(options.calibration));
    input.calibration = std::move(calibration);
  }
  input.job_file = options.job;
  TRUNKLINE_ASSIGN(job, io::read_value(options.job));
  input.job = std::move(job);
  for (const auto& file : options.platforms) {
    TRUNKLINE_ASSIGN(platform, io::read_value(file));
    input.platforms.emplace_back(file, std::move(platform));
  }
  return input;
}

// The same job for each GPU on `gpus` GPUs: fewer nodes, or where that is less than one a smaller node; the batch shrinks with them.
Result<void> shrink(int gpus, workload::Job& job, topology::Platform& platform) {
  const int all = platform.gpus(), replica = job.parallelism.tp * job.parallelism.pp * job.parallelism.cp;
  if (gpus > all || gpus % replica != 0 || (gpus > platform.node.gpus && gpus % platform.node.gpus != 0)) {
    return usage_error(fmt::format("--baseline {}: not a part of the {} GPUs of \"{}\" that holds whole copies of {} GPUs", gpus, all,
                                   platform.name, replica),
                       fmt::format("a multiple of {} up to {} GPUs, whole nodes of {} beyond one", replica, all, platform.node.gpus));
  }
  const int per_replica = all / replica;
  if (job.batch.global % per_replica != 0)
    return usage_error(fmt::format("--baseline {}: the batch cannot be shared out", gpus),
                       "use a batch that is a multiple of the data-parallel ranks");
  job.batch.global = job.batch.global / per_replica * (gpus / replica);
  job.parallelism.dp = gpus / replica;
  if (gpus <= platform.node.gpus) {
    platform.nodes = 1;
    platform.node.gpus = gpus;
  } else {
    platform.nodes = gpus / platform.node.gpus;
  }
  return {};
}

Result<void> scale_against(int gpus, const calibrate::Applied& applied, predict::Prediction& prediction) {
  workload::Job job = prediction.job;
  topology::Platform small = applied.platform;
  TRUNKLINE_TRY(shrink(gpus, job, small));
  predict::Options options;
  options.extras = false;
  TRUNKLINE_ASSIGN(base, predict::predict(job, predict::PlatformModel(small, applied.efficiencies), options));
  prediction.scaling.baseline_gpus = gpus;
  prediction.scaling.speedup = prediction.samples_per_s / base.samples_per_s;
  prediction.scaling.efficiency = prediction.scaling.speedup * gpus / prediction.gpus;
  return {};
}

// A job that does not match a platform is nobody's line; the block that asks for it is where a person has to look.
Error placed(Error error, const io::Value& job, const std::string& file) {
  if (error.where.file != file || error.where.line > 0) return error;
  const bool format = error.message.starts_with("training.precision");
  const io::Value* block = job.find(format ? "training" : error.message.find("batch") != std::string::npos ? "batch" : "parallelism");
  if (const io::Value* precision = format && block ? block->find("precision") : nullptr) block = precision;
  if (block && block->where().file == file) error.where.line = block->where().line;
  return error;
}

// Errors of the files themselves; a job that the platform cannot run ends up in the entry.
Result<report::PredictionEntry> predict_one(const Input& input, const std::vector<Setting>& point, const std::string& file,
                                            const io::Value& content) {
  io::Value job_value = input.job, platform_value = content;
  for (const auto& settings : {input.settings, point}) {
    TRUNKLINE_TRY(apply(settings, false, job_value));
    TRUNKLINE_TRY(apply(settings, true, platform_value));
  }
  TRUNKLINE_ASSIGN(job, workload::job_from(job_value, std::filesystem::path(input.job_file).parent_path().string()));
  job.file = input.job_file;
  TRUNKLINE_ASSIGN(platform, topology::platform_from(platform_value));
  platform.file = file;
  TRUNKLINE_ASSIGN(applied, calibrated(platform, input.calibration));
  report::PredictionEntry entry;
  entry.platform = platform.name;
  for (const Setting& setting : point) entry.swept.emplace_back(setting.key, setting.value);
  predict::Options options;
  options.slots = input.slots;
  options.network = input.network;
  auto prediction = predict::predict(job, predict::PlatformModel(applied.platform, applied.efficiencies), options);
  if (prediction && input.baseline) {
    if (const auto scaled = scale_against(*input.baseline, applied, *prediction); !scaled) prediction = fail(scaled.error());
  }
  if (prediction)
    entry.prediction = std::move(*prediction);
  else
    entry.error = placed(prediction.error(), job_value, input.job_file);
  return entry;
}

// Two files of the same name must not look like one platform.
void tell_apart(const Input& input, report::PredictionSet& set) {
  const std::size_t files = input.platforms.size();
  for (std::size_t i = 0; i < set.entries.size(); ++i) {
    for (std::size_t j = 0; j < i % files; ++j) {
      auto& name = set.entries[i].platform;
      if (name == set.entries[i - i % files + j].platform) name += fmt::format(" ({})", input.platforms[i % files].first);
    }
    if (set.entries[i].prediction) set.entries[i].prediction->platform = set.entries[i].platform;
  }
}

Result<int> predict_all(const PredictOptions& options, Session& session) {
  if (!options.timeline.empty()) TRUNKLINE_TRY(check_writable(options.timeline));
  TRUNKLINE_ASSIGN(input, read_input(options));
  TRUNKLINE_ASSIGN(points, points_of(input.sweeps, input.settings));
  report::PredictionSet set;
  set.show = options.show;
  std::size_t failed = 0;
  for (const auto& point : points) {
    for (const auto& [file, content] : input.platforms) {
      TRUNKLINE_ASSIGN(entry, predict_one(input, point, file, content));
      failed += !entry.prediction;
      set.entries.push_back(std::move(entry));
    }
  }
  if (failed == set.entries.size()) return fail(set.entries.front().error);
  tell_apart(input, set);
  if (!options.timeline.empty()) TRUNKLINE_TRY(write_answer(options.timeline, report::timeline_json(set, session.context)));
  TRUNKLINE_TRY(session.output.write(report::predictions_document(set, session.context)));
  return failed > 0 ? 1 : 0;
}

}  // namespace

Command predict_command() {
  Command command;
  command.name = "predict";
  command.arguments = "JOB --platform FILE…";
  command.answers = "how long a step, an epoch and a job take there, and why not less";
  command.examples = {{"trunkline predict job.yaml --platform a.yaml --platform b.yaml", "two offers side by side"},
                      {"trunkline predict job.yaml --platform a.yaml --set parallelism.tp=4", "another value of a key"},
                      {"trunkline predict job.yaml --platform a.yaml --sweep platform.node.count=1,2,4", "one line a value"},
                      {"trunkline predict job.yaml --platform a.yaml --network flow", "with routing, placement and oversubscription"},
                      {"trunkline predict job.yaml --platform a.yaml --json -", "for programs"}};
  command.notes =
      "Keys of --set and --sweep: those of `trunkline schema job`, and with the prefix platform. those of `trunkline schema platform`.";
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<PredictOptions>();
    app.add_option("JOB", o->job, "a job file");
    app.add_option("-p,--platform", o->platforms, "a platform file; may be given several times")
        ->type_name("FILE")
        ->allow_extra_args(false);
    app.add_option("--set", o->sets, "change a key of the job, or platform.KEY of the platform; several times")
        ->type_name("KEY=VALUE")
        ->allow_extra_args(false);
    app.add_option("--sweep", o->sweeps, "one line for each value; several: each combination")
        ->type_name("KEY=A,B,C")
        ->allow_extra_args(false);
    app.add_option("--show", o->show, "what a sweep shows: " + join(report::sweep_metrics(), ", "))->type_name("FIGURE");
    app.add_option("--baseline", o->baseline, "number of GPUs that scaling is counted from; default: the smallest copy")->type_name("GPUS");
    app.add_option("--calibration", o->calibration, "measured efficiencies, as trunkline calibrate writes them")->type_name("FILE");
    app.add_option("--network", o->network, "nic: the cards limit traffic between nodes; flow: the fabric too, every flow on its own path")
        ->type_name("MODEL");
    app.add_option("--timeline", o->timeline, "write who computes when, for ui.perfetto.dev")->type_name("FILE")->group(kWritten);
    return [o](Session& session) { return predict_all(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
