#include "backends/cuda/resources.hpp"

#include <fmt/format.h>

#include "backends/cuda/error.hpp"

namespace trunkline::backends::cuda {

Result<Stream> make_stream() {
  cudaStream_t stream{};
  TRUNKLINE_TRY(ok(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream"));
  return Stream(stream);
}

Result<Event> make_event() {
  cudaEvent_t event{};
  TRUNKLINE_TRY(ok(cudaEventCreate(&event), "making an event"));
  return Event(event);
}

Result<DeviceBuffer> DeviceBuffer::make(Bytes size) {
  void* memory = nullptr;
  const cudaError_t status = cudaMalloc(&memory, std::size_t(size.count()));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    std::size_t free = 0, total = 0;
    cudaMemGetInfo(&free, &total);
    return fail({ErrorKind::missing,
                 fmt::format("needs {} of GPU memory at once, {:.1f} of {:.1f} GiB are free", size_text(size), as_gib(Bytes(free)),
                             as_gib(Bytes(total))),
                 {},
                 "end what holds the memory: nvidia-smi lists the processes"});
  }
  TRUNKLINE_TRY(ok(status, "taking GPU memory"));
  DeviceBuffer out;
  out.memory_ = Owned<void*, release_device>(memory);
  out.size_ = size;
  return out;
}

Result<HostBuffer> HostBuffer::make(Bytes size, const Gpu& gpu) {
  const Beside beside(gpu);
  void* memory = nullptr;
  const cudaError_t status = cudaHostAlloc(&memory, std::size_t(size.count()), cudaHostAllocPortable | cudaHostAllocMapped);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    return fail({ErrorKind::missing,
                 fmt::format("{} of host memory cannot be pinned", size_text(size)),
                 {},
                 "free host memory, or raise the limit of locked memory (ulimit -l) or of the container"});
  }
  TRUNKLINE_TRY(ok(status, "pinning host memory"));
  HostBuffer out;
  out.memory_ = Owned<void*, release_host>(memory);
  out.size_ = size;
  return out;
}

std::string size_text(Bytes size) {
  constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB"};
  std::int64_t count = size.count();
  int unit = 0;
  while (unit < 3 && count >= 1024 && count % 1024 == 0) count /= 1024, ++unit;
  if (unit < 2 && count >= 1024 * 1024) return fmt::format("{:.0f}MiB", double(size.count()) / double(1 << 20));
  return fmt::format("{}{}", count, kUnits[unit]);
}

}  // namespace trunkline::backends::cuda
