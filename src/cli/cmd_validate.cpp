#include <fmt/format.h>

#include <memory>

#include "cli/cmd.hpp"
#include "io/csv.hpp"
#include "io/files.hpp"
#include "report/validate_report.hpp"
#include "validate/clip_table.hpp"
#include "validate/nccl_table.hpp"
#include "validate/training.hpp"

namespace trunkline::cli {
namespace {

struct ValidateOptions {
  std::vector<std::string> tables;
  std::string fit;
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

enum class TableKind { training, collectives, clip, other };

// By its columns, as nobody should have to say what a table is.
TableKind kind_of(const io::CsvTable& table) {
  if (table.has("iter_time_s")) return TableKind::training;
  if (table.has("busbw_GBs")) return TableKind::collectives;
  if (table.has("image_width") && table.has("samples_s")) return TableKind::clip;
  return TableKind::other;
}

report::OtherTable other_table(const io::CsvTable& table) {
  report::OtherTable other{table.file(), {}};
  for (const auto& row : table.rows()) {
    const std::string& id = table.cell(row, "row_id");
    other.rows.emplace_back(id.empty() ? fmt::format("line {}", row.line) : id, table.cell(row, "table_id"));
  }
  return other;
}

report::Ablation ablation_of(const std::string& name, const validate::TrainingValidation& v) {
  return {name, v.overall, v.median_of_tables};
}

void add_ablations(const std::vector<io::CsvTable>& tables, const Session& session, report::Validation& validation) {
  validation.ablations.push_back(ablation_of("nothing (the model itself)", *validation.training));
  for (const Effect& effect : kEffects) {
    validate::TrainingOptions options;
    options.refit = true;  // without an effect the constants mean something else
    options.effects.*effect.on = false;
    session.output.progress(fmt::format("without {}", effect.name));
    validation.ablations.push_back(ablation_of(effect.name, validate::validate_training(tables, options)));
  }
}

// Reads one table; training tables are kept aside, as leaving one out needs them all.
Result<void> add_table(const std::string& file, const Session& session, std::vector<io::CsvTable>& training,
                       report::Validation& validation) {
  TRUNKLINE_ASSIGN(table, io::CsvTable::read(file));
  session.output.progress(fmt::format("{}: {} rows", file, table.rows().size()));
  switch (kind_of(table)) {
    case TableKind::training: training.push_back(std::move(table)); break;
    case TableKind::collectives: {
      TRUNKLINE_ASSIGN(rows, validate::validate_collectives(table));
      auto summary = validate::summary_of(rows);
      validation.collectives.push_back({file, std::move(rows), std::move(summary)});
      break;
    }
    case TableKind::clip: {
      TRUNKLINE_ASSIGN(fitted, validate::validate_clip(table));
      auto rows = validate::leave_one_table_out(std::move(fitted));
      auto summary = validate::summary_of(rows);
      validation.clips.push_back({file, std::move(rows), std::move(summary)});
      break;
    }
    case TableKind::other: validation.others.push_back(other_table(table)); break;
  }
  return {};
}

Result<int> validate_tables(const ValidateOptions& o, Session& session) {
  if (o.tables.empty()) return usage_error("validate needs at least one table", "for example: trunkline validate data/published/*.csv");
  if (!o.fit.empty()) TRUNKLINE_TRY(check_writable(o.fit));
  report::Validation validation;
  validation.rows = o.rows;
  std::vector<io::CsvTable> training;
  for (const auto& file : o.tables) TRUNKLINE_TRY(add_table(file, session, training, validation));
  if (validation.others.size() == o.tables.size()) {
    return bad_input({o.tables.front(), 1}, "no kind of table is known by these columns",
                     "training tables have iter_time_s, collective tables busbw_GBs, CLIP tables image_width");
  }
  if (training.empty() && (o.ablation || o.trivial || !o.fit.empty())) {
    return usage_error("--fit, --ablation and --trivial need a training table", "training tables have the column iter_time_s");
  }
  validate::TrainingOptions options;
  options.refit = !o.fit.empty() || o.ablation;
  if (!training.empty()) validation.training = validate::validate_training(training, options);
  if (o.trivial) validation.trivial = validate::trivial_predictor(training);
  if (o.ablation) add_ablations(training, session, validation);
  if (!o.fit.empty()) TRUNKLINE_TRY(io::write_file(o.fit, predict::to_yaml(validation.training->constants)));
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
  command.notes = "The kind of a table is known by its columns. Every table is judged by constants fitted without its rows.";
  command.declare = [](CLI::App& app) -> Action {
    auto o = std::make_shared<ValidateOptions>();
    app.add_option("TABLE", o->tables, "CSV tables of results");
    app.add_option("--fit", o->fit, "write the constants fitted to all given training tables")->type_name("FILE");
    app.add_flag("--ablation", o->ablation, "the error with each effect of the model switched off");
    app.add_flag("--rows", o->rows, "show every row");
    app.add_flag("--trivial", o->trivial, "beside it the predictor to beat: model FLOPs over one rate a GPU type");
    return [o](Session& session) { return validate_tables(*o, session); };
  };
  return command;
}

}  // namespace trunkline::cli
