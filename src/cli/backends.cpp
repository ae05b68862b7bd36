#include "cli/backends.hpp"

#include "backends/cuda/cuda.hpp"
#include "backends/host/host.hpp"
#include "backends/nccl/nccl.hpp"
#include "backends/nvml/nvml.hpp"
#include "backends/storage/storage.hpp"

namespace trunkline::cli {

const std::vector<measure::Backend>& machine_backends() {
  static const std::vector<measure::Backend> list = {backends::host::backend(), backends::storage::backend(), backends::nvml::backend(),
                                                     backends::cuda::backend(), backends::nccl::backend()};
  return list;
}

}  // namespace trunkline::cli
