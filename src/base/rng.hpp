// A small deterministic generator (splitmix64): the same seed gives the same numbers on every machine,
// which the standard distributions do not promise.
#pragma once

#include <cstdint>

namespace trunkline {
inline namespace base {

class Rng {
 public:
  explicit Rng(std::uint64_t seed) : state_(seed) {}

  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9E3779B97F4A7C15ULL);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31);
  }

  // Uniform in [0, 1).
  double uniform() { return double(next() >> 11) * 0x1.0p-53; }

  // Uniform in [0, bound); bound > 0. The bias of the multiply-shift is below 2^-32 for bounds below 2^32.
  std::uint64_t below(std::uint64_t bound) {
    __extension__ using Wide = unsigned __int128;
    return std::uint64_t((static_cast<Wide>(next()) * bound) >> 64);
  }

 private:
  std::uint64_t state_;
};

}  // namespace base
}  // namespace trunkline
