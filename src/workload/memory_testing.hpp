// What the tests of memory share.
#pragma once

#include "workload/memory.hpp"

namespace trunkline::workload::testing_memory {

// A GPT of 24 layers.
inline Job gpt_job(double hidden, int heads, std::int64_t sequence, std::int64_t micro) {
  Tower t;
  t.name = "decoder";
  t.layers = 24;
  t.hidden = std::int64_t(hidden);
  t.heads = t.kv_heads = heads;
  t.head_dim = int(hidden / heads);
  t.ffn = std::int64_t(4 * hidden);
  t.norm = Norm::layer;
  t.positions = Positions::rotary;
  t.vocab = 51200;
  t.tied = true;
  Job job;
  job.model.towers = {t};
  job.batch = {1024, micro, sequence};
  return job;
}

inline double count(Bytes b) { return double(b.count()); }

}  // namespace trunkline::workload::testing_memory
