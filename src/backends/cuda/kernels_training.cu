// Memory-bound kernels of training, written as a fusing compiler would: one pass, 16 bytes a thread and access.
#include <cuda_bf16.h>

#include "backends/cuda/kernels.hpp"
#include "backends/cuda/kernels_load.hpp"
#include "backends/cuda/launch.cuh"

namespace trunkline::backends::cuda::kernels {
namespace {

constexpr int kPack = 8;  // bf16 values in 16 bytes

struct Pack {
  float value[kPack];
};

__device__ __forceinline__ Pack unpack(const uint4& bits) {
  Pack out;
  const auto* pairs = reinterpret_cast<const __nv_bfloat162*>(&bits);
#pragma unroll
  for (int i = 0; i < kPack / 2; ++i) {
    const float2 pair = __bfloat1622float2(pairs[i]);
    out.value[2 * i] = pair.x;
    out.value[2 * i + 1] = pair.y;
  }
  return out;
}

__device__ __forceinline__ uint4 pack(const Pack& values) {
  uint4 out;
  auto* pairs = reinterpret_cast<__nv_bfloat162*>(&out);
#pragma unroll
  for (int i = 0; i < kPack / 2; ++i) pairs[i] = __floats2bfloat162_rn(values.value[2 * i], values.value[2 * i + 1]);
  return out;
}

constexpr int kNormThreads = kNormColumns / kPack;
constexpr int kNormBlocks = 3;  // on a multiprocessor: as many as its registers hold

// The sum over all threads of the block. `partial` alternates between calls, so that one barrier each is enough.
__device__ __forceinline__ float sum_of_block(float mine, float* partial) {
  for (int offset = 16; offset > 0; offset /= 2) mine += __shfl_xor_sync(0xFFFFFFFF, mine, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = mine;
  __syncthreads();
  float all = 0;
#pragma unroll
  for (int warp = 0; warp < kNormThreads / 32; ++warp) all += partial[warp];
  return all;
}

// A block a row, every thread 8 of its values; the next row is read before this one is summed up.
__global__ void __launch_bounds__(kNormThreads, kNormBlocks) rms_norm_kernel(uint4* out, const uint4* in, const uint4* weight, int rows) {
  __shared__ float partial[2][kNormThreads / 32];
  const Pack w = unpack(weight[threadIdx.x]);
  const auto place = [](int row) { return std::size_t(row) * kNormThreads + threadIdx.x; };
  uint4 next = in[place(blockIdx.x)];
  int turn = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x) {
    Pack x = unpack(next);
    if (row + int(gridDim.x) < rows) next = in[place(row + gridDim.x)];
    float squares = 0;
#pragma unroll
    for (const float v : x.value) squares += v * v;
    const float scale = rsqrtf(sum_of_block(squares, partial[turn]) / kNormColumns + kNormEpsilon);
    turn ^= 1;
#pragma unroll
    for (int i = 0; i < kPack; ++i) x.value[i] *= scale * w.value[i];
    out[place(row)] = pack(x);
  }
}

__device__ __forceinline__ float gelu_of(float x) { return 0.5f * x * (1.0f + tanhf(0.7978845608f * (x + 0.044715f * x * x * x))); }

__global__ void __launch_bounds__(kThreads) gelu_kernel(uint4* out, const uint4* in, std::size_t count) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Pack x = unpack(in[i]);
#pragma unroll
    for (float& v : x.value) v = gelu_of(v);
    out[i] = pack(x);
  }
}

__global__ void __launch_bounds__(kThreads) swiglu_kernel(uint4* out, const uint4* gate, const uint4* up, std::size_t count) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    Pack g = unpack(gate[i]);
    const Pack u = unpack(up[i]);
#pragma unroll
    for (int j = 0; j < kPack; ++j) g.value[j] = g.value[j] / (1.0f + __expf(-g.value[j])) * u.value[j];
    out[i] = pack(g);
  }
}

struct Update {
  float keep, rate, beta1, beta2, epsilon, correction1, correction2;

  __device__ __forceinline__ void apply(float& p, float& m, float& v, float g) const {
    m = beta1 * m + (1.0f - beta1) * g;
    v = beta2 * v + (1.0f - beta2) * g * g;
    p = p * keep - rate * (m * correction1) / (sqrtf(v * correction2) + epsilon);
  }
};

__global__ void __launch_bounds__(kThreads)
    adamw_kernel(float4* parameters, float4* first, float4* second, const float4* gradients, std::size_t count, Update how) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) {
    float4 p = parameters[i], m = first[i], v = second[i];
    const float4 g = gradients[i];
    how.apply(p.x, m.x, v.x, g.x);
    how.apply(p.y, m.y, v.y, g.y);
    how.apply(p.z, m.z, v.z, g.z);
    how.apply(p.w, m.w, v.w, g.w);
    parameters[i] = p;
    first[i] = m;
    second[i] = v;
  }
}

// Blocks of one step each, as many as there is work: threads that end make room at once, which loads memory more evenly than
// blocks that stay.
int one_step_blocks(std::size_t work) { return int((work + kThreads - 1) / kThreads); }

}  // namespace

cudaError_t rms_norm(void* out, const void* in, const void* weight, int rows, cudaStream_t stream) {
  const int blocks = std::min(rows, multiprocessors() * kNormBlocks);
  rms_norm_kernel<<<blocks, kNormThreads, 0, stream>>>(static_cast<uint4*>(out), static_cast<const uint4*>(in),
                                                       static_cast<const uint4*>(weight), rows);
  return launched();
}

cudaError_t gelu(void* out, const void* in, std::size_t count, cudaStream_t stream) {
  const std::size_t packs = count / kPack;
  gelu_kernel<<<one_step_blocks(packs), kThreads, 0, stream>>>(static_cast<uint4*>(out), static_cast<const uint4*>(in), packs);
  return launched();
}

cudaError_t swiglu(void* out, const void* gate, const void* up, std::size_t count, cudaStream_t stream) {
  const std::size_t packs = count / kPack;
  swiglu_kernel<<<one_step_blocks(packs), kThreads, 0, stream>>>(static_cast<uint4*>(out), static_cast<const uint4*>(gate),
                                                                 static_cast<const uint4*>(up), packs);
  return launched();
}

cudaError_t adamw(float* parameters, float* first, float* second, const float* gradients, std::size_t count, const AdamW& how,
                  cudaStream_t stream) {
  const std::size_t packs = count / 4;
  const Update update{1.0f - how.rate * how.decay,
                      how.rate,
                      how.beta1,
                      how.beta2,
                      how.epsilon,
                      1.0f / (1.0f - powf(how.beta1, float(how.step))),
                      1.0f / (1.0f - powf(how.beta2, float(how.step)))};
  adamw_kernel<<<one_step_blocks(packs), kThreads, 0, stream>>>(reinterpret_cast<float4*>(parameters), reinterpret_cast<float4*>(first),
                                                                reinterpret_cast<float4*>(second),
                                                                reinterpret_cast<const float4*>(gradients), packs, update);
  return launched();
}

cudaError_t load_training() {
  for (const cudaError_t status : {load(rms_norm_kernel), load(gelu_kernel), load(swiglu_kernel), load(adamw_kernel)}) {
    if (status != cudaSuccess) return status;
  }
  return cudaSuccess;
}

}  // namespace trunkline::backends::cuda::kernels
