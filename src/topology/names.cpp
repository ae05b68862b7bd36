// The words of platform files for the enumerations of this folder.
#include "topology/node_reader.hpp"

namespace trunkline::topology {

std::string name_of(GpuLinks links) {
  switch (links) {
    case GpuLinks::none: return "none";
    case GpuLinks::nvswitch: return "nvswitch";
    case GpuLinks::nvlink_mesh: return "nvlink_mesh";
    case GpuLinks::nvlink_bridge: return "nvlink_bridge";
    case GpuLinks::xgmi: return "xgmi";
  }
  return {};
}

std::string name_of(NicPlace place) { return place == NicPlace::socket ? "socket" : "pcie_switch"; }

std::string name_of(Routing routing) {
  switch (routing) {
    case Routing::ideal: return "ideal";
    case Routing::ecmp: return "ecmp";
    case Routing::pinned: return "pinned";
    case Routing::flowlet: return "flowlet";
    case Routing::spray: return "spray";
    case Routing::adaptive: return "adaptive";
  }
  return {};
}

std::string name_of(Placement placement) {
  switch (placement) {
    case Placement::packed: return "packed";
    case Placement::scattered: return "scattered";
    case Placement::fragmented: return "fragmented";
  }
  return {};
}

std::string name_of(catalog::NicKind kind) {
  using catalog::NicKind;
  switch (kind) {
    case NicKind::infiniband: return "infiniband";
    case NicKind::roce: return "roce";
    case NicKind::efa: return "efa";
    case NicKind::ethernet: return "ethernet";
    case NicKind::omnipath: return "omnipath";
  }
  return {};
}

std::optional<catalog::NicKind> nic_kind_from(const std::string& word) {
  using catalog::NicKind;
  for (NicKind kind : {NicKind::infiniband, NicKind::roce, NicKind::efa, NicKind::ethernet, NicKind::omnipath}) {
    if (name_of(kind) == word) return kind;
  }
  return std::nullopt;
}

}  // namespace trunkline::topology
