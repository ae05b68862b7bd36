#include "cli/backends.hpp"

#include "backends/host/host.hpp"

namespace trunkline::cli {

const std::vector<measure::Backend>& machine_backends() {
  static const std::vector<measure::Backend> list = {backends::host::backend()};
  return list;
}

}  // namespace trunkline::cli
