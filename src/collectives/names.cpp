#include "collectives/collective.hpp"

namespace trunkline::collectives {

std::string name_of(Collective collective) {
  switch (collective) {
    case Collective::all_reduce: return "all_reduce";
    case Collective::all_gather: return "all_gather";
    case Collective::reduce_scatter: return "reduce_scatter";
    case Collective::broadcast: return "broadcast";
    case Collective::reduce: return "reduce";
    case Collective::all_to_all: return "all_to_all";
    case Collective::send_recv: return "send_recv";
  }
  return {};
}

std::string name_of(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::ring: return "ring";
    case Algorithm::tree: return "tree";
    case Algorithm::nvls: return "nvls";
    case Algorithm::nvls_tree: return "nvls_tree";
    case Algorithm::collnet: return "collnet";
    case Algorithm::pat: return "pat";
    case Algorithm::direct: return "direct";
  }
  return {};
}

std::string name_of(Protocol protocol) {
  switch (protocol) {
    case Protocol::ll: return "ll";
    case Protocol::ll128: return "ll128";
    case Protocol::simple: return "simple";
  }
  return {};
}

}  // namespace trunkline::collectives
