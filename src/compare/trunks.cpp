#include "compare/trunks.hpp"

#include <fmt/format.h>

#include <tuple>
#include <vector>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "calibrate/values.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::compare {
namespace {

using calibrate::Applied;
using topology::GpuLinks;
using topology::NodeType;
using topology::Platform;

// The fields of a trunk as one tuple of references: compared and taken over as a whole, so that none is forgotten in one of the two.
template <class A>
auto links_of(A& a) {
  auto& n = a.platform.node;
  return std::tie(n.gpu_links, n.link_generation, n.link_bandwidth, n.links, n.link_share, n.link_copy_share, n.link_domain);
}
template <class A>
auto host_of(A& a) {
  auto& n = a.platform.node;
  return std::tie(n.sockets, n.pcie_switches, n.pcie_generation, n.pcie_bandwidth, n.pcie_line, n.uplink_bandwidth, n.socket_bandwidth,
                  n.pcie_p2p, n.host_link, n.memory_bandwidth, n.host_memory);
}
template <class A>
auto cards_of(A& a) {
  auto& n = a.platform.node.nics;
  return std::tie(n.part, n.kind, n.count, n.rate, n.efficiency, n.near, n.latency, n.slot);
}
template <class A>
auto fabric_of(A& a) {
  auto& f = a.platform.fabric;
  return std::tie(f.present, f.kind, f.tiers, f.ports, f.oversubscription, f.routing, f.placement, f.rail_optimised);
}
template <class A>
auto size_of(A& a) {
  return std::tie(a.platform.nodes, a.platform.node.gpus);
}

auto rates_of(const topology::Disk& d) { return std::tuple(d.read, d.write, d.iops); }
auto rates_of(const topology::Volume& v) { return std::tuple(v.read, v.write, v.iops); }
auto rates_of(const topology::Ingest& i) { return std::tuple(i.line, i.efficiency); }
template <class T>
bool same(const std::optional<T>& a, const std::optional<T>& b) {
  return a.has_value() == b.has_value() && (!a || rates_of(*a) == rates_of(*b));
}

bool same_mesh(const NodeType& a, const NodeType& b) {
  const auto equal = [](const topology::MeshLink& x, const topology::MeshLink& y) {
    return x.a == y.a && x.b == y.b && x.links == y.links;
  };
  return std::equal(a.mesh.begin(), a.mesh.end(), b.mesh.begin(), b.mesh.end(), equal);
}

bool same_efficiencies(const kernels::Efficiencies& a, const kernels::Efficiencies& b) {
  const auto flash = [](const kernels::FlashShare& f) {
    return std::tuple(f.share, f.head_exponent, f.overhead_keys, f.tail, f.latency_s, f.passes);
  };
  const auto all = [&](const kernels::Efficiencies& e) {
    return std::tuple(e.matrix, e.overhead_k, e.tile_intensity, e.gemm_latency_s, e.split_latency_s, e.power, e.watts_per_sm, e.memory,
                      e.memory_latency_s, flash(e.flash2_forward), flash(e.flash2_backward), flash(e.flash3_forward),
                      flash(e.flash3_backward));
  };
  return all(a) == all(b);
}

// " (measured: links.share 0.71)": the values below `prefix` that were measured.
std::string measured_text(const Offer& offer, std::initializer_list<const char*> prefixes) {
  std::vector<std::string> out;
  for (const auto& m : offer.calibration.values) {
    for (const char* prefix : prefixes) {
      if (m.key.starts_with(prefix)) out.push_back(m.key + " " + calibrate::shown_text(*calibrate::kind_of(m.key), m.value));
    }
  }
  return out.empty() ? "" : " (measured: " + join(out, ", ") + ")";
}

std::string gpu_fact(const Offer& o) { return o.applied.platform.node.gpu.name + measured_text(o, {"kernels."}); }

std::string links_fact(const Offer& o) {
  const NodeType& n = o.applied.platform.node;
  if (n.gpu_links == GpuLinks::none) return "no links between GPUs";
  const std::string what = n.gpu_links == GpuLinks::xgmi            ? "xGMI"
                           : n.gpu_links == GpuLinks::nvswitch      ? "NVSwitch"
                           : n.gpu_links == GpuLinks::nvlink_bridge ? "NVLink bridges"
                                                                    : "NVLink mesh";
  return fmt::format("{}, {} a GPU, of which collectives reach {:.0f} %{}", what, to_text(n.link_bandwidth), 100 * n.link_share,
                     measured_text(o, {"links."}));
}

std::string host_fact(const Offer& o) {
  const NodeType& n = o.applied.platform.node;
  const std::string slot = n.host_link.si() > 0 ? fmt::format("link to the CPU {}", to_text(n.host_link))
                                                : fmt::format("PCIe {}.0, {} a GPU", n.pcie_generation, to_text(n.pcie_bandwidth));
  return fmt::format("{}, {} PCIe switches, {} sockets{}{}", slot, n.pcie_switches, n.sockets, n.pcie_p2p ? "" : ", no peer-to-peer",
                     measured_text(o, {"pcie."}));
}

std::string network_fact(const Offer& o) {
  const topology::Nics& n = o.applied.platform.node.nics;
  if (n.count == 0) return "no network between nodes";
  const topology::Fabric& f = o.applied.platform.fabric;
  std::string out = fmt::format("{} x {} Gb/s {}, of which {:.0f} % are reached", n.count, significant(as_gbit_per_s(n.rate)),
                                topology::name_of(n.kind), 100 * n.efficiency);
  if (n.slot.si() > 0 && n.slot < n.rate * n.efficiency) out += fmt::format(", slots of {}", to_text(n.slot));
  if (f.present) {
    const int hops = 2 * f.tiers - 1;
    out += fmt::format(", {} switch{} between far nodes, {} routing", hops, hops > 1 ? "es" : "", topology::name_of(f.routing));
    if (f.oversubscription != 1) out += fmt::format(", oversubscribed {}:1", significant(f.oversubscription));
  }
  return out + measured_text(o, {"nics."});
}

std::string storage_fact(const Offer& o) {
  const Platform& p = o.applied.platform;
  std::vector<std::string> parts;
  const auto add = [&](const char* name, Bandwidth read, Bandwidth write) {
    parts.push_back(fmt::format("{} reads {}, writes {}", name, to_text(read), to_text(write)));
  };
  if (p.volume) add("volume", p.volume->read, p.volume->write);
  if (p.node.local_disk) add("local disks", p.node.local_disk->read, p.node.local_disk->write);
  return (parts.empty() ? "no storage stated" : join(parts, "; ")) + measured_text(o, {"storage."});
}

std::string ingest_fact(const Offer& o) {
  const auto& i = o.applied.platform.ingest;
  if (!i) return "no line stated";
  return fmt::format("line {}, of which {:.0f} % are reached{}", to_text(i->line), 100 * i->efficiency, measured_text(o, {"ingest."}));
}

std::string size_fact(const Offer& o) { return fmt::format("{} x {} GPUs", o.applied.platform.nodes, o.applied.platform.node.gpus); }

std::string reliability_fact(const Offer& o) {
  const auto& r = o.applied.platform.reliability;
  if (!r.node_mtbf) return "no failures stated";
  return fmt::format("a node fails every {}, restart {}", to_text(*r.node_mtbf), r.restart ? to_text(*r.restart) : "not stated");
}

bool links_equal(const Applied& a, const Applied& b) { return links_of(a) == links_of(b) && same_mesh(a.platform.node, b.platform.node); }
void take_links(Applied& into, const Applied& from) {
  links_of(into) = links_of(from);
  into.platform.node.mesh = from.platform.node.mesh;
}
bool size_equal(const Applied& a, const Applied& b) { return size_of(a) == size_of(b); }
void take_size(Applied& into, const Applied& from) { size_of(into) = size_of(from); }

const Trunk kTrunks[] = {
    {"compute",
     [](const Applied& a, const Applied& b) {
       return a.platform.node.gpu.id == b.platform.node.gpu.id && same_efficiencies(a.efficiencies, b.efficiencies);
     },
     [](Applied& into, const Applied& from) { into.platform.node.gpu = from.platform.node.gpu, into.efficiencies = from.efficiencies; },
     gpu_fact,
     {"kernels."}},
    {"gpu_links", links_equal, take_links, links_fact, {"links."}},
    {"host",
     [](const Applied& a, const Applied& b) { return host_of(a) == host_of(b); },
     [](Applied& into, const Applied& from) { host_of(into) = host_of(from); },
     host_fact,
     {"pcie."}},
    {"network",
     [](const Applied& a, const Applied& b) { return cards_of(a) == cards_of(b) && fabric_of(a) == fabric_of(b); },
     [](Applied& into, const Applied& from) { cards_of(into) = cards_of(from), fabric_of(into) = fabric_of(from); },
     network_fact,
     {"nics."}},
    {"storage",
     [](const Applied& a, const Applied& b) {
       return same(a.platform.volume, b.platform.volume) && same(a.platform.node.local_disk, b.platform.node.local_disk);
     },
     [](Applied& into, const Applied& from) {
       into.platform.volume = from.platform.volume, into.platform.node.local_disk = from.platform.node.local_disk;
     },
     storage_fact,
     {"storage."}},
    {"ingest",
     [](const Applied& a, const Applied& b) { return same(a.platform.ingest, b.platform.ingest); },
     [](Applied& into, const Applied& from) { into.platform.ingest = from.platform.ingest; },
     ingest_fact,
     {"ingest."}},
    {"size", size_equal, take_size, size_fact, {}},
    {"reliability",
     [](const Applied& a, const Applied& b) {
       return a.platform.reliability.node_mtbf == b.platform.reliability.node_mtbf &&
              a.platform.reliability.restart == b.platform.reliability.restart;
     },
     [](Applied& into, const Applied& from) { into.platform.reliability = from.platform.reliability; },
     reliability_fact,
     {}},
};

const Trunk kNodes = {"gpu_links and size",
                      [](const Applied& a, const Applied& b) { return links_equal(a, b) && size_equal(a, b); },
                      [](Applied& into, const Applied& from) { take_links(into, from), take_size(into, from); },
                      [](const Offer& o) { return size_fact(o) + ", " + links_fact(o); },
                      {"links."}};

}  // namespace

std::span<const Trunk> all_trunks() { return kTrunks; }

std::vector<Trunk> differing(const Applied& a, const Applied& b) {
  const bool together = a.platform.node.gpus != b.platform.node.gpus && !links_equal(a, b);
  std::vector<Trunk> out;
  for (const Trunk& trunk : kTrunks) {
    const std::string_view name = trunk.name;
    if (together && name == "gpu_links") out.push_back(kNodes);
    if (together && (name == "gpu_links" || name == "size")) continue;
    if (!trunk.equal(a, b)) out.push_back(trunk);
  }
  return out;
}

}  // namespace trunkline::compare
