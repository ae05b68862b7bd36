#include "workload/job.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "workload/framework.hpp"
#include "workload/job_check.hpp"
#include "workload/job_spec.hpp"

namespace trunkline::workload {
namespace {

using catalog::Precision;

// Collects what the reader decides in the file's place.
class Notes {
 public:
  explicit Notes(Job& job) : job_(job) {}
  void add(std::string key, std::string taken) { job_.assumed.emplace_back(std::move(key), std::move(taken)); }

 private:
  Job& job_;
};

const io::Value& block_of(const io::Value& value, const char* key) {
  static const io::Value nothing;
  const io::Value* found = value.find(key);
  return found ? *found : nothing;
}

bool states(const io::Value& map, const char* key) {
  const io::Value* value = map.find(key);
  return value && !value->is_null() && !(value->is_scalar() && value->text() == "auto");
}

bool says_auto(const io::Value& map, const char* key) {
  const io::Value* value = map.find(key);
  return value && value->is_scalar() && value->text() == "auto";
}

// The choice under `key`, else `fallback`, noted.
template <class E, class From>
E choice_or(const io::Value& map, const char* key, E fallback, From from, Notes& notes, const char* path) {
  if (const auto text = states(map, key) ? io::get_text(map, key) : std::nullopt) {
    if (const auto found = from(*text)) return *found;
  }
  notes.add(path, fmt::format("{} (not stated)", name_of(fallback)));
  return fallback;
}

void read_precision(const io::Value& training, Job& job, Notes& notes) {
  const io::Value& block = block_of(training, "precision");
  if (block.is_null()) {
    job.open.precision = true;
    notes.add("training.precision", "bf16, or fp16 on GPUs without it (not stated)");
  }
  Precisions& p = job.precision;
  if (block.is_scalar()) p.compute = *precision_from(block.text());
  if (const auto text = io::get_text(block, "compute")) p.compute = *precision_from(*text);
  p.parameters = parameter_habit(job.framework, p.compute);
  if (const auto text = io::get_text(block, "parameters")) {
    p.parameters = *precision_from(*text);
  } else {
    notes.add("training.precision.parameters", fmt::format("{} (the habit of {})", catalog::name_of(p.parameters), name_of(job.framework)));
  }
  if (const auto text = io::get_text(block, "optimizer")) {
    p.optimizer = *precision_from(*text);
  } else {
    notes.add("training.precision.optimizer", "fp32 (not stated)");
  }
}

Result<void> read_training(const io::Value& value, Job& job, Notes& notes) {
  const io::Value& training = block_of(value, "training");
  job.kind = choice_or(training, "kind", TrainingKind::full, words::kind_from, notes, "training.kind");
  job.framework = choice_or(training, "framework", Framework::megatron, framework_from, notes, "training.framework");
  job.optimizer = choice_or(training, "optimizer", Optimizer::adamw, words::optimizer_from, notes, "training.optimizer");
  read_precision(training, job, notes);
  job.open.recompute = !states(training, "recompute");
  if (job.open.recompute) {
    notes.add("training.recompute", "chosen (not stated)");
  } else {
    job.recompute = *recompute_from(*io::get_text(training, "recompute"));
  }
  const auto share = io::get_number(training, "recompute_share");
  if (share && (job.open.recompute || job.recompute != Recompute::full)) {
    return bad_input(training.find("recompute_share")->where(),
                     "training.recompute_share: it means a share of the layers under recompute: full",
                     "write recompute: full, or remove the key");
  }
  job.recompute_share = share.value_or(1);
  job.compile = io::get_bool(training, "compile").value_or(job.framework == Framework::pytorch_compile);
  job.flash_attention = io::get_bool(training, "flash_attention");
  if (const auto library = io::get_text(training, "library"); library && *library == "plain") job.library = Library::plain;
  const io::Value& lora = block_of(training, "lora");
  if (job.kind == TrainingKind::full) {
    if (lora.is_null()) return {};
    return bad_input(lora.where(), "training.lora: adapters are described, but training.kind is full",
                     "write kind: lora or kind: qlora, or remove the block");
  }
  if (const auto rank = io::get_integer(lora, "rank")) {
    job.lora.rank = int(*rank);
  } else {
    notes.add("training.lora.rank", fmt::format("{} (not stated)", job.lora.rank));
  }
  if (const auto targets = io::get_text(lora, "targets")) {
    job.lora.all_linear = *targets == "all_linear";
  } else {
    notes.add("training.lora.targets", "all_linear (not stated)");
  }
  return {};
}

Result<void> read_batch(const io::Value& value, Job& job, Notes& notes) {
  const io::Value& batch = block_of(value, "batch");
  job.batch.global = *io::get_integer(batch, "global");
  job.open.micro = !states(batch, "micro");
  if (job.open.micro) {
    notes.add("batch.micro", "chosen (not stated)");
  } else {
    job.batch.micro = *io::get_integer(batch, "micro");
  }
  if (const auto sequence = io::get_integer(batch, "sequence")) {
    job.batch.sequence = *sequence;
    return {};
  }
  const bool language = job.model.kind == Model::Kind::causal_lm || job.model.kind == Model::Kind::masked_lm;
  if (!language) return {};
  return bad_input(batch.where(), fmt::format("batch lacks the key \"sequence\", which {} needs", job.model.name),
                   "sequence: tokens a sample, such as 4096");
}

// One degree of parallelism. Inside a block that the user wrote, an absent degree is 1 (noted) and only `auto` leaves it
// open; without a block everything is open.
void read_degree(const io::Value& block, const char* key, int& degree, bool& open, Notes& notes) {
  if (states(block, key)) {
    degree = int(*io::get_integer(block, key));
  } else if (!block.is_map() || says_auto(block, key)) {
    open = true;
  } else {
    notes.add(fmt::format("parallelism.{}", key), "1 (not stated)");
  }
}

void read_sharding(const io::Value& block, Job& job, Notes& notes) {
  job.open.sharding = !states(block, "sharding");
  if (job.open.sharding) {
    notes.add("parallelism.sharding", "chosen (not stated)");
  } else {
    job.parallelism.sharding = *sharding_from(*io::get_text(block, "sharding"));
  }
  if (const auto group = io::get_integer(block, "shard_group")) job.parallelism.shard_group = int(*group);
  if (job.parallelism.sharding == Sharding::hsdp && job.parallelism.shard_group == 0)
    notes.add("parallelism.shard_group", "one node (not stated)");
}

void read_parallelism(const io::Value& value, Job& job, Notes& notes) {
  const io::Value& block = block_of(value, "parallelism");
  Parallelism& p = job.parallelism;
  if (!block.is_map()) notes.add("parallelism", "chosen (auto or not stated)");
  read_degree(block, "tp", p.tp, job.open.tp, notes);
  read_degree(block, "pp", p.pp, job.open.pp, notes);
  read_degree(block, "vpp", p.vpp, job.open.vpp, notes);
  read_degree(block, "cp", p.cp, job.open.cp, notes);
  read_degree(block, "ep", p.ep, job.open.ep, notes);
  job.open.dp = !states(block, "dp");
  if (job.open.dp) {
    if (block.is_map() && !says_auto(block, "dp")) notes.add("parallelism.dp", "all GPUs that the other degrees leave (not stated)");
  } else {
    p.dp = int(*io::get_integer(block, "dp"));
  }
  if (const auto etp = io::get_integer(block, "etp")) p.etp = int(*etp);
  read_sharding(block, job, notes);
  if (const auto schedule = io::get_text(block, "schedule")) p.schedule = *words::schedule_from(*schedule);
  const auto stated = io::get_bool(block, "sequence_parallel");
  job.open.sequence_parallel = !stated;
  p.sequence_parallel = stated.value_or(behaviour_of(job.framework, catalog::Generation::other).sequence_parallel);
}

void read_data(const io::Value& value, Job& job, Notes& notes) {
  const io::Value& block = block_of(value, "data");
  if (!block.is_map()) return;
  Data data;
  data.samples = *io::get_number(block, "samples");
  data.bytes_per_sample = *io::get_bytes(block, "bytes_per_sample");
  data.source = choice_or(block, "source", DataSource::ingest, words::source_from, notes, "data.source");
  data.staging = choice_or(block, "staging", data.source == DataSource::ingest ? Staging::before : Staging::none, words::staging_from,
                           notes, "data.staging");
  data.packed = io::get_bool(block, "packed").value_or(true);
  if (!states(block, "packed")) notes.add("data.packed", "true: shards of 256 MiB, read in order (not stated)");
  job.data = data;
}

// "1000 steps"
Result<std::int64_t> steps_from(const io::Value& every) {
  const std::string_view text = trim(every.text());
  const auto space = text.find_first_of(" \t");
  const std::string_view unit = space == std::string_view::npos ? std::string_view() : trim(text.substr(space));
  const auto number = parse_integer(text.substr(0, space));
  if (!number || *number < 1 || (unit != "steps" && unit != "step")) {
    return bad_input(every.where(), fmt::format("checkpoint.every: found {}, expected a number of steps", every.describe()),
                     "write it with its unit: every: 1000 steps");
  }
  return *number;
}

Result<void> read_checkpoint(const io::Value& value, Job& job, Notes& notes) {
  const io::Value& block = block_of(value, "checkpoint");
  if (!block.is_map()) return {};
  Checkpoint checkpoint;
  TRUNKLINE_ASSIGN(steps, steps_from(*block.find("every")));
  checkpoint.every_steps = steps;
  checkpoint.to = choice_or(block, "to", CheckpointTarget::volume, words::target_from, notes, "checkpoint.to");
  checkpoint.mode = choice_or(block, "mode", CheckpointMode::sync, words::mode_from, notes, "checkpoint.mode");
  job.checkpoint = checkpoint;
  return {};
}

Result<void> read_run(const io::Value& value, Job& job) {
  const io::Value& block = block_of(value, "run");
  if (!block.is_map()) return {};
  job.run.epochs = io::get_number(block, "epochs");
  job.run.steps = io::get_number(block, "steps");
  job.run.tokens = io::get_number(block, "tokens");
  if (int(job.run.epochs.has_value()) + int(job.run.steps.has_value()) + int(job.run.tokens.has_value()) > 1) {
    return bad_input(block.where(), "run: more than one of epochs, steps and tokens", "keep the one that ends the training");
  }
  for (const auto& length : {job.run.epochs, job.run.steps, job.run.tokens}) {
    if (length && *length <= 0) return bad_input(block.where(), "run: a length of 0 trains nothing", "expected more than 0");
  }
  if (job.run.epochs && !job.data) {
    return bad_input(block.where(), "run.epochs: the job describes no dataset, so an epoch has no length",
                     "add data: {samples: …, bytes_per_sample: …}, or give steps or tokens");
  }
  return {};
}

Result<Model> read_model_key(const io::Value& value, const std::string& base_directory) {
  const io::Value* model = value.is_map() ? value.find("model") : nullptr;
  if (model && model->is_scalar())
    TRUNKLINE_TRY(model_of_job(*model, base_directory));  // names the nearest model before the rest is checked
  TRUNKLINE_TRY(io::check(value, job_spec()));
  return model_of_job(*model, base_directory);
}

}  // namespace

catalog::Precision parameter_habit(Framework framework, catalog::Precision compute) {
  if (compute == Precision::fp32 || compute == Precision::tf32) return Precision::fp32;
  switch (framework) {
    case Framework::pytorch_eager:
    case Framework::pytorch_compile:
    case Framework::pytorch_ddp:
    case Framework::pytorch_fsdp:
    case Framework::torchtitan:
    case Framework::composer_fsdp:
    case Framework::maxtext:
    case Framework::pax: return Precision::fp32;
    default: return compute == Precision::fp16 ? Precision::fp16 : Precision::bf16;
  }
}

Result<Job> job_from(const io::Value& value, const std::string& base_directory) {
  TRUNKLINE_ASSIGN(model, read_model_key(value, base_directory));
  Job job;
  job.file = value.where().file;
  job.model = std::move(model);
  job.assumed = job.model.assumed;
  Notes notes(job);
  TRUNKLINE_TRY(read_training(value, job, notes));
  TRUNKLINE_TRY(read_batch(value, job, notes));
  read_parallelism(value, job, notes);
  read_data(value, job, notes);
  TRUNKLINE_TRY(read_checkpoint(value, job, notes));
  TRUNKLINE_TRY(read_run(value, job));
  TRUNKLINE_TRY(check_job(job, value));
  return job;
}

Result<Job> read_job(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  return job_from(value, std::filesystem::path(path).parent_path().string());
}

}  // namespace trunkline::workload
