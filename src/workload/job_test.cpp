#include "workload/job.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>

#include "base/text.hpp"

namespace trunkline::workload {
namespace {

Result<Job> from(const std::string& yaml) {
  auto value = io::parse_yaml(yaml, "job.yaml");
  EXPECT_TRUE(value) << value.error().text();
  return job_from(*value, "");
}

std::string assumed(const Job& job, const std::string& key) {
  for (const auto& [name, taken] : job.assumed) {
    if (name == key) return taken;
  }
  return {};
}

// The example of the design, every key stated.
const std::string kFull = R"(model: llama-2-70b
training: {kind: full, precision: {compute: bf16, parameters: bf16, optimizer: fp32}, optimizer: adamw, framework: megatron, recompute: selective, compile: false, flash_attention: true}
batch: {global: 1024, micro: 1, sequence: 4096}
parallelism: {tp: 8, pp: 4, vpp: 1, dp: auto, cp: 1, ep: 1, sharding: zero1, sequence_parallel: true}
data: {samples: 100e6, bytes_per_sample: 28.5 KB, source: ingest, staging: before, packed: true}
checkpoint: {every: 1000 steps, to: volume, mode: async}
run: {epochs: 1}
)";

TEST(Job, EveryKeyArrives) {
  const auto job = from(kFull);
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(job->model.name, "llama-2-70b");
  EXPECT_EQ(job->file, "job.yaml");
  EXPECT_EQ(job->kind, TrainingKind::full);
  EXPECT_EQ(job->framework, Framework::megatron);
  EXPECT_EQ(job->recompute, Recompute::selective);
  EXPECT_EQ(job->flash_attention, true);
  EXPECT_EQ(job->batch.global, 1024);
  EXPECT_EQ(job->batch.sequence, 4096);
  EXPECT_EQ(job->parallelism.tp, 8);
  EXPECT_EQ(job->parallelism.pp, 4);
  EXPECT_EQ(job->parallelism.sharding, Sharding::zero1);
  EXPECT_TRUE(job->parallelism.sequence_parallel);
  EXPECT_EQ(job->data->samples, 1e8);
  EXPECT_EQ(job->data->bytes_per_sample, bytes(28500));
  EXPECT_EQ(job->data->staging, Staging::before);
  EXPECT_EQ(job->checkpoint->every_steps, 1000);
  EXPECT_EQ(job->checkpoint->mode, CheckpointMode::async);
  EXPECT_EQ(job->run.epochs, 1);
  EXPECT_TRUE(job->open.dp);
  const Open& o = job->open;
  EXPECT_FALSE(o.tp || o.pp || o.vpp || o.cp || o.ep || o.sharding || o.micro || o.recompute || o.precision || o.sequence_parallel);
  EXPECT_TRUE(job->assumed.empty()) << job->assumed.front().first;  // nothing was left to us but dp, which says so itself
}

TEST(Job, TheLeastThatAJobMaySay) {
  const auto job = from("model: llama-2-7b\nbatch: {global: 1024, sequence: 4096}\n");
  ASSERT_TRUE(job) << job.error().text();
  const Open& o = job->open;
  EXPECT_TRUE(o.tp && o.pp && o.vpp && o.dp && o.cp && o.ep && o.sharding && o.micro && o.recompute && o.precision && o.sequence_parallel);
  for (const char* key : {"parallelism", "parallelism.sharding", "batch.micro", "training.kind", "training.framework", "training.optimizer",
                          "training.precision", "training.precision.parameters", "training.precision.optimizer", "training.recompute"}) {
    EXPECT_FALSE(assumed(*job, key).empty()) << key;
  }
  EXPECT_EQ(assumed(*job, "training.framework"), "megatron (not stated)");
  EXPECT_FALSE(job->data);
  EXPECT_FALSE(job->checkpoint);
}

TEST(Job, ABlockLeavesOutOnlyDegreesOfOne) {
  const auto job = from("model: llama-2-7b\nbatch: {global: 1024, sequence: 4096}\nparallelism: {tp: 2, pp: auto}\n");
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_FALSE(job->open.tp);
  EXPECT_TRUE(job->open.pp);
  EXPECT_TRUE(job->open.dp);  // what is left
  EXPECT_FALSE(job->open.cp);
  EXPECT_EQ(assumed(*job, "parallelism.cp"), "1 (not stated)");
  EXPECT_EQ(assumed(*job, "parallelism.pp"), "");
}

TEST(Job, WeightsFollowTheFrameworksHabit) {
  const auto precision = [](const std::string& training) {
    const auto job = from("model: llama-2-7b\nbatch: {global: 8, sequence: 128}\ntraining: " + training + "\n");
    EXPECT_TRUE(job) << job.error().text();
    return job->precision;
  };
  using catalog::Precision;
  EXPECT_EQ(precision("{framework: megatron, precision: fp16}").parameters, Precision::fp16);
  EXPECT_EQ(precision("{framework: nemo, precision: fp8}").parameters, Precision::bf16);
  EXPECT_EQ(precision("{framework: nemo, precision: fp8}").compute, Precision::fp8);
  EXPECT_EQ(precision("{framework: torchtitan, precision: bf16}").parameters, Precision::fp32);
  EXPECT_EQ(precision("{framework: pytorch-fsdp, precision: {compute: bf16, parameters: bf16}}").parameters, Precision::bf16);
  EXPECT_EQ(precision("{framework: megatron, precision: fp32}").parameters, Precision::fp32);
}

TEST(Job, AdaptersAndGroups) {
  const auto job = from(
      "model: llama-2-70b\ntraining: {kind: qlora, lora: {rank: 64, targets: attention}, framework: pytorch-fsdp}\nbatch: {global: 64, "
      "micro: 2, sequence: 512}\n"
      "parallelism: {dp: 16, sharding: hsdp, shard_group: 4}\n");
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(job->kind, TrainingKind::qlora);
  EXPECT_EQ(job->lora.rank, 64);
  EXPECT_FALSE(job->lora.all_linear);
  EXPECT_EQ(job->parallelism.shard_group, 4);
  EXPECT_EQ(from("model: gpt2\nbatch: {global: 8, sequence: 128}\nparallelism: {sharding: fsdp}\n")->parallelism.sharding, Sharding::zero3);
}

TEST(Job, ModelsWithAFixedLengthNeedNoSequence) {
  EXPECT_TRUE(from("model: clip-vit-b-32\nbatch: {global: 32768, micro: 256}\n"));
  EXPECT_TRUE(from("model: vit-l-16\nbatch: {global: 4096}\n"));
  EXPECT_FALSE(from("model: bert-large\nbatch: {global: 4096}\n"));
}

TEST(Job, WhatIsAllowedButNotObviousIsSaid) {
  const auto replicated = from("model: llama-2-70b\nbatch: {global: 64, sequence: 4096}\nparallelism: {tp: 16}\n");
  ASSERT_TRUE(replicated) << replicated.error().text();
  EXPECT_NE(assumed(*replicated, "parallelism.tp").find("replicated 2 times"), std::string::npos);
  const auto uneven = from("model: llama-3.1-405b\nbatch: {global: 64, sequence: 8192}\nparallelism: {tp: 8, pp: 16}\n");
  ASSERT_TRUE(uneven) << uneven.error().text();
  EXPECT_EQ(assumed(*uneven, "parallelism.pp"), "14 stages of 8 layers and 2 of 7");
  const auto interleaved = from("model: llama-3.1-405b\nbatch: {global: 64, sequence: 8192}\nparallelism: {tp: 8, pp: 16, vpp: 8}\n");
  ASSERT_TRUE(interleaved) << interleaved.error().text();
  EXPECT_NE(assumed(*interleaved, "parallelism.vpp").find("output layer"), std::string::npos);
}

struct Wrong {
  std::string yaml;
  int line;
  const char* message;
  const char* hint;
};

const std::string kHead = "model: llama-2-70b\nbatch: {global: 1024, micro: 1, sequence: 4096}\n";

std::vector<Wrong> wrong_parallelism() {
  const std::string p = kHead + "parallelism: ";
  return {
      {p + "{tp: 7}", 3, "tp: 7 does not divide the 64 attention heads", "divisor"},
      {p + "{tp: 0}", 3, "0 is below 1", "at least 1"},
      {p + "{tp: two}", 3, "two", "number"},
      {p + "{tq: 8}", 3, "unknown key \"tq\"", "did you mean tp"},
      {p + "{pp: 81}", 3, "81 chunks for 80 layers", "at least one layer"},
      {p + "{pp: 4, vpp: 7}", 3, "pp·vpp = 28 does not divide 80 layers", "vpp: 1"},
      {p + "{vpp: 2}", 3, "more than one pipeline stage", "vpp: 1"},
      {p + "{cp: 3}", 3, "cp: 3 does not divide the sequence of 4096 tokens", "batch.sequence"},
      {p + "{ep: 2}", 3, "llama-2-70b has no experts", "mixture"},
      {p + "{sharding: zero4}", 3, "\"zero4\"", "zero"},
      {p + "{sharding: hsdp, dp: 16, shard_group: 3}", 3, "3 does not divide the 16 data-parallel ranks", "dp·cp"},
      {p + "none", 3, "expected a block of keys", "auto"},
      {p + "{tp: 100000, pp: 1, dp: 1000000}", 3, "1e+11 GPUs", "1e7"},
      {p + "{schedule: zigzag}", 3, "zigzag", "1f1b"},
  };
}

std::vector<Wrong> wrong_rest() {
  return {
      {"modle: llama-2-70b\nbatch: {global: 8, sequence: 4096}", 1, "unknown key \"modle\" in job", "did you mean model"},
      {"model: llama2-70b\nbatch: {global: 8, sequence: 4096}", 1, "\"llama2-70b\"", "llama-2-70b"},
      {"batch: {global: 8, sequence: 4096}", 1, "lacks the key \"model\"", "built-in"},
      {"model: llama-2-70b", 1, "lacks the key \"batch\"", ""},
      {"model: llama-2-70b\nbatch: {sequence: 4096}", 2, "lacks the key \"global\"", "whole number"},
      {"model: llama-2-70b\nbatch: {global: 8}", 2, "lacks the key \"sequence\"", "4096"},
      {"model: llama-2-70b\nbatch: {global: 8, sequence: 0}", 2, "0 is below 1", ""},
      {"model: llama-2-70b\nbatch: {global: 8.5, sequence: 4096}", 2, "8.5", "whole number"},
      {"model: llama-2-70b\nbatch: {global: 8, micro: 3, sequence: 4096}", 2, "8 samples are no multiple of micro 3", "divisor"},
      {"model: gpt2\nbatch: {global: 8, sequence: 4096}", 2, "the position table of gpt2 has 1024 rows", "at most 1024"},
      {"model: clip-vit-b-32\nbatch: {global: 8}\nparallelism: {pp: 2}", 3, "several towers is not pipelined", "pp: 1"},
      {"model: mixtral-8x7b\nbatch: {global: 8, sequence: 4096}\nparallelism: {ep: 3}", 3, "3 does not divide the 8 experts", "divisor"},
      {"model: mixtral-8x7b\nbatch: {global: 8, sequence: 4096}\nparallelism: {ep: 8, dp: 4}", 3, "does not divide the 4 ranks", ""},
      {"model: mixtral-8x7b\nbatch: {global: 8, sequence: 4096}\nparallelism: {ep: 8, tp: 2, dp: 4}", 3, "ep·etp = 8·2", "etp: 1"},
      {kHead + "training: {precision: bf61}", 3, "bf61", "bf16"},
      {kHead + "training: {precision: {parameters: fp8}}", 3, "\"fp8\"", "fp16"},
      {kHead + "training: {framework: megatorn}", 3, "\"megatorn\"", "megatron"},
      {kHead + "training: {recompute: selectve}", 3, "\"selectve\"", "selective"},
      {kHead + "training: {kind: lorra}", 3, "\"lorra\"", "lora"},
      {kHead + "training: {lora: {rank: 8}}", 3, "training.kind is full", "kind: lora"},
      {kHead + "training: {kind: lora, lora: {rank: 0}}", 3, "0 is below 1", ""},
      {kHead + "training: {compile: maybe}", 3, "expected true or false", ""},
      {kHead + "training: {recompute: none, recompute_share: 0.5}", 3, "recompute: full", ""},
      {kHead + "data: {samples: 100, bytes_per_sample: 2000}", 3, "has no unit", "28.5 KB"},
      {kHead + "data: {samples: 100}", 3, "lacks the key \"bytes_per_sample\"", "unit"},
      {kHead + "data: {samples: 100, bytes_per_sample: 2 Kb}", 3, "Kb", ""},
      {kHead + "data: {samples: 100, bytes_per_sample: 2 KB, source: cloud}", 3, "cloud", "ingest"},
      {kHead + "checkpoint: {every: 1000}", 3, "found \"1000\"", "1000 steps"},
      {kHead + "checkpoint: {every: 10 min}", 3, "10 min", "1000 steps"},
      {kHead + "checkpoint: {every: 0 steps}", 3, "0 steps", ""},
      {kHead + "checkpoint: {mode: async}", 3, "lacks the key \"every\"", "1000 steps"},
      {kHead + "run: {steps: 10, tokens: 1e9}", 3, "more than one", "keep the one"},
      {kHead + "run: {epochs: 1}", 3, "no dataset", "data:"},
      {kHead + "run: {steps: 0}", 3, "trains nothing", ""},
      {"- just\n- a list\n", 1, "found a list", ""},
      {"model: [llama]\nbatch: {global: 8, sequence: 8}", 1, "model", ""},
      {"model: {layers: 2, hidden: 64, heads: 4, vocab: 10, gated: ture}\nbatch: {global: 8, sequence: 8}", 1, "true or false", ""},
  };
}

void expect_wrong(const Wrong& wrong) {
  const auto job = from(wrong.yaml);
  ASSERT_FALSE(job) << wrong.yaml;
  const Error& error = job.error();
  EXPECT_EQ(error.where.file, "job.yaml") << error.text();
  EXPECT_EQ(error.where.line, wrong.line) << error.text();
  EXPECT_NE(error.message.find(wrong.message), std::string::npos) << error.text();
  EXPECT_NE(error.hint.find(wrong.hint), std::string::npos) << error.text();
  EXPECT_EQ(error.kind, ErrorKind::bad_input);
}

TEST(Job, WrongParallelismSaysWhereWhatAndWhatNext) {
  for (const Wrong& wrong : wrong_parallelism()) expect_wrong(wrong);
  // 1024 is no multiple of 3: the batch is at fault, or the degree; the nearest batches are named.
  expect_wrong({kHead + "parallelism: {dp: 3}", 2, "1024 samples are no multiple of dp·micro = 3·1", "1023 and 1026"});
  expect_wrong({"model: llama-2-70b\nbatch: {global: 64, sequence: 4100}\nparallelism: {tp: 8, sequence_parallel: true}", 3,
                "does not divide the 4100 tokens", "tp·cp"});
}

TEST(Job, WrongFilesSayWhereWhatAndWhatNext) {
  for (const Wrong& wrong : wrong_rest()) expect_wrong(wrong);
}

TEST(Job, EveryMisspeltKeyIsCaughtAtEveryLevel) {
  // One letter dropped from any key of the full example must be an error that names the right key.
  for (const char* key : {"model",
                          "training",
                          "kind",
                          "precision",
                          "compute",
                          "parameters",
                          "optimizer",
                          "framework",
                          "recompute",
                          "compile",
                          "flash_attention",
                          "batch",
                          "global",
                          "micro",
                          "sequence",
                          "parallelism",
                          "vpp",
                          "sharding",
                          "sequence_parallel",
                          "data",
                          "samples",
                          "bytes_per_sample",
                          "source",
                          "staging",
                          "checkpoint",
                          "every",
                          "mode",
                          "run",
                          "epochs"}) {
    std::string text = kFull;
    const std::string whole = std::string(key) + ":";
    const auto at = text.find(whole);
    ASSERT_NE(at, std::string::npos) << key;
    const std::string shorter = std::string(key).substr(0, std::string(key).size() - 1);
    text.replace(at, whole.size(), shorter + ":");
    const auto job = from(text);
    ASSERT_FALSE(job) << key;
    EXPECT_NE(job.error().message.find("\"" + shorter + "\""), std::string::npos) << job.error().text();
    EXPECT_NE(job.error().hint.find(key), std::string::npos) << job.error().text();
  }
}

TEST(Job, WordsGoBothWays) {
  for (int i = 0; i <= int(Framework::ideal); ++i) {
    const std::string name = name_of(Framework(i));
    ASSERT_FALSE(name.empty()) << i;
    EXPECT_EQ(framework_from(name), Framework(i));
  }
  for (int i = 0; i <= int(Sharding::hsdp); ++i) EXPECT_EQ(sharding_from(name_of(Sharding(i))), Sharding(i));
  for (int i = 0; i <= int(Recompute::full); ++i) EXPECT_EQ(recompute_from(name_of(Recompute(i))), Recompute(i));
  EXPECT_EQ(framework_from("fsdp"), std::nullopt);
  EXPECT_EQ(precision_from("bf16"), catalog::Precision::bf16);
}

TEST(Job, SchemaDescribesEveryKey) {
  const std::string schema = io::json_schema(job_spec());
  for (const char* key : {"\"model\"", "\"recompute_share\"", "\"shard_group\"", "\"bytes_per_sample\"", "\"towers\"",
                          "\"first_dense_layers\"", "\"targets\"", "\"llama-2-70b\"", "\"megatron-deepspeed\""}) {
    EXPECT_NE(schema.find(key), std::string::npos) << key;
  }
  EXPECT_TRUE(io::parse_json(schema, "schema.json"));
}

TEST(Job, ModelPathIsLookedUpBesideTheJobFile) {
  const std::string folder = testing::TempDir() + "trunkline_job_test";
  ASSERT_EQ(system(("mkdir -p " + folder + "/models/tiny").c_str()), 0);
  std::ofstream(folder + "/models/tiny/config.json")
      << R"({"model_type":"gpt2","n_embd":64,"n_layer":2,"n_head":4,"n_positions":128,"vocab_size":100,"tie_word_embeddings":true})";
  std::ofstream(folder + "/job.yaml") << "model: {config: models/tiny/config.json, layers: 3}\nbatch: {global: 8, sequence: 64}\n";
  const auto job = read_job(folder + "/job.yaml");
  ASSERT_TRUE(job) << job.error().text();
  EXPECT_EQ(job->model.name, "tiny");
  EXPECT_EQ(job->model.towers.front().layers, 3);
  EXPECT_EQ(job->file, folder + "/job.yaml");
  EXPECT_FALSE(read_job(folder + "/missing.yaml"));
}

}  // namespace
}  // namespace trunkline::workload
