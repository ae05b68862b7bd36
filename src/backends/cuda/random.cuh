// The numbers of base::Rng by their place in the sequence. Internal.
#pragma once

#include <cstdint>

namespace trunkline::backends::cuda::kernels {

__device__ __forceinline__ std::uint64_t random_word(std::uint64_t seed, std::uint64_t index) {
  std::uint64_t z = seed + (index + 1) * 0x9E3779B97F4A7C15ULL;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
  return z ^ (z >> 31);
}

}  // namespace trunkline::backends::cuda::kernels
