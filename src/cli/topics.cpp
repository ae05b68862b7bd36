#include "cli/help.hpp"

namespace trunkline::cli {

const std::vector<Topic>& topics() {
  static const std::vector<Topic> list = {
      {"units", "how quantities are written",
       R"(Every quantity in a file carries its unit, and the case of the unit counts: b is a bit, B a byte.

  size        28.5 KB   80 GB   2.85 TB   25 MiB      K, M, G, T, P decimal; Ki, Mi, Gi, Ti binary
  bandwidth   8 GB/s    400 Gb/s                      one direction; 400 Gb/s = 50 GB/s
  time        10 min    4000 h    130 ns   2 days
  rate        312 TFLOP/s
  money       12 CNY    0.5 CNY/GB/month
  count       8         100e6                         no unit; steps as "1000 steps"

Answers: bandwidth in GB/s (10^9 bytes a second, one direction) unless the heading says otherwise; in JSON always SI
base units with the unit in the key (step_s, size_bytes, bandwidth_bytes_per_s).
)"},
      {"formats", "files that are read and written",
       R"(Read
  job        YAML: model, batch, parallelism, data, checkpoint      trunkline schema job
  platform   YAML: nodes, fabric, ingest, storage, price            trunkline schema platform
  fabric     YAML: a network, its routing, a traffic                trunkline schema fabric
  flows      a line a flow: source destination bytes start_s        (named in a fabric file)
  model      a Hugging Face config.json, or a built-in name such as llama-2-70b
  table      CSV of published results; its columns say which kind it is

Written
  --json FILE   the whole answer; - is standard output; what is absent is null
  -o FILE       .json the same; .csv one line a result; .md the tables that people see
  --timeline    a trace for https://ui.perfetto.dev or chrome://tracing
)"},
      {"exit", "exit statuses",
       R"(  0    fine; a model that does not fit into memory is an answer too (memory.fits in the JSON)
  1    ran and found a problem: some of the asked predictions are impossible
  2    the command line or an input is wrong; the message names file, line, what was found and what was expected
  3    something needed is missing on this machine
  4    a run failed
  130  interrupted
)"},
  };
  return list;
}

}  // namespace trunkline::cli
