#include <algorithm>

#include "backends/fake/probe.hpp"
#include "kernels/kernels.hpp"

namespace trunkline::backends::fake {
namespace {

using catalog::Precision;
namespace condition = measure::condition;

Result<Answer> gemm(const Model& model, const measure::Settings&) {
  const catalog::Gpu& gpu = model.platform.node.gpu;
  const kernels::Kernels kernels(gpu);
  const double n = 8192;
  const Seconds time = kernels.gemm({n, n, n, 1, Precision::bf16, 2});
  measure::Metric rate{"rate@bf16", "FLOP/s", measure::Better::higher, {}};
  if (gpu.rate(Precision::bf16).si() > 0) {
    rate.limit = gpu.rate(Precision::bf16).si();
    rate.limit_source = "dense matrix rate of the catalogue";
  }
  rate.conditions = {{"m", std::int64_t(8192)}, {"n", std::int64_t(8192)}, {"k", std::int64_t(8192)}};
  Answer answer;
  answer.points.push_back({{rate}, {2 * n * n * n / time.si()}, time * 50});
  return answer;
}

Result<Answer> memory_copy(const Model& model, const measure::Settings&) {
  const catalog::Gpu& gpu = model.platform.node.gpu;
  const double moved = 4e9;
  const Seconds time = kernels::Kernels(gpu).memory_bound(moved, kernels::MemoryKind::copy);
  Answer answer;
  answer.points.push_back(
      {{bandwidth("traffic", gpu.memory_bandwidth, "memory bandwidth of the catalogue")}, {moved / time.si()}, time * 50});
  return answer;
}

Result<Answer> host_copy(const Model& model, const measure::Settings&) {
  const topology::NodeType& node = model.platform.node;
  const bool linked = node.host_link.si() > 0;
  Bandwidth rate = linked ? node.host_link : node.pcie_bandwidth;
  measure::Conditions conditions = {{"numa_binding", std::string("local")}};
  if (model.has(FaultKind::wrong_numa) && node.sockets > 1) {
    rate = std::min(rate, node.socket_bandwidth);
    measure::set(conditions, "numa_binding", std::string("remote"));
  }
  const Bandwidth limit = linked ? node.gpu.c2c_bandwidth : node.pcie_line;
  Answer answer;
  for (const char* name : {"bandwidth@to_gpu", "bandwidth@from_gpu"})
    answer.points.push_back(
        {{bandwidth(name, limit, linked ? "link to the CPU" : "line rate of the PCIe slot", conditions)}, {rate.si()}, milliseconds(100)});
  return answer;
}

Result<Answer> peer_copy(const Model& model, const measure::Settings&) {
  const topology::NodeType& node = model.platform.node;
  if (node.gpus < 2) return missing("one GPU alone has no peer");
  const Bandwidth rate = topology::limits_of(node).gpu_to_gpu * (model.platform.nodes > 1 ? 1 : model.rate_left(FaultKind::slow_link));
  const bool links = node.gpu_links != topology::GpuLinks::none;
  Answer answer;
  answer.points.push_back({{bandwidth("bandwidth", links ? node.link_bandwidth : node.pcie_line,
                                      links ? "line rate of a GPU's links" : "line rate of the PCIe slot")},
                           {rate.si()},
                           milliseconds(100)});
  return answer;
}

}  // namespace

std::vector<Description> gpu_probes() {
  return {{"gpu.gemm", "how fast a GPU multiplies matrices", "a GPU", gemm},
          {"gpu.memory_copy", "how fast a GPU's memory is read and written", "a GPU", memory_copy},
          {"gpu.host_copy", "how fast data moves between host and GPU", "a GPU", host_copy},
          {"gpu.peer_copy", "how fast data moves between the slowest pair of GPUs", "two GPUs", peer_copy}};
}

}  // namespace trunkline::backends::fake
