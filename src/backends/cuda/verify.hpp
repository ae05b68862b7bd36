// Whether data arrived as it was sent. Internal to the backends that stand on CUDA.
#pragma once

#include <functional>

#include "backends/cuda/resources.hpp"

namespace trunkline::backends::cuda {

using Transfer = std::function<Result<void>(cudaStream_t)>;

// Overwrites `to`, does the transfer, and compares with what kernels::fill_random writes for this seed. `what` names the transfer in
// the error: data that is wrong means broken hardware, and no figure of it counts.
Result<void> verify_device(const Gpu& gpu, const DeviceBuffer& to, Bytes size, std::uint64_t seed, const Transfer& transfer,
                           const std::string& what);
Result<void> verify_host(const Gpu& gpu, const HostBuffer& to, Bytes size, std::uint64_t seed, const Transfer& transfer,
                         const std::string& what);

// The 64-bit words that differ.
Result<std::uint64_t> differences(const Gpu& gpu, const DeviceBuffer& data, Bytes size, std::uint64_t seed);
std::uint64_t differences(const HostBuffer& data, Bytes size, std::uint64_t seed);

}  // namespace trunkline::backends::cuda
