#include "timeline/layer_split.hpp"

#include <algorithm>

namespace trunkline::timeline {
namespace {

int first_layer(int layers, int index, int chunks) {
  const int base = layers / chunks, rest = layers % chunks;
  return index * base + std::clamp(index - (chunks - rest) / 2, 0, rest);
}

// Layers with experts among the first `layer`.
int experts_before(const workload::TowerWork& tower, int layer) {
  if (tower.experts.count == 0) return 0;
  return std::max(0, (layer - tower.leading_dense + tower.every - 1) / tower.every);
}

}  // namespace

LayerSplit layers_of_chunk(const workload::TowerWork& tower, int index, int chunks) {
  const int layers = tower.dense.count + tower.experts.count;
  const int from = first_layer(layers, index, chunks), to = first_layer(layers, index + 1, chunks);
  const int experts = experts_before(tower, to) - experts_before(tower, from);
  return {double(to - from - experts), double(experts), index == 0, index == chunks - 1};
}

}  // namespace trunkline::timeline
