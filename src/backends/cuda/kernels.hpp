// The kernels of the probes. Each function queues work on a stream of the GPU in use and returns what the launch said.
// Internal to the backends that stand on CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "base/units.hpp"

namespace trunkline::backends::cuda::kernels {

// Loads every kernel onto the GPU in use.
cudaError_t load_all();

// Waits until *gate is not 0, at most for `patience`; then sets *gave_up.
cudaError_t hold(const int* gate, int* gave_up, Seconds patience, cudaStream_t stream);
cudaError_t nothing(cudaStream_t stream);

// 64-bit words: the i-th is the i-th number of base::Rng(seed). `size` is a multiple of 16 bytes.
cudaError_t fill_random(void* out, Bytes size, std::uint64_t seed, cudaStream_t stream);
// Adds the number of words that differ from what fill_random writes to *count.
cudaError_t count_differences(const void* data, Bytes size, std::uint64_t seed, unsigned long long* count, cudaStream_t stream);

// Every thread moves 64 bytes. `size` is a multiple of 16 bytes.
cudaError_t copy(void* to, const void* from, Bytes size, cudaStream_t stream);
// The same `passes` times over by `blocks` thread blocks that stay, as a kernel for communication does.
cudaError_t copy_slowly(void* to, const void* from, Bytes size, int blocks, int passes, cudaStream_t stream);

// Follows next[next[…]] for so many steps with one thread, every step a read that waits for the one before. The last index → *out.
cudaError_t chase(const std::uint32_t* next, int steps, std::uint32_t* out, cudaStream_t stream);

enum class Element { bf16, fp16, fp32, e4m3 };
std::size_t size_of(Element element);

// Normal numbers (mean 0, standard deviation 1), rounded to the element.
cudaError_t fill_normal(void* out, std::size_t count, Element element, std::uint64_t seed, cudaStream_t stream);

// A matrix product D[m,n] = A·B as it lies in memory, row after row. A is [m,k], or [k,m] where transposed; B is [k,n], or [n,k].
struct Product {
  int m = 0, n = 0, k = 0;
  bool a_transposed = false, b_transposed = false;
  Element input = Element::bf16, output = Element::bf16;
};
// Adds up, over `samples` elements of D at random places, (D − exact)² to sums[0] and exact² to sums[1]; exact in double.
cudaError_t compare_product(const Product& product, const void* a, const void* b, const void* d, int samples, std::uint64_t seed,
                            double* sums, cudaStream_t stream);

// Memory-bound kernels of training; tensors in bf16 unless said otherwise.
inline constexpr int kNormColumns = 4096;
inline constexpr float kNormEpsilon = 1e-5f;
// out = in / √(mean(in²) + ε) · weight, for each row of kNormColumns.
cudaError_t rms_norm(void* out, const void* in, const void* weight, int rows, cudaStream_t stream);
// out = x·Φ(x) by its tanh form.
cudaError_t gelu(void* out, const void* in, std::size_t count, cudaStream_t stream);
// out = gate·sigmoid(gate)·up
cudaError_t swiglu(void* out, const void* gate, const void* up, std::size_t count, cudaStream_t stream);

struct AdamW {
  float rate = 1e-3f, beta1 = 0.9f, beta2 = 0.999f, epsilon = 1e-8f, decay = 0.01f;
  int step = 1;
};
// One update of fp32 parameters and moments by fp32 gradients: reads 16 bytes a parameter and writes 12.
cudaError_t adamw(float* parameters, float* first, float* second, const float* gradients, std::size_t count, const AdamW& how,
                  cudaStream_t stream);

}  // namespace trunkline::backends::cuda::kernels
