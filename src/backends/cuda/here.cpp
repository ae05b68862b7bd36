// What of CUDA is on this machine: for `doctor` and for the result file.
#include <fmt/format.h>

#include "backends/cuda/blas.hpp"
#include "backends/cuda/error.hpp"
#include "backends/cuda/probes.hpp"

namespace trunkline::backends::cuda {
namespace {

std::string blas_version(const BlasLibrary& library) {
  const std::size_t version = library.version();  // 130000 = 13.0.0
  return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100);
}

}  // namespace

std::vector<measure::Need> needs_here() {
  measure::Need gpus{"CUDA", "gpu", false, {}, {}};
  int count = 0, built = 0;
  cudaRuntimeGetVersion(&built);
  if (const auto found = ok(cudaGetDeviceCount(&count), "looking for GPUs"); found) {
    gpus.present = true;
    gpus.found = fmt::format("built with CUDA {}, {} GPUs", version_text(built), count);
  } else {
    gpus.found = fmt::format("built with CUDA {}; {}", version_text(built), found.error().message);
    gpus.fix = found.error().hint;
  }
  measure::Need blas{"cuBLASLt", "gpu.gemm, gpu.overlap", false, {}, {}};
  if (const auto library = blas_library(); library) {
    blas.present = true;
    blas.found = "version " + blas_version(**library);
  } else {
    blas.found = library.error().message;
    blas.fix = library.error().hint;
  }
  return {gpus, blas};
}

void describe_here(measure::Context& context) {
  int count = 0, built = 0, driver = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return;
  }
  cudaRuntimeGetVersion(&built);
  cudaDriverGetVersion(&driver);
  context.cuda = version_text(built);
  context.libraries.emplace_back("CUDA of the driver", version_text(driver));
  if (const auto library = blas_library(); library) context.libraries.emplace_back("cuBLASLt", blas_version(**library));
}

}  // namespace trunkline::backends::cuda
