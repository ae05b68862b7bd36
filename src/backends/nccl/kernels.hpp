// Values that ranks send, and whether what arrived is what should have. Internal.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "backends/nccl/library.hpp"

namespace trunkline::backends::nccl::kernels {

// Element i of rank r: a random whole number so small that sums over all ranks are exact in every type, in whatever order.
cudaError_t fill(void* out, std::size_t count, Type type, int rank, cudaStream_t stream);
// The most ranks for which sums of this type are exact.
int most_ranks(Type type);

// What element i of a rank's result must be.
struct Expected {
  bool reduces = false;
  Operation operation = Operation::sum;
  int ranks = 1;
  int source = -1;         // not reducing: the rank that sent; -1 = rank i/chunk
  std::size_t chunk = 1;   // elements of one rank's part
  std::size_t offset = 0;  // where in the senders' buffers it begins
};
// Adds the number of wrong elements to *wrong.
cudaError_t count_wrong(const void* data, std::size_t count, Type type, const Expected& expected, unsigned long long* wrong,
                        cudaStream_t stream);

// The same on the host, for tests.
double value(int rank, std::size_t i, Type type);
double expected_value(const Expected& expected, std::size_t i, Type type);

}  // namespace trunkline::backends::nccl::kernels
