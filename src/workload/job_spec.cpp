// Every key that may stand in a job file.
#include "workload/job_spec.hpp"

#include "io/spec.hpp"

namespace trunkline::workload {
namespace {

using io::FieldSpec;
using io::FieldType;
using io::ObjectSpec;

FieldSpec degree(const char* name, const char* doc) {
  return {.name = name, .type = FieldType::integer, .doc = doc, .also = {"auto"}, .min = 1, .max = 1e6};
}

FieldSpec whole(const char* name, const char* doc, double min, double max, bool required = false) {
  return {.name = name, .type = FieldType::integer, .doc = doc, .required = required, .min = min, .max = max};
}

FieldSpec because(FieldSpec field, const char* why) {
  field.why = why;
  return field;
}

FieldSpec choice(const char* name, const char* doc, std::vector<std::string> choices, std::vector<std::string> also = {}) {
  return {.name = name, .type = FieldType::choice, .doc = doc, .choices = std::move(choices), .also = std::move(also)};
}

FieldSpec yes_no(const char* name, const char* doc) { return {.name = name, .type = FieldType::boolean, .doc = doc}; }

FieldSpec block(const char* name, const char* doc, const ObjectSpec& object, std::vector<std::string> also = {}, bool required = false) {
  return {.name = name, .type = FieldType::object, .doc = doc, .required = required, .object = &object, .also = std::move(also)};
}

const ObjectSpec& precision_spec() {
  static const ObjectSpec spec{
      "job.training.precision",
      "number formats; one word sets compute and leaves the rest to the framework's habit",
      {choice("compute", "of the matrix products", words::precisions()),
       choice("parameters", "in which the weights are kept", {"fp32", "fp16", "bf16"}),
       choice("optimizer", "of the optimizer's states; fp32 beside 16-bit weights means a master copy too", {"fp32", "fp16", "bf16"})}};
  return spec;
}

const ObjectSpec& lora_spec() {
  static const ObjectSpec spec{
      "job.training.lora",
      "low-rank adapters beside frozen weights",
      {whole("rank", "rank of each adapter", 1, 65536),
       choice("targets", "matrices that get an adapter: attention's four, or every linear layer", {"attention", "all_linear"})}};
  return spec;
}

const ObjectSpec& training_spec() {
  static const ObjectSpec spec{
      "job.training",
      "how the model is trained",
      {choice("kind", "all weights, adapters, or adapters beside 4-bit weights", words::kinds()),
       block("precision", "number formats", precision_spec(), words::precisions()),
       choice("optimizer", "the update rule", words::optimizers()),
       choice("framework", "whose habits the step follows", words::frameworks()),
       choice("recompute", "activations computed again in backward; auto or absent = the least that fits", words::recomputes(), {"auto"}),
       {.name = "recompute_share",
        .type = FieldType::number,
        .doc = "share of the layers that recompute: full applies to",
        .min = 0,
        .max = 1},
       yes_no("compile", "kernels are fused by a compiler (torch.compile)"),
       choice("library", "whose modules, for pytorch-eager, -ddp and -compile; absent = transformers", {"transformers", "plain"}),
       yes_no("flash_attention", "attention without a stored score matrix; absent = the framework's habit"),
       block("lora", "adapters, for kind lora and qlora", lora_spec())}};
  return spec;
}

const ObjectSpec& batch_spec() {
  static const ObjectSpec spec{"job.batch",
                               "samples a step",
                               {because(whole("global", "samples a step, all GPUs together", 1, 1e8, true),
                                        "no published run takes more than some 1e6 samples a step"),
                                {.name = "micro",
                                 .type = FieldType::integer,
                                 .doc = "samples a GPU passes at once; auto or absent = chosen",
                                 .also = {"auto"},
                                 .min = 1,
                                 .max = 1e6},
                                because(whole("sequence", "tokens a sample; needed for language models", 1, 1e7),
                                        "the longest published contexts have 1e7 tokens")}};
  return spec;
}

const ObjectSpec& parallelism_spec() {
  static const ObjectSpec spec{
      "job.parallelism",
      "how the work is split; auto or absent = chosen",
      {degree("tp", "tensor parallelism"), degree("pp", "pipeline stages"), degree("vpp", "model chunks a stage (interleaved schedule)"),
       degree("dp", "data parallelism"), degree("cp", "context parallelism: ranks that share one sequence"),
       degree("ep", "expert parallelism"), degree("etp", "tensor parallelism inside an expert; absent = as tp"),
       choice("sharding",
              "what data-parallel ranks share out: optimizer (zero1), gradients too (zero2), weights too (zero3 = fsdp), or within a group "
              "(hsdp)",
              words::shardings(), {"auto"}),
       degree("shard_group", "ranks that share one copy under hsdp; absent = one node"),
       choice("schedule", "how a pipeline orders its micro-batches; interleaving follows from vpp", words::schedules()),
       yes_no("sequence_parallel", "norms and dropout are split over tensor-parallel ranks")}};
  return spec;
}

const ObjectSpec& data_spec() {
  static const ObjectSpec spec{
      "job.data",
      "the dataset and how it arrives",
      {{.name = "samples", .type = FieldType::number, .doc = "samples in the dataset", .required = true, .min = 1, .max = 1e15},
       {.name = "bytes_per_sample",
        .type = FieldType::bytes,
        .doc = "mean size of a stored sample",
        .required = true,
        .low = "1 B",
        .high = "1 TB",
        .why = "one sample is read into the memory of one node"},
       choice("source", "where it lies: behind the ingest line, on the storage volume, on local disks", words::sources()),
       choice("staging", "copied to the platform's own storage before training, while training, or never", words::stagings()),
       yes_no("packed", "many samples a file, read in order; absent = true, shards of 256 MiB")}};
  return spec;
}

const ObjectSpec& checkpoint_spec() {
  static const ObjectSpec spec{"job.checkpoint",
                               "saving the state",
                               {{.name = "every", .type = FieldType::text, .doc = "how often, such as 1000 steps", .required = true},
                                choice("to", "the storage volume or local disks", words::targets()),
                                choice("mode", "training waits, or goes on while it is written", words::modes())}};
  return spec;
}

const ObjectSpec& run_spec() {
  static const ObjectSpec spec{
      "job.run",
      "how long: one of the three",
      {{.name = "epochs", .type = FieldType::number, .doc = "passes over the dataset", .min = 0, .max = 1e9},
       {.name = "steps", .type = FieldType::number, .doc = "optimizer updates", .min = 0, .max = 1e15},
       {.name = "tokens", .type = FieldType::number, .doc = "tokens trained on, such as 2e12", .min = 0, .max = 1e18}}};
  return spec;
}

}  // namespace

const io::ObjectSpec& job_spec() {
  static const ObjectSpec spec{
      "job",
      "a training job: model, data, parallelism and schedule",
      {block("model", "a built-in name, or a block of keys", model_spec(), builtin_model_names(), true),
       block("training", "how the model is trained", training_spec()), block("batch", "samples a step", batch_spec(), {}, true),
       block("parallelism", "how the work is split", parallelism_spec(), {"auto"}), block("data", "the dataset", data_spec()),
       block("checkpoint", "saving the state", checkpoint_spec()), block("run", "how long", run_spec())}};
  return spec;
}

}  // namespace trunkline::workload
