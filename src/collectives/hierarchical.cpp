#include "collectives/hierarchical.hpp"

#include <algorithm>

namespace trunkline::collectives {

Domain inside_of(const Domain& domain) {
  Domain inside = domain;
  inside.nodes = 1;
  return inside;
}

Domain across_of(const Domain& domain) {
  Domain across = domain;
  across.ranks_per_node = 1;
  across.sharing = domain.sharing * domain.ranks_per_node;
  across.network = domain.network / double(domain.ranks_per_node);
  across.nics = std::max(1, domain.nics / domain.ranks_per_node);
  return across;
}

HierarchicalCost hierarchical_all_reduce(const Domain& domain, Bytes size, const Options& options) {
  const Domain inside = inside_of(domain), across = across_of(domain);
  HierarchicalCost cost;
  cost.reduce_scatter = time_of(inside, Collective::reduce_scatter, size, options).time;
  cost.across = time_of(across, Collective::all_reduce, scaled(size, 1.0 / domain.ranks_per_node), options).time;
  cost.all_gather = time_of(inside, Collective::all_gather, size, options).time;
  cost.time = cost.reduce_scatter + cost.across + cost.all_gather;
  return cost;
}

Cost network_only_all_reduce(const Domain& domain, Bytes size, const Options& options) {
  if (domain.nodes == 1) return time_of(domain, Collective::all_reduce, size, options);
  Domain flat = across_of(domain);
  flat.nodes = domain.ranks();
  Options ring = options;
  ring.algorithm = Algorithm::ring;
  return time_of(flat, Collective::all_reduce, size, ring);
}

}  // namespace trunkline::collectives
