#include "backends/cuda/error.hpp"

#include <fmt/format.h>

namespace trunkline::backends::cuda {
namespace {

struct Advice {
  ErrorKind kind;
  const char* hint;
};

// No driver, or one that is older than what this program was built with: CUDA says the same of both.
tl::unexpected<Error> too_old() {
  int driver = 0, built = 0;
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&built);
  if (driver == 0) {
    return fail({ErrorKind::missing,
                 "no NVIDIA driver here",
                 {},
                 "install NVIDIA's driver; in a container, start it with access to the GPUs (docker run --gpus all)"});
  }
  return fail({ErrorKind::missing,
               fmt::format("the driver is for CUDA {}, this program was built with CUDA {}", version_text(driver), version_text(built)),
               {},
               "update NVIDIA's driver, or build trunkline with a CUDA toolkit of the driver's version or older"});
}

Advice advice_for(cudaError_t status) {
  switch (status) {
    case cudaErrorNoDevice:
      return {ErrorKind::missing, "nvidia-smi -L lists the GPUs; CUDA_VISIBLE_DEVICES may hide them; a container needs --gpus all"};
    case cudaErrorSystemDriverMismatch:
      return {ErrorKind::missing, "the driver was updated while it ran: reboot, or load its kernel modules again"};
    case cudaErrorSystemNotReady:
      return {ErrorKind::missing, "machines with NVSwitch need a running nvidia-fabricmanager of the driver's version"};
    case cudaErrorDevicesUnavailable: return {ErrorKind::missing, "another process holds the GPU in exclusive mode: nvidia-smi shows it"};
    case cudaErrorMemoryAllocation: return {ErrorKind::missing, "end what holds the memory: nvidia-smi lists the processes"};
    case cudaErrorNoKernelImageForDevice:
    case cudaErrorInvalidDeviceFunction:
      return {ErrorKind::missing, "this program was built for other GPUs: build it with -DCMAKE_CUDA_ARCHITECTURES=native on this machine"};
    case cudaErrorStubLibrary:
      return {ErrorKind::missing, "the toolkit's stub of libcuda is found before the driver's: mend LD_LIBRARY_PATH"};
    default: break;
  }
  if (loses_context(status))
    return {ErrorKind::failed,
            "the GPU is lost to this process: run the probes that are left again; dmesg | grep -i xid names the fault of the hardware"};
  return {ErrorKind::failed, "nvidia-smi -q and dmesg may say more"};
}

}  // namespace

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

bool loses_context(cudaError_t status) {
  switch (status) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchTimeout:
    case cudaErrorAssert:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorMisalignedAddress:
    case cudaErrorInvalidAddressSpace:
    case cudaErrorInvalidPc:
    case cudaErrorLaunchFailure:
    case cudaErrorECCUncorrectable:
    case cudaErrorNvlinkUncorrectable: return true;
    default: return false;
  }
}

Result<void> ok(cudaError_t status, const std::string& what) {
  if (status == cudaSuccess) return {};
  cudaGetLastError();  // what is no fault of the context must not be reported again by the next call
  if (status == cudaErrorInsufficientDriver) return too_old();
  const auto [kind, hint] = advice_for(status);
  return fail({kind, fmt::format("{}: {} ({})", what, cudaGetErrorString(status), cudaGetErrorName(status)), {}, hint});
}

}  // namespace trunkline::backends::cuda
