#include "timeline/overlap.hpp"

#include <algorithm>

namespace trunkline::timeline {

Overlapped sharded_forward(double layers, double compute_s, double gather_s) {
  if (layers <= 0 || gather_s <= 0) return {};
  // compute i starts when gather i and compute i−1 are done; gathers run back to back until one layer ahead.
  const double total = gather_s + (layers - 1) * std::max(compute_s, gather_s) + compute_s;
  const double exposed = total - layers * compute_s;
  return {exposed, layers * gather_s - exposed};
}

Overlapped sharded_backward(double layers, double compute_s, double gather_s, double reduce_s) {
  const double wire = gather_s + reduce_s;
  if (layers <= 0 || wire <= 0) return {};
  // Computation without a pause between the first gather and the last scatter, or communication without one, but that the
  // first scatter waits for the first layer and the last one for the last.
  const double computing = gather_s + layers * compute_s + reduce_s;
  const double sending = (layers - 1) * wire + std::max(compute_s, gather_s) + std::max(compute_s, reduce_s);
  const double total = layers > 1 ? std::max(computing, sending) : computing;
  const double exposed = total - layers * compute_s;
  return {exposed, layers * wire - exposed};
}

Overlapped bucketed_reduction(double buckets, double bucket_s, double backward_s, bool overlap) {
  const double wire = buckets * bucket_s;
  if (wire <= 0) return {};
  if (!overlap) return {wire, 0};
  const double end = std::max(backward_s + bucket_s, backward_s / buckets + wire);
  return {std::min(wire, end - backward_s), wire - std::min(wire, end - backward_s)};
}

Overlapped bucketed_gather(double buckets, double bucket_s, double forward_s, bool overlap) {
  return bucketed_reduction(buckets, bucket_s, forward_s, overlap);  // the same picture, time reversed
}

}  // namespace trunkline::timeline
