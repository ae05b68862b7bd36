#include "workload/memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "io/csv.hpp"

namespace trunkline::workload {
namespace {

// What PyTorch reports as allocated at the peak: all but context, NCCL and what the allocator holds unused.
double allocated(const MemoryParts& m) { return double((m.total() - m.framework - m.communication - m.fragmentation).count()); }

struct Measured {
  const char* name;
  const char* model;
  Framework framework;
  Recompute recompute;
  bool flash, pure_bf16, compile;
  std::int64_t micro, sequence;
  double peak, reserved;  // bytes
};

Job job_of(const Measured& row) {
  Job job;
  job.model = *builtin_model(row.model == std::string("gpt2-medium") ? "gpt2" : row.model);
  if (row.model == std::string("gpt2-medium")) {
    Tower& t = job.model.towers.front();
    t.layers = 24;
    t.hidden = 1024;
    t.heads = t.kv_heads = 16;
    t.ffn = 4096;
  }
  job.framework = row.framework;
  job.recompute = row.recompute;
  job.flash_attention = row.flash;
  job.compile = row.compile;
  job.batch = {row.micro, row.micro, row.sequence};
  job.precision.parameters = row.pure_bf16 ? catalog::Precision::bf16 : catalog::Precision::fp32;
  job.precision.optimizer = row.pure_bf16 ? catalog::Precision::bf16 : catalog::Precision::fp32;
  return job;
}

TEST(Memory, MeasuredOnOneH200) {
  using enum Recompute;
  const Framework eager = Framework::pytorch_eager;
  const Measured rows[] = {
      {"GPT-2 medium", "gpt2-medium", eager, none, true, false, false, 8, 1024, 27362106368., 28808577024.},
      {"GPT-2 medium, score matrices", "gpt2-medium", eager, none, false, false, false, 8, 1024, 49898077184., 51369738240.},
      {"GPT-2 medium", "gpt2-medium", eager, none, true, false, false, 16, 1024, 49694186496., 52078575616.},
      {"GPT-2 medium, full", "gpt2-medium", eager, full, true, false, false, 16, 1024, 16042212352., 19721617408.},
      {"Llama 1B", "llama-3.2-1b", eager, none, true, false, false, 1, 4096, 32225191936., 34747711488.},
      {"Llama 1B", "llama-3.2-1b", eager, none, true, false, false, 2, 4096, 47077795840., 47794094080.},
      {"Llama 1B, full", "llama-3.2-1b", eager, full, true, false, false, 2, 4096, 29276137472., 37417385984.},
      {"Llama 1B, all bf16", "llama-3.2-1b", eager, none, true, true, false, 2, 4096, 34473506816., 36050042880.},
      {"CLIP L/14", "clip-vit-l-14", eager, none, true, false, false, 64, 0, 27948627456., 29660020736.},
      {"CLIP L/14", "clip-vit-l-14", eager, none, true, false, false, 256, 0, 93666835968., 95059705856.},
      {"CLIP L/14, full", "clip-vit-l-14", eager, full, true, false, false, 256, 0, 17031679488., 19134414848.},
      {"Llama 1B, compiled", "llama-3.2-1b", Framework::pytorch_compile, none, true, false, true, 2, 4096, 35640585216., 38564528128.},
  };
  for (const Measured& row : rows) {
    const Job job = job_of(row);
    const MemoryParts m = memory_of(job, memory_rules(job));
    const double reserved = double((m.total() - m.framework - m.communication).count());
    printf("%-30s %6.2f %6.2f %+5.1f%%   %6.2f %6.2f %+5.1f%%\n", row.name, row.peak / 1e9, allocated(m) / 1e9,
           100 * (allocated(m) / row.peak - 1), row.reserved / 1e9, reserved / 1e9, 100 * (reserved / row.reserved - 1));
  }
}

}  // namespace
}  // namespace trunkline::workload
