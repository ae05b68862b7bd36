// What a step cannot be faster than: asked before a plan is predicted, so that a search may leave out what cannot win.
#pragma once

#include <map>
#include <tuple>

#include "predict/prediction.hpp"

namespace trunkline::predict {

// The least time of a plan, from what its layers compute and exchange among the ranks that share a layer. Of these times
//   T ≥ micro-batches · Σ layers / pp                          the busiest stage works at least as long as the mean one
//   T ≥ micro-batches · last stage + first chunks of the other stages, once each way      (no zero-bubble schedule)
// with each layer at burst rate. Ignores: data parallelism, sharding, power, contention, optimizer. Layers are priced once for all
// plans that split them alike. Never above predict()'s step time (tests/property).
class LeastTime {
 public:
  LeastTime(const PlatformModel& platform, const Options& options, double factor)
      : platform_(platform), options_(options), factor_(factor) {}

  double of(const workload::Job& settled);

 private:
  struct Busy {
    double gpu = 0, host = 0;  // seconds
    double total() const { return std::max(gpu, host); }
    Busy& operator+=(const Busy& o);
    friend Busy operator*(Busy b, double n) { return {b.gpu * n, b.host * n}; }
  };
  // One micro-batch, forward and backward.
  struct Floor {
    Busy layers, recompute, ends;           // of the whole model; recompute: what all layers compute again
    Busy last;                              // what stands behind the last layer
    Busy least_layer, least_layer_repeats;  // of whichever form of layer takes less, and of its recomputation
  };
  Floor priced(const workload::Job& job) const;

  using Key = std::tuple<int, int, int, int, std::int64_t, int, bool>;  // tp, cp, ep, etp, micro, recompute, sequence parallel
  const PlatformModel& platform_;
  const Options& options_;
  double factor_;
  std::map<Key, Floor> floors_;
};

}  // namespace trunkline::predict
