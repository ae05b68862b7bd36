// What a GPU gives when it multiplies matrices for longer than its power limit likes.
#pragma once

#include "kernels/kernels.hpp"

namespace trunkline::timeline {

// Kernels whose matrix rates are those that the power limit leaves (Kernels::sustained, precision by precision). Memory-bound work
// keeps its time. Attention draws power by what it computes, so it is held to the limit only where its own rate lies above.
kernels::Kernels at_power_limit(const catalog::Gpu& gpu, const kernels::Kernels& burst);

}  // namespace trunkline::timeline
