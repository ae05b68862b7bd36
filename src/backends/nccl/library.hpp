// NCCL, opened at run time: the few functions that are used, declared here so that any installed version serves. Internal.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>

#include "base/result.hpp"

namespace trunkline::backends::nccl {

// As NCCL's interface defines them since version 2.10.
using Communicator = struct CommunicatorTag*;
using Status = int;
inline constexpr Status kSuccess = 0, kInProgress = 7;

enum class Type { int8 = 0, uint8 = 1, int32 = 2, uint32 = 3, int64 = 4, uint64 = 5, half = 6, single = 7, real = 8, bfloat16 = 9 };
enum class Operation { sum = 0, max = 2, min = 3 };

struct Library {
  Status (*version)(int*) = nullptr;
  const char* (*error_text)(Status) = nullptr;
  const char* (*last_error)(Communicator) = nullptr;  // absent before 2.13
  Status (*init_all)(Communicator*, int, const int*) = nullptr;
  Status (*destroy)(Communicator) = nullptr;
  Status (*abort)(Communicator) = nullptr;
  Status (*async_error)(Communicator, Status*) = nullptr;
  Status (*group_start)() = nullptr;
  Status (*group_end)() = nullptr;
  Status (*all_reduce)(const void*, void*, std::size_t, Type, Operation, Communicator, cudaStream_t) = nullptr;
  Status (*reduce)(const void*, void*, std::size_t, Type, Operation, int, Communicator, cudaStream_t) = nullptr;
  Status (*broadcast)(const void*, void*, std::size_t, Type, int, Communicator, cudaStream_t) = nullptr;
  Status (*all_gather)(const void*, void*, std::size_t, Type, Communicator, cudaStream_t) = nullptr;
  Status (*reduce_scatter)(const void*, void*, std::size_t, Type, Operation, Communicator, cudaStream_t) = nullptr;
  Status (*send)(const void*, std::size_t, Type, int, Communicator, cudaStream_t) = nullptr;
  Status (*receive)(void*, std::size_t, Type, int, Communicator, cudaStream_t) = nullptr;

  std::string version_text() const;  // "2.27.7"
  Result<void> ok(Status status, const std::string& what, Communicator communicator = nullptr) const;
};

// Opened when first asked for and kept. An error of the kind `missing` where it is not found.
Result<const Library*> library();

std::size_t size_of(Type type);

}  // namespace trunkline::backends::nccl
