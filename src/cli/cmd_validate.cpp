#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <set>
#include <thread>

#include "cli/cmd.hpp"
#include "cli/named_files.hpp"
#include "io/csv.hpp"
#include "io/files.hpp"
#include "report/validate_report.hpp"
#include "validate/clip_table.hpp"
#include "validate/columns.hpp"
#include "validate/nccl_evidence.hpp"
#include "validate/nccl_fit.hpp"
#include "validate/training.hpp"

namespace trunkline::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> tables;
  std::string fit;
  int jobs = int(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  bool ablation = false, rows = false, trivial = false;
};

struct Effect {
  const char* name;
  bool timeline::Effects::* on;
};

constexpr Effect kEffects[] = {
    {"overlap of communication and computation", &timeline::Effects::overlap},
    {"pipeline bubbles", &timeline::Effects::bubbles},
    {"host launch cost", &timeline::Effects::launch},
    {"memory-bound kernels", &timeline::Effects::memory_bound},
    {"contention of collectives for SMs", &timeline::Effects::contention},
    {"sustained instead of burst matrix rate", &timeline::Effects::sustained},
    {"tile and wave quantisation", &timeline::Effects::quantisation},
    {"latency and protocols of collectives", &timeline::Effects::latency},
    {"fitted constants", &timeline::Effects::fitted},
};

report::Ablation ablation_of(const std::string& name, const validate::TrainingValidation& v) {
  return {name, v.overall, v.median_of_tables};
}

void add_ablations(const std::vector<io::CsvTable>& tables, const ValidateOptions& o, const Session& session,
                   report::Validation& validation) {
  validation.ablations.push_back(ablation_of("nothing (the model itself)", *validation.training));
  for (const Effect& effect : kEffects) {
    validate::TrainingOptions options;
    options.refit = true;  // without an effect the constants mean something else
    options.jobs = o.jobs;
    options.effects.*effect.on = false;
    session.output.progress(fmt::format("without {}", effect.name));
    validation.ablations.push_back(ablation_of(effect.name, validate::validate_training(tables, options)));
  }
}

Result<void> add_collectives(const io::CsvTable& table, int jobs, report::Validation& validation) {
  TRUNKLINE_ASSIGN(rows, validate::validate_collectives(table));
  report::CollectiveTable out{table.file(), std::move(rows), {}, false, {}};
  out.left_out = validate::holds_all_fitted_systems(out.rows);
  if (out.left_out) out.rows = validate::leave_one_system_out(std::move(out.rows), jobs);
  out.summary = validate::summary_of(out.rows);
  for (const auto& s : out.summary.systems) {
    if (s.median_abs > validate::kLargeMiss) out.far_off.push_back({s.system, validate::evidence_of(out.rows, s.system)});
  }
  validation.collectives.push_back(std::move(out));
  return {};
}

// Reads one table; training tables are kept aside, as leaving one out needs them all.
Result<void> add_table(const std::string& file, const ValidateOptions& o, const Session& session, std::vector<io::CsvTable>& training,
                       report::Validation& validation) {
  TRUNKLINE_ASSIGN(table, io::CsvTable::read(file));
  const auto kind = validate::kind_of(table);
  if (!kind) return bad_input({file, 1}, "no kind of table is known by these columns", "looked for " + validate::columns_looked_for());
  session.output.progress(fmt::format("{}: {} rows", file, table.rows().size()));
  validation.files.push_back({file, *kind, int(table.rows().size()), validate::unused_columns(*kind, table)});
  switch (*kind) {
    case validate::TableKind::training: training.push_back(std::move(table)); break;
    case validate::TableKind::collectives: return add_collectives(table, o.jobs, validation);
    case validate::TableKind::clip: {
      TRUNKLINE_ASSIGN(fitted, validate::validate_clip(table));
      auto rows = validate::leave_one_table_out(std::move(fitted));
      auto summary = validate::summary_of(rows);
      validation.clips.push_back({file, std::move(rows), std::move(summary)});
      break;
    }
    case validate::TableKind::storage: {
      TRUNKLINE_ASSIGN(rows, validate::validate_storage(table));
      auto summary = validate::summary_of(rows);
      validation.storages.push_back({file, std::move(rows), std::move(summary)});
      break;
    }
    case validate::TableKind::point_to_point: {
      TRUNKLINE_ASSIGN(rows, validate::validate_point_to_point(table));
      auto summary = validate::summary_of(rows);
      validation.links.push_back({file, std::move(rows), std::move(summary)});
      break;
    }
  }
  return {};
}

Result<int> validate_tables(const ValidateOptions& o, Session& session) {
  if (o.tables.empty()) return usage_error("validate needs at least one table", "for example: trunkline validate data/published/*.csv");
  if (o.jobs < 1 || o.jobs > 256) return usage_error(fmt::format("--jobs {}: 1 to 256 threads", o.jobs), "leave it out for one a core");
  if (!o.fit.empty()) TRUNKLINE_TRY(check_writable(o.fit));
  report::Validation validation;
  validation.rows = o.rows;
  std::vector<io::CsvTable> training;
  std::set<std::string> seen;
  std::error_code ignored;  // what cannot be opened is said when it is read
  for (const auto& file : o.tables) {
    if (seen.insert(std::filesystem::weakly_canonical(file, ignored).string()).second)
      TRUNKLINE_TRY(add_table(file, o, session, training, validation));
    else
      session.output.progress(file + ": given twice, read once");
  }
  if (training.empty() && (o.ablation || o.trivial || !o.fit.empty())) {
    return usage_error("--fit, --ablation and --trivial need a training table",
                       "training tables have the columns iter_time_s, layers, gpus");
  }
  validate::TrainingOptions options;
  options.refit = !o.fit.empty() || o.ablation;
  options.jobs = o.jobs;
  if (!training.empty()) validation.training = validate::validate_training(training, options);
  if (o.trivial) validation.trivial = validate::trivial_predictor(training);
  if (o.ablation) add_ablations(training, o, session, validation);
  if (!o.fit.empty()) TRUNKLINE_TRY(write_answer(o.fit, predict::to_yaml(validation.training->constants)));
  TRUNKLINE_TRY(session.output.write(report::validation_document(validation, session.context)));
  return 0;
}

}  // namespace

Command validate_command() {
  Command command;
  command.name = "validate";
  command.arguments = "TABLE…";
  command.answers = "how far predictions are from published or measured results";
  command.examples = {{"trunkline validate data/published/*.csv", "error a table, framework and GPU generation"},
                      {"trunkline validate data/published/*.csv --ablation", "what each effect of the model contributes"}};
  command.notes =
      "The kind of a table is known by its columns. Every table is judged by constants fitted without its rows. Nothing that cannot be "
      "read is taken for a default: such a row is skipped with its reason.";
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<ValidateOptions>();
    app.add_option("TABLE", o->tables, "CSV tables of results");
    app.add_option("--fit", o->fit, "write the constants fitted to all given training tables")->type_name("FILE")->group(kWritten);
    app.add_option("--jobs", o->jobs, "threads, one a core unless told otherwise; the answer is the same with any number")->type_name("N");
    app.add_flag("--ablation", o->ablation, "the error with each effect of the model switched off");
    app.add_flag("--rows", o->rows, "show every row");
    app.add_flag("--trivial", o->trivial, "beside it the predictor to beat: model FLOPs over one rate a GPU type");
    return [o](Session& session) { return validate_tables(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
