// What the probes of this folder do, one function a probe, each in a file of its name. Internal.
#pragma once

#include "measure/probe.hpp"

namespace trunkline::backends::cuda {

using measure::Sampler;
using measure::Settings;

Result<void> memory_copy(const Settings& settings, Sampler& sampler);
Result<void> host_to_device(const Settings& settings, Sampler& sampler);
Result<void> device_to_host(const Settings& settings, Sampler& sampler);
Result<void> both_ways(const Settings& settings, Sampler& sampler);
Result<void> peer_read(const Settings& settings, Sampler& sampler);
Result<void> peer_write(const Settings& settings, Sampler& sampler);
Result<void> peer_bidirectional(const Settings& settings, Sampler& sampler);
Result<void> peer_latency(const Settings& settings, Sampler& sampler);
Result<void> gemm(const Settings& settings, Sampler& sampler);
Result<void> gemm_sustained(const Settings& settings, Sampler& sampler);
Result<void> memory_bound(const Settings& settings, Sampler& sampler);
Result<void> launch(const Settings& settings, Sampler& sampler);
Result<void> overlap(const Settings& settings, Sampler& sampler);

// Whether so many GPUs are here; an error of the kind `missing` where they are not.
Result<void> expect_gpus(const Settings& settings, int count);

// Parts that are opened at run time, for `doctor`.
std::vector<measure::Need> needs_here();
// Versions of the driver's and the program's CUDA and of cuBLASLt.
void describe_here(measure::Context& context);

}  // namespace trunkline::backends::cuda
