#include <fmt/format.h>

#include "base/text.hpp"
#include "cli/help.hpp"
#include "io/spec.hpp"
#include "network/fabric_file.hpp"
#include "report/table.hpp"
#include "topology/platform.hpp"
#include "workload/job.hpp"

namespace trunkline::cli {
namespace {

std::string form_of(const io::FieldSpec& field) {
  switch (field.type) {
    case io::FieldType::text: return "text";
    case io::FieldType::choice: return "one word";
    case io::FieldType::boolean: return "true, false";
    case io::FieldType::integer: return "whole number";
    case io::FieldType::number: return "number";
    case io::FieldType::bytes: return "size";
    case io::FieldType::bandwidth: return "rate";
    case io::FieldType::time: return "time";
    case io::FieldType::flop_rate: return "FLOP/s";
    case io::FieldType::money: return "money";
    case io::FieldType::object: return "block";
    case io::FieldType::list: return "list";
    case io::FieldType::any: return "any";
  }
  return {};
}

std::string words_of(const io::FieldSpec& field) {
  std::vector<std::string> words = field.choices;
  words.insert(words.end(), field.also.begin(), field.also.end());
  constexpr std::size_t kMost = 20;  // a longer list is one of names that `trunkline catalog` or the schema shows
  if (words.size() > kMost) return fmt::format("{} names", words.size());
  return join(words, ", ");
}

void add_rows(const io::ObjectSpec& spec, const std::string& prefix, report::Table& table) {
  for (const auto& field : spec.fields) {
    std::string doc = field.doc;
    if (const std::string words = words_of(field); !words.empty()) doc += fmt::format(" ({})", words);
    if (const std::string bounds = io::bounds_text(field); !bounds.empty()) doc += "; " + bounds;
    if (field.required) doc += "; required";
    table.add({"`" + prefix + field.name + "`", form_of(field), doc});
    if (field.type == io::FieldType::object && field.object) add_rows(*field.object, prefix + field.name + ".", table);
  }
}

std::string keys_of(const io::ObjectSpec& spec) {
  report::Table table;
  table.columns = {{"key"}, {"form"}, {"meaning"}};
  add_rows(spec, "", table);
  return report::to_markdown(table);
}

constexpr std::string_view kIntroduction = R"(# Files that users write

Made by `trunkline help keys` from the same tables that check the files; a test compares this page with the program. The JSON Schemas are
`trunkline schema job`, `trunkline schema platform` and `trunkline schema fabric`; an editor that knows YAML schemas completes keys from them.

The files are YAML (or JSON). A key that is not in the tables below is an error with its line and the nearest right word. What may be left
out and is, is chosen or taken from the catalogue, and the answer says so under *assumed*. Every quantity carries its unit, and case counts:
`400 Gb/s` is 50 GB/s. A bandwidth is one direction.

On the command line, `--set parallelism.tp=4` and `--sweep batch.global=256,512` change keys of the job; with the prefix `platform.` those of the
platform: `--set platform.node.count=16`; those of `trunkline fabric` change the fabric file. An empty value (`--set data=`) takes a key away.

)";

}  // namespace

std::string keys_markdown() {
  return fmt::format(
      "{}## Job\n{}.\n\n```yaml\n{}```\n\n{}\n## Platform\n{}.\n\n```yaml\n{}```\n\n{}\n## Fabric\n{}.\n\n```yaml\n{}```\n\n{}",
      kIntroduction, workload::job_spec().doc,
      "model: llama-2-70b\n"
      "training: {kind: full, precision: {compute: bf16, parameters: bf16, optimizer: fp32}, framework: megatron, recompute: selective}\n"
      "batch: {global: 1024, micro: 1, sequence: 4096}\n"
      "parallelism: {tp: 8, pp: 4, dp: auto, sharding: zero1, sequence_parallel: true}\n"
      "data: {samples: 100e6, bytes_per_sample: 28.5 KB, source: ingest, staging: before}\n"
      "checkpoint: {every: 1000 steps, to: volume, mode: async}\n"
      "run: {epochs: 1}\n",
      keys_of(workload::job_spec()), topology::platform_spec().doc,
      "name: provider A, 8 nodes\n"
      "node: {type: hgx-a100-80, count: 8}\n"
      "fabric: {kind: infiniband, rate: 200 Gb/s, topology: {clos: 2, ports: 40}, routing: adaptive, placement: packed}\n"
      "ingest: {line: 10 Gb/s, efficiency: 0.94}\n"
      "storage: {volume: {write: 8 GB/s, read: 8 GB/s, iops: 120000, price: 0.5 CNY/GB/month}}\n"
      "price: {amount: 12 CNY, per: gpu-hour}\n"
      "reliability: {node_mtbf: 4000 h, restart: 10 min}\n",
      keys_of(topology::platform_spec()), network::fabric_spec().doc,
      "topology: {clos: 2, ports: 64, hosts: 1024, oversubscription: 2}\n"
      "rate: 400 Gb/s\n"
      "latency: 0.5 us\n"
      "faults: [{link: leaf 3 - spine 7}]\n"
      "routing: {policy: ecmp, queue_pairs: 4}\n"
      "traffic: {pattern: permutation, size: 64 MB}\n",
      keys_of(network::fabric_spec()));
}

}  // namespace trunkline::cli
