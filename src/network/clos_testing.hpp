// The small fabric that tests of networks run on.
#pragma once

#include "network/clos.hpp"

namespace trunkline::network::testing_clos {

// Two tiers; every link has the same rate.
inline ClosSpec leaf_spine(int hosts, int hosts_per_leaf, int spines, Bandwidth rate) {
  ClosSpec spec;
  spec.hosts = hosts;
  spec.hosts_per_leaf = hosts_per_leaf;
  spec.spines = spines;
  spec.host_rate = spec.leaf_rate = spec.spine_rate = rate;
  return spec;
}

}  // namespace trunkline::network::testing_clos
