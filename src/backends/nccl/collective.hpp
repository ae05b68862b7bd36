// What the probes of this folder do. Internal.
#pragma once

#include "collectives/collective.hpp"
#include "measure/probe.hpp"

namespace trunkline::backends::nccl {

// Whether there is something to measure: two GPUs and the library. An error of the kind `missing` where not.
Result<void> expect_ranks(const measure::Settings& settings);
Result<void> measure_collective(collectives::Collective collective, const measure::Settings& settings, measure::Sampler& sampler);

std::vector<measure::Need> needs_here();
void describe_here(measure::Context& context);

}  // namespace trunkline::backends::nccl
