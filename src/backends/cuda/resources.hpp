// Memory, streams and events that clean up after themselves. Internal to the backends that stand on CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <string>
#include <utility>

#include "backends/cuda/device.hpp"
#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::backends::cuda {

// A handle that is released once. Releasing never reports: after a fault of the GPU every call fails, and that was reported.
template <class Handle, cudaError_t (*release)(Handle)>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, Handle{})) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() {
    if (handle_) release(handle_);
  }
  Handle get() const { return handle_; }

 private:
  Handle handle_{};
};

inline cudaError_t release_device(void* p) { return cudaFree(p); }
inline cudaError_t release_host(void* p) { return cudaFreeHost(p); }

using Stream = Owned<cudaStream_t, cudaStreamDestroy>;
using Event = Owned<cudaEvent_t, cudaEventDestroy>;
using Graph = Owned<cudaGraph_t, cudaGraphDestroy>;
using GraphExec = Owned<cudaGraphExec_t, cudaGraphExecDestroy>;

// On the GPU in use.
Result<Stream> make_stream();
Result<Event> make_event();  // with time

class DeviceBuffer {
 public:
  DeviceBuffer() = default;
  // On the GPU in use. Too little free memory is an error of the kind `missing` that says how much there is.
  static Result<DeviceBuffer> make(Bytes size);

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  Bytes size() const { return size_; }

 private:
  Owned<void*, release_device> memory_;
  Bytes size_;
};

// Pinned, usable by every GPU, on the memory node beside `gpu`.
class HostBuffer {
 public:
  HostBuffer() = default;
  static Result<HostBuffer> make(Bytes size, const Gpu& gpu);

  std::byte* data() const { return static_cast<std::byte*>(memory_.get()); }
  template <class T>
  T* as() const {
    return static_cast<T*>(memory_.get());
  }
  Bytes size() const { return size_; }

 private:
  Owned<void*, release_host> memory_;
  Bytes size_;
};

// "256MiB": how sizes stand in the names of metrics.
std::string size_text(Bytes size);

}  // namespace trunkline::backends::cuda
