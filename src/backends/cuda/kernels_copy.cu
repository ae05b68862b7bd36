// Holding, filling, checking, copying.
#include "backends/cuda/kernels.hpp"
#include "backends/cuda/kernels_load.hpp"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/random.cuh"

namespace trunkline::backends::cuda::kernels {
namespace {

__device__ __forceinline__ unsigned long long now_ns() {
  unsigned long long ns;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(ns));
  return ns;
}

__global__ void hold_kernel(const volatile int* gate, int* gave_up, unsigned long long patience_ns) {
  const unsigned long long start = now_ns();
  while (*gate == 0) {
    if (now_ns() - start > patience_ns) {
      *gave_up = 1;
      __threadfence_system();
      return;
    }
    __nanosleep(200);
  }
}

__global__ void nothing_kernel() {}

__global__ void __launch_bounds__(kThreads) fill_kernel(ulonglong2* out, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    out[i] = make_ulonglong2(random_word(seed, 2 * i), random_word(seed, 2 * i + 1));
}

__global__ void __launch_bounds__(kThreads)
    differences_kernel(const ulonglong2* data, std::size_t count, std::uint64_t seed, unsigned long long* differences) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    const ulonglong2 words = data[i];
    mine += words.x != random_word(seed, 2 * i);
    mine += words.y != random_word(seed, 2 * i + 1);
  }
  if (mine) atomicAdd(differences, mine);
}

// Four reads in flight before the first write.
__device__ __forceinline__ void copy_all(uint4* to, const uint4* from, std::size_t count) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + 3 * step < count; i += 4 * step) {
    const uint4 a = from[i], b = from[i + step], c = from[i + 2 * step], d = from[i + 3 * step];
    to[i] = a;
    to[i + step] = b;
    to[i + 2 * step] = c;
    to[i + 3 * step] = d;
  }
  for (; i < count; i += step) to[i] = from[i];
}

__global__ void __launch_bounds__(kThreads) copy_kernel(uint4* to, const uint4* from, std::size_t count, int passes) {
  for (int pass = 0; pass < passes; ++pass) copy_all(to, from, count);
}

__global__ void chase_kernel(const volatile std::uint32_t* next, int steps, std::uint32_t* out) {
  std::uint32_t at = 0;
  for (int i = 0; i < steps; ++i) at = next[at];
  *out = at;
}

}  // namespace

cudaError_t load_copies() {
  for (const cudaError_t status :
       {load(hold_kernel), load(nothing_kernel), load(fill_kernel), load(differences_kernel), load(copy_kernel), load(chase_kernel)}) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

cudaError_t hold(const int* gate, int* gave_up, Seconds patience, cudaStream_t stream) {
  hold_kernel<<<1, 1, 0, stream>>>(gate, gave_up, static_cast<unsigned long long>(patience.si() * 1e9));
  return launched();
}

cudaError_t nothing(cudaStream_t stream) {
  nothing_kernel<<<1, 1, 0, stream>>>();
  return launched();
}

cudaError_t fill_random(void* out, Bytes size, std::uint64_t seed, cudaStream_t stream) {
  const auto count = std::size_t(size.count()) / sizeof(ulonglong2);
  fill_kernel<<<blocks_for(count), kThreads, 0, stream>>>(static_cast<ulonglong2*>(out), count, seed);
  return launched();
}

cudaError_t count_differences(const void* data, Bytes size, std::uint64_t seed, unsigned long long* count, cudaStream_t stream) {
  const auto words = std::size_t(size.count()) / sizeof(ulonglong2);
  differences_kernel<<<blocks_for(words), kThreads, 0, stream>>>(static_cast<const ulonglong2*>(data), words, seed, count);
  return launched();
}

cudaError_t copy(void* to, const void* from, Bytes size, cudaStream_t stream) {
  const auto count = std::size_t(size.count()) / sizeof(uint4);
  const int blocks = int((count + 4 * kThreads - 1) / (4 * kThreads));
  return copy_slowly(to, from, size, blocks, 1, stream);
}

cudaError_t copy_slowly(void* to, const void* from, Bytes size, int blocks, int passes, cudaStream_t stream) {
  const auto count = std::size_t(size.count()) / sizeof(uint4);
  copy_kernel<<<blocks, kThreads, 0, stream>>>(static_cast<uint4*>(to), static_cast<const uint4*>(from), count, passes);
  return launched();
}

cudaError_t chase(const std::uint32_t* next, int steps, std::uint32_t* out, cudaStream_t stream) {
  chase_kernel<<<1, 1, 0, stream>>>(next, steps, out);
  return launched();
}

cudaError_t load_all() {
  for (const cudaError_t status : {load_copies(), load_matrix(), load_training()}) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace trunkline::backends::cuda::kernels
