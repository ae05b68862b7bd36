// The ready-made nodes: all of them load, and what each states agrees with what its parts can do.
#include <gtest/gtest.h>

#include <set>

#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

TEST(NodeCatalog, PrintAll) {
  for (const auto& e : node_catalog()) {
    const auto l = limits_of(e.node);
    std::printf("%-16s g2g %6.1f ring %6.1f%s nic2gpu %6.1f net %6.1f h2g %6.1f %s nic eff %.2f\n", e.id.c_str(), as_gbyte_per_s(l.gpu_to_gpu), as_gbyte_per_s(l.ring), l.ring_over_links ? "L" : "P", as_gbyte_per_s(l.nic_to_gpu), as_gbyte_per_s(l.node_to_network), as_gbyte_per_s(l.host_to_gpu), l.nic_across_socket ? "ACROSS" : "", e.node.nics.efficiency);
  }
}

}  // namespace
}  // namespace trunkline::topology
