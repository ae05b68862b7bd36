// Which layers of a tower stand in which chunk of a pipeline.
#pragma once

#include "workload/operations.hpp"

namespace trunkline::timeline {

struct LayerSplit {
  double dense = 0, experts = 0;     // layers of each form
  bool first = false, last = false;  // holds the embedding, the output layer
};

// Chunk `index` of `chunks`, in the order that data passes them. Layers stay in their order; chunks are as even as can be, with the
// remainder in the middle ones, away from the embedding and from the output layer.
LayerSplit layers_of_chunk(const workload::TowerWork& tower, int index, int chunks);

}  // namespace trunkline::timeline
