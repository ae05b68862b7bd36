#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/nccl/kernels.hpp"

namespace trunkline::backends::nccl::kernels {
namespace {

constexpr int kThreads = 256, kBlocks = 1024;

// Largest value of an element: sums over all ranks must not leave what the type holds exactly (bf16: 256, int8: 127).
__host__ __device__ constexpr int largest(Type type) { return type == Type::int8 || type == Type::uint8 ? 1 : 3; }

__host__ __device__ inline int number(int rank, std::size_t i, Type type) {
  std::uint64_t z = (std::uint64_t(rank + 1) << 48) + (i + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return int((z >> 40) % std::uint64_t(largest(type) + 1));
}

__host__ __device__ inline int result_of(const Expected& e, std::size_t i, Type type) {
  if (!e.reduces) return e.source >= 0 ? number(e.source, i, type) : number(int(i / e.chunk), e.offset + i % e.chunk, type);
  int out = number(0, e.offset + i, type);
  for (int rank = 1; rank < e.ranks; ++rank) {
    const int next = number(rank, e.offset + i, type);
    if (e.operation == Operation::sum)
      out += next;
    else if ((e.operation == Operation::max) == (next > out))
      out = next;
  }
  return out;
}

template <class T>
__global__ void __launch_bounds__(kThreads) fill_kernel(T* out, std::size_t count, Type type, int rank) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step) out[i] = T(float(number(rank, i, type)));
}

template <class T>
__global__ void __launch_bounds__(kThreads)
    check_kernel(const T* data, std::size_t count, Type type, Expected expected, unsigned long long* wrong) {
  const std::size_t step = std::size_t(gridDim.x) * blockDim.x;
  unsigned long long mine = 0;
  for (std::size_t i = std::size_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += step)
    mine += !(float(data[i]) == float(result_of(expected, i, type)));  // NaN is wrong
  if (mine) atomicAdd(wrong, mine);
}

// Calls `with` with a value of the type's form.
template <class With>
cudaError_t by_type(Type type, With with) {
  switch (type) {
    case Type::int8: return with(std::int8_t());
    case Type::uint8: return with(std::uint8_t());
    case Type::int32: return with(std::int32_t());
    case Type::uint32: return with(std::uint32_t());
    case Type::int64: return with((long long)0);
    case Type::uint64: return with((unsigned long long)0);
    case Type::half: return with(__half());
    case Type::single: return with(float());
    case Type::real: return with(double());
    case Type::bfloat16: return with(__nv_bfloat16());
  }
  return cudaErrorInvalidValue;
}

}  // namespace

int most_ranks(Type type) {
  if (type == Type::int8) return 127;
  return type == Type::bfloat16 ? 256 / largest(type) : type == Type::uint8 ? 255 : type == Type::half ? 2048 / largest(type) : 1 << 20;
}

double value(int rank, std::size_t i, Type type) { return number(rank, i, type); }
double expected_value(const Expected& expected, std::size_t i, Type type) { return result_of(expected, i, type); }

cudaError_t fill(void* out, std::size_t count, Type type, int rank, cudaStream_t stream) {
  return by_type(type, [&](auto form) {
    fill_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<decltype(form)*>(out), count, type, rank);
    return cudaGetLastError();
  });
}

cudaError_t count_wrong(const void* data, std::size_t count, Type type, const Expected& expected, unsigned long long* wrong,
                        cudaStream_t stream) {
  return by_type(type, [&](auto form) {
    check_kernel<<<kBlocks, kThreads, 0, stream>>>(static_cast<const decltype(form)*>(data), count, type, expected, wrong);
    return cudaGetLastError();
  });
}

}  // namespace trunkline::backends::nccl::kernels
