#include "backends/nccl/library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#ifndef TRUNKLINE_CUDA_LIBRARIES
#define TRUNKLINE_CUDA_LIBRARIES "/usr/local/cuda/lib64"
#endif

namespace trunkline::backends::nccl {
namespace {

constexpr char kFile[] = "libnccl.so.2";

template <class Function>
bool find(void* library, const char* name, Function& out) {
  out = reinterpret_cast<Function>(::dlsym(library, name));
  return out != nullptr;
}

Result<Library> open_library() {
  void* handle = ::dlopen(kFile, RTLD_NOW | RTLD_LOCAL);
  if (!handle) handle = ::dlopen((std::string(TRUNKLINE_CUDA_LIBRARIES "/") + kFile).c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    return fail({ErrorKind::missing,
                 fmt::format("{} is not found", kFile),
                 {},
                 "install NCCL (libnccl2), or name its folder in LD_LIBRARY_PATH (PyTorch brings one: nvidia/nccl/lib)"});
  }
  Library f;
  find(handle, "ncclGetLastError", f.last_error);
  const bool complete =
      find(handle, "ncclGetVersion", f.version) && find(handle, "ncclGetErrorString", f.error_text) &&
      find(handle, "ncclCommInitAll", f.init_all) && find(handle, "ncclCommDestroy", f.destroy) && find(handle, "ncclCommAbort", f.abort) &&
      find(handle, "ncclCommGetAsyncError", f.async_error) && find(handle, "ncclGroupStart", f.group_start) &&
      find(handle, "ncclGroupEnd", f.group_end) && find(handle, "ncclAllReduce", f.all_reduce) && find(handle, "ncclReduce", f.reduce) &&
      find(handle, "ncclBroadcast", f.broadcast) && find(handle, "ncclAllGather", f.all_gather) &&
      find(handle, "ncclReduceScatter", f.reduce_scatter) && find(handle, "ncclSend", f.send) && find(handle, "ncclRecv", f.receive);
  if (!complete)
    return fail({ErrorKind::missing, fmt::format("{} lacks a function that is used", kFile), {}, "install NCCL 2.10 or later"});
  return f;
}

}  // namespace

Result<const Library*> library() {
  static const Result<Library> opened = open_library();
  if (!opened) return fail(opened.error());
  return &*opened;
}

// 22707 = 2.27.7, and before 2.9 the minor number had three digits less: 2804 = 2.8.4.
std::string Library::version_text() const {
  int v = 0;
  if (version(&v) != kSuccess) return {};
  return v >= 10000 ? fmt::format("{}.{}.{}", v / 10000, v / 100 % 100, v % 100) : fmt::format("{}.{}.{}", v / 1000, v / 100 % 10, v % 100);
}

Result<void> Library::ok(Status status, const std::string& what, Communicator communicator) const {
  if (status == kSuccess) return {};
  const char* more = last_error ? last_error(communicator) : nullptr;
  std::string message = fmt::format("{}: {}", what, error_text(status));
  if (more && *more) message += fmt::format(" ({})", more);
  return fail({ErrorKind::failed, std::move(message), {}, "run it again with NCCL_DEBUG=WARN in the environment: NCCL then says more"});
}

std::size_t size_of(Type type) {
  switch (type) {
    case Type::int8:
    case Type::uint8: return 1;
    case Type::half:
    case Type::bfloat16: return 2;
    case Type::int32:
    case Type::uint32:
    case Type::single: return 4;
    case Type::int64:
    case Type::uint64:
    case Type::real: break;
  }
  return 8;
}

}  // namespace trunkline::backends::nccl
