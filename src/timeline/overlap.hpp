// Closed forms of what overlap leaves exposed, for equal layers and equal buckets.
#pragma once

namespace trunkline::timeline {

struct Overlapped {
  double exposed_s = 0;
  double hidden_s = 0;
};

// Weights gathered layer by layer ahead of use (ZeRO-3, FSDP): `layers` layers of `compute_s` each, one gather of
// `gather_s` each, at most one layer ahead. T = gather + (layers − 1)·max(compute, gather) + compute: the first gather has
// nothing to hide behind.
Overlapped sharded_forward(double layers, double compute_s, double gather_s);

// Backward of the same: each layer gathers (unless the weights were kept) and, `reduce_s` > 0, scatters its gradients on
// the same communicator, where the next gather goes before the scatter. T = the longer of
//   gather + layers·compute + scatter
//   (layers − 1)·(gather + scatter) + max(compute, gather) + max(compute, scatter)     for two layers or more
Overlapped sharded_backward(double layers, double compute_s, double gather_s, double reduce_s);

// `buckets` equal buckets of gradients, ready evenly over `backward_s`, each `bucket_s` on the wire, one after the other.
// With overlap: end = max(B + t, B/K + K·t); without: K·t behind everything.
Overlapped bucketed_reduction(double buckets, double bucket_s, double backward_s, bool overlap);

// Parameters gathered in `buckets` during a forward of `forward_s` that needs bucket i after i/K of its time.
Overlapped bucketed_gather(double buckets, double bucket_s, double forward_s, bool overlap);

}  // namespace trunkline::timeline
