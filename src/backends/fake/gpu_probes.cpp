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
  measure::Metric rate{"rate@gpu0", "FLOP/s", measure::Better::higher, {}};
  if (gpu.rate(Precision::bf16).si() > 0) {
    rate.limit = gpu.rate(Precision::bf16).si();
    rate.limit_source = "dense matrix rate of the catalogue";
  }
  rate.conditions = {{"precision", std::string("bf16")}, {"m", std::int64_t(8192)}, {"n", std::int64_t(8192)}, {"k", std::int64_t(8192)}};
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

// Both directions have their own lanes: what one gives the other gives.
Result<Answer> host_copy(const Model& model, const measure::Settings&) {
  const topology::NodeType& node = model.platform.node;
  const bool linked = node.host_link.si() > 0;
  Bandwidth rate = linked ? node.host_link : node.pcie_bandwidth;
  measure::Conditions conditions = {{"memory_node", std::string("local")}};
  if (model.has(FaultKind::wrong_numa) && node.sockets > 1) {
    rate = std::min(rate, node.socket_bandwidth);
    measure::set(conditions, "memory_node", std::string("remote"));
  }
  const Bandwidth limit = linked ? node.gpu.c2c_bandwidth : node.pcie_line;
  Answer answer;
  answer.points.push_back({{bandwidth("bandwidth@gpu0", limit, linked ? "link to the CPU" : "line rate of the PCIe slot", conditions)},
                           {rate.si()},
                           milliseconds(100)});
  return answer;
}

Result<Answer> peer_write(const Model& model, const measure::Settings&) {
  const topology::NodeType& node = model.platform.node;
  if (node.gpus < 2) return missing("one GPU alone has no peer");
  const Bandwidth rate = topology::limits_of(node).gpu_to_gpu * (model.platform.nodes > 1 ? 1 : model.rate_left(FaultKind::slow_link));
  const bool links = node.gpu_links != topology::GpuLinks::none;
  Answer answer;
  answer.points.push_back({{bandwidth("bandwidth@gpu0_gpu1", links ? node.link_bandwidth : node.pcie_line,
                                      links ? "line rate of a GPU's links" : "line rate of the PCIe slot")},
                           {rate.si()},
                           milliseconds(100)});
  return answer;
}

}  // namespace

std::vector<Description> gpu_probes() {
  return {{"gpu.gemm", "how fast a GPU multiplies matrices", "a GPU", gemm},
          {"gpu.memory_copy", "how fast a GPU's memory is read and written", "a GPU", memory_copy},
          {"gpu.h2d", "how fast data moves from host memory to a GPU", "a GPU", host_copy},
          {"gpu.d2h", "how fast data moves from a GPU to host memory", "a GPU", host_copy},
          {"gpu.p2p.write", "how fast one GPU writes to another", "two GPUs", peer_write}};
}

}  // namespace trunkline::backends::fake
