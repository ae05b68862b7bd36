// How large grids are. Internal.
#pragma once

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstddef>

namespace trunkline::backends::cuda::kernels {

inline constexpr int kThreads = 512;

// Multiprocessors of the GPU in use.
inline int multiprocessors() {
  int device = 0, sms = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, device);
  return sms;
}

// Blocks of kThreads that fill the GPU in use, and no more than there is work for; each goes over its part of the work in steps.
inline int blocks_for(std::size_t work) {
  const std::size_t wanted = (work + kThreads - 1) / kThreads;
  return int(std::clamp<std::size_t>(wanted, 1, std::size_t(multiprocessors()) * (2048 / kThreads)));
}

inline cudaError_t launched() { return cudaGetLastError(); }

// Makes the driver load the kernel now.
template <class Kernel>
cudaError_t load(Kernel* kernel) {
  cudaFuncAttributes attributes{};
  return cudaFuncGetAttributes(&attributes, reinterpret_cast<const void*>(kernel));
}

}  // namespace trunkline::backends::cuda::kernels
