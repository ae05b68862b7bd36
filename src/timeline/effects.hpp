// Which effects of the model are on. All on is the model; switching one off shows what it contributes (`validate --ablation`).
#pragma once

namespace trunkline::timeline {

struct Effects {
  bool overlap = true;       // communication hidden behind computation (off: everything exposed)
  bool bubbles = true;       // pipeline fill and drain
  bool launch = true;        // host launch cost
  bool memory_bound = true;  // norms, activations, residuals, loss, optimizer
  bool contention = true;    // collectives take SMs from the computation they overlap
  bool sustained = true;     // matrix rate at the power limit instead of burst
  bool quantisation = true;  // tile and wave quantisation (off: matrix products at the peak rate × large-matrix efficiency)
  bool latency = true;       // latency terms and protocols of collectives (off: bytes over bus bandwidth)
  bool fitted = true;        // constants fitted a framework and GPU generation
};

}  // namespace trunkline::timeline
