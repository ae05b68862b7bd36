// Which ways to split a model exist: what a search may try. A job file may state more than a framework is known to do.
#pragma once

#include <vector>

#include "workload/job.hpp"

namespace trunkline::workload {

// Whether `tp` ranks can share out every tower: its heads, its inner width, and its key-value heads (or whole copies of them).
bool splits_over(const Model& model, int tp);

// Whether `pp` stages of `vpp` chunks each hold whole layers. One chunk a stage: stages may differ by one layer. Several: chunks are
// equal, where the embedding and the output layer may each take the place of one layer (as check_job says).
bool holds_stages(const Model& model, int pp, int vpp);

// What a framework offers.
struct Splitting {
  bool within_model = true;    // tensor, pipeline, context and expert parallelism
  bool hybrid = false;         // hsdp: one copy a group of ranks
  bool shards_weights = true;  // zero2 and zero3; else the optimizer's state alone (Megatron-Core's distributed optimizer)
  bool shards_stages = true;   // gradients and weights are shared out (zero2, zero3) beside a pipeline too
};
Splitting splitting_of(Framework framework);

// Every way in which `ranks` data-parallel ranks (dp · cp) may share out a stage's state under `framework`.
std::vector<Sharding> shardings(Framework framework, int pp, int ranks);

}  // namespace trunkline::workload
