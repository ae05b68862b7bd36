// The kernels of each file, loaded onto the GPU in use. Internal.
#pragma once

#include <cuda_runtime_api.h>

namespace trunkline::backends::cuda::kernels {

cudaError_t load_copies();
cudaError_t load_matrix();
cudaError_t load_training();

}  // namespace trunkline::backends::cuda::kernels
