// What CUDA calls say, as errors with a next step. Internal to the backends that stand on CUDA.
#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "base/result.hpp"

namespace trunkline::backends::cuda {

// Success, or an error that names what was tried. Errors that lie in the machine (no GPU, an old driver, no memory) are of the
// kind `missing`, so that the probe is waived; a fault of the GPU makes it fail.
Result<void> ok(cudaError_t status, const std::string& what);

// Whether this error leaves the GPU unusable for the rest of the process.
bool loses_context(cudaError_t status);

// "13.0" of 13000.
std::string version_text(int version);

}  // namespace trunkline::backends::cuda
