// Random matrices, and products checked against exact ones.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "backends/cuda/kernels.hpp"
#include "backends/cuda/kernels_load.hpp"
#include "backends/cuda/launch.cuh"
#include "backends/cuda/random.cuh"

namespace trunkline::backends::cuda::kernels {
namespace {

__device__ __forceinline__ float uniform(std::uint32_t bits) { return (float(bits >> 8) + 0.5f) * (1.0f / 16777216.0f); }

template <class T>
__device__ __forceinline__ T from_float(float x) {
  return T(x);
}

// Two normal numbers from one random word (Box and Muller).
template <class T>
__global__ void __launch_bounds__(kThreads) normal_kernel(T* out, std::size_t count, std::uint64_t seed) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; 2 * i < count; i += step) {
    const std::uint64_t word = random_word(seed, i);
    const float radius = sqrtf(-2.0f * logf(uniform(std::uint32_t(word))));
    float sine, cosine;
    sincospif(2.0f * uniform(std::uint32_t(word >> 32)), &sine, &cosine);
    out[2 * i] = from_float<T>(radius * cosine);
    if (2 * i + 1 < count) out[2 * i + 1] = from_float<T>(radius * sine);
  }
}

__device__ double element(const void* data, std::size_t i, Element kind) {
  switch (kind) {
    case Element::bf16: return double(float(static_cast<const __nv_bfloat16*>(data)[i]));
    case Element::fp16: return double(float(static_cast<const __half*>(data)[i]));
    case Element::fp32: return double(static_cast<const float*>(data)[i]);
    case Element::e4m3: return double(float(static_cast<const __nv_fp8_e4m3*>(data)[i]));
  }
  return 0;
}

// One block an element of D.
__global__ void __launch_bounds__(kThreads)
    compare_kernel(Product p, const void* a, const void* b, const void* d, std::uint64_t seed, double* sums) {
  const std::uint64_t word = random_word(seed, blockIdx.x);
  const std::size_t row = std::size_t(word >> 32) % p.m, column = std::size_t(word & 0xFFFFFFFF) % p.n;
  double mine = 0;
  for (std::size_t i = threadIdx.x; i < p.k; i += blockDim.x) {
    const std::size_t in_a = p.a_transposed ? i * p.m + row : row * p.k + i;
    const std::size_t in_b = p.b_transposed ? column * p.k + i : i * p.n + column;
    mine += element(a, in_a, p.input) * element(b, in_b, p.input);
  }
  __shared__ double exact;
  if (threadIdx.x == 0) exact = 0;
  __syncthreads();
  atomicAdd(&exact, mine);
  __syncthreads();
  if (threadIdx.x != 0) return;
  const double difference = element(d, row * p.n + column, p.output) - exact;
  atomicAdd(&sums[0], difference * difference);
  atomicAdd(&sums[1], exact * exact);
}

template <class T>
cudaError_t fill(void* out, std::size_t count, std::uint64_t seed, cudaStream_t stream) {
  normal_kernel<T><<<blocks_for(count / 2), kThreads, 0, stream>>>(static_cast<T*>(out), count, seed);
  return launched();
}

}  // namespace

std::size_t size_of(Element element) {
  switch (element) {
    case Element::fp32: return 4;
    case Element::e4m3: return 1;
    case Element::bf16:
    case Element::fp16: break;
  }
  return 2;
}

cudaError_t fill_normal(void* out, std::size_t count, Element element, std::uint64_t seed, cudaStream_t stream) {
  switch (element) {
    case Element::bf16: return fill<__nv_bfloat16>(out, count, seed, stream);
    case Element::fp16: return fill<__half>(out, count, seed, stream);
    case Element::fp32: return fill<float>(out, count, seed, stream);
    case Element::e4m3: return fill<__nv_fp8_e4m3>(out, count, seed, stream);
  }
  return cudaErrorInvalidValue;
}

cudaError_t compare_product(const Product& product, const void* a, const void* b, const void* d, int samples, std::uint64_t seed,
                            double* sums, cudaStream_t stream) {
  compare_kernel<<<samples, kThreads, 0, stream>>>(product, a, b, d, seed, sums);
  return launched();
}

cudaError_t load_matrix() {
  for (const cudaError_t status : {load(normal_kernel<__nv_bfloat16>), load(normal_kernel<__half>), load(normal_kernel<float>),
                                   load(normal_kernel<__nv_fp8_e4m3>), load(compare_kernel)}) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace trunkline::backends::cuda::kernels
