#include "topology/node_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/text.hpp"
#include "topology/links_reader.hpp"

namespace trunkline::topology {
namespace {

using catalog::Catalog;
using catalog::Gpu;
using catalog::NicKind;

// Where the field `key` stands, or the block itself.
Where where_of(const io::Value& map, std::string_view key) {
  const io::Value* field = map.find(key);
  return field ? field->where() : map.where();
}

tl::unexpected<Error> at(Error error, const Where& where) {
  error.where = where;
  return fail(std::move(error));
}

// What copies reach over a PCIe slot: the catalogued share of the generation's line rate. Generation 6 has no measured
// share in the catalogue and takes generation 5's.
Bandwidth pcie_rate(int generation, int lanes, Notes* notes) {
  const auto link = Catalog::builtin().link(fmt::format("pcie{}x16", generation));
  if (!link) return {};
  double share = (*link)->practical_fraction;
  if (share <= 0) {
    const auto measured = Catalog::builtin().link("pcie5x16");
    share = measured && (*measured)->practical_fraction > 0 ? (*measured)->practical_fraction : constant("pcie-share");
    if (notes)
      notes->emplace_back("node.pcie_bandwidth",
                          fmt::format("copies reach {:.2f} of PCIe {} (measured on PCIe 5; none catalogued)", share, generation));
  }
  return (*link)->line * share * (double(lanes) / 16);
}

Bandwidth pcie_line(int generation, int lanes) {
  const auto link = Catalog::builtin().link(fmt::format("pcie{}x16", generation));
  return link ? (*link)->line * (double(lanes) / 16) : Bandwidth{};
}

Result<void> read_gpu(const io::Value& value, NodeType& node) {
  const auto id = io::get_text(value, "gpu");
  if (!id) {
    return bad_input(value.where(), "node: neither a ready-made `type` nor a `gpu` is given",
                     "write type: hgx-a100-80, or gpu: a100-sxm-80 and the other parts");
  }
  const auto gpu = Catalog::builtin().gpu(*id);
  if (!gpu) return at(gpu.error(), where_of(value, "gpu"));
  node.gpu = **gpu;
  node.gpus = int(io::get_integer(value, "gpus").value_or(1));
  return {};
}

bool is_geforce(const Gpu& gpu) { return gpu.name.find("GeForce") != std::string::npos; }

// Sockets, switches and slots. The GPU limits what a newer slot gives.
Result<void> read_slots(const io::Value& value, NodeType& node, Notes& notes) {
  node.sockets = int(io::get_integer(value, "sockets").value_or(node.gpus > 4 ? 2 : 1));
  if (!value.find("sockets")) notes.emplace_back("node.sockets", fmt::format("{} (not stated)", node.sockets));
  node.pcie_switches = int(io::get_integer(value, "pcie_switches").value_or(0));
  if (!value.find("pcie_switches")) notes.emplace_back("node.pcie_switches", "none: GPUs directly on the sockets (not stated)");
  const int own = node.gpu.pcie_generation;
  const auto stated = io::get_integer(value, "pcie_generation");
  node.pcie_generation = int(stated.value_or(own > 0 ? own : 5));
  if (!stated) {
    notes.emplace_back("node.pcie_generation", own > 0 ? fmt::format("{} ({}'s own)", node.pcie_generation, node.gpu.name)
                                                       : fmt::format("{} (that of {} is not catalogued: the newest that is sold)",
                                                                     node.pcie_generation, node.gpu.name));
  }
  const int lanes = int(io::get_integer(value, "pcie_lanes").value_or(node.gpu.pcie_lanes > 0 ? node.gpu.pcie_lanes : 16));
  const int used = own > 0 ? std::min(own, node.pcie_generation) : node.pcie_generation;
  TRUNKLINE_ASSIGN(rate, positive_rate(value, "pcie_bandwidth"));
  node.pcie_line = pcie_line(used, lanes);
  node.pcie_bandwidth = rate ? *rate : pcie_rate(used, lanes, &notes);
  if (rate && *rate > node.pcie_line) {
    return bad_input(
        where_of(value, "pcie_bandwidth"),
        fmt::format("pcie_bandwidth: {} over PCIe {} x{}, whose line rate is {}", to_text(*rate), used, lanes, to_text(node.pcie_line)),
        "bandwidth counts one direction");
  }
  TRUNKLINE_ASSIGN(uplink, positive_rate(value, "uplink_bandwidth"));
  node.uplink_bandwidth = uplink ? *uplink : rate ? *rate : pcie_rate(node.pcie_generation, 16, nullptr);
  if (!rate) {
    notes.emplace_back("node.pcie_bandwidth", fmt::format("{} one direction: what copies reach over PCIe {} x{} (catalogue)",
                                                          to_text(node.pcie_bandwidth), used, lanes));
  }
  return {};
}

// How the sockets and their memory carry what GPUs send each other.
Result<void> read_sockets(const io::Value& value, NodeType& node, Notes& notes) {
  node.pcie_p2p = io::get_bool(value, "pcie_p2p").value_or(!is_geforce(node.gpu));
  if (!value.find("pcie_p2p") && is_geforce(node.gpu)) {
    notes.emplace_back("node.pcie_p2p", "false: the driver of GeForce cards does not let GPUs reach each other over PCIe");
  }
  TRUNKLINE_ASSIGN(socket, positive_rate(value, "socket_bandwidth"));
  const int era = std::clamp(node.pcie_generation, 3, 5);
  node.socket_bandwidth = socket ? *socket : gbyte_per_s(constant(fmt::format("socket-link-pcie{}", era)));
  if (!socket && node.sockets > 1) {
    notes.emplace_back("node.socket_bandwidth",
                       fmt::format("{} one direction (what NCCL plans for servers of PCIe {})", to_text(node.socket_bandwidth), era));
  }
  TRUNKLINE_ASSIGN(memory, positive_rate(value, "memory_bandwidth"));
  node.memory_bandwidth = memory ? *memory : gbyte_per_s(constant(fmt::format("host-memory-pcie{}", era)));
  TRUNKLINE_ASSIGN(host, positive_rate(value, "host_link"));
  node.host_link = host.value_or(Bandwidth{});
  node.host_memory = io::get_bytes(value, "host_memory").value_or(Bytes{});
  return {};
}

Seconds latency_of_nic(const catalog::Nic& nic) {
  const auto part = Catalog::builtin().part(nic.id);
  const catalog::Fact* fact = part ? (*part)->find("latency") : nullptr;
  const auto latency = fact ? parse_seconds(fact->value) : Result<Seconds>(seconds(0));
  return latency && latency->si() > 0 ? *latency : microseconds(constant("nic-latency"));
}

// The catalogued NIC of this kind whose rate is nearest; nullptr where there is none of the kind.
const catalog::Nic* nearest_nic(NicKind kind, Bandwidth rate) {
  const catalog::Nic* best = nullptr;
  double distance = 0;
  for (const auto& part : Catalog::builtin().parts()) {
    if (part.kind != catalog::PartKind::nic) continue;
    const auto nic = Catalog::builtin().nic(part.id);
    if (!nic || (*nic)->kind != kind || (*nic)->efficiency <= 0) continue;
    const double away = std::abs(std::log(rate / (*nic)->rate));
    if (!best || away < distance) {
      best = *nic;
      distance = away;
    }
  }
  return best;
}

// What the kind and the rate of a card imply where no part is named: efficiency and latency of the nearest catalogued card.
void take_from_nearest(Nics& nics, bool efficiency_given, Notes& notes) {
  const catalog::Nic* like = nearest_nic(nics.kind, nics.rate);
  if (like) nics.latency = latency_of_nic(*like);
  if (efficiency_given) return;
  nics.efficiency = like ? like->efficiency : constant("nic-share");
  notes.emplace_back("node.nics.efficiency", fmt::format("{} (catalogue, {}: the nearest {} card)", significant(nics.efficiency),
                                                         like ? like->name : "none of the kind", name_of(nics.kind)));
}

Result<void> read_nic_part(const io::Value& block, const Where& where, NodeType& node, Notes& notes, int& slot_generation,
                           int& slot_lanes) {
  Nics& nics = node.nics;
  if (const auto part = io::get_text(block, "part")) {
    const auto found = Catalog::builtin().nic(*part);
    if (!found) return at(found.error(), where_of(block, "part"));
    const catalog::Nic& nic = **found;
    nics.part = nic.id;
    nics.kind = nic.kind;
    nics.rate = nic.rate;
    nics.efficiency = nic.efficiency;
    nics.latency = latency_of_nic(nic);
    if (nic.pcie_generation > 0) slot_generation = nic.pcie_generation;
    if (nic.pcie_lanes > 0) slot_lanes = nic.pcie_lanes;
    if (nics.efficiency > 0 && !block.find("efficiency")) {
      notes.emplace_back("node.nics.efficiency",
                         fmt::format("{} (catalogue, {})", significant(nics.efficiency), nic.name.empty() ? nic.id : nic.name));
    }
  }
  if (const auto kind = io::get_text(block, "kind")) nics.kind = *nic_kind_from(*kind);
  TRUNKLINE_ASSIGN(rate, positive_rate(block, "rate"));
  if (rate) nics.rate = *rate;
  if (nics.rate.si() <= 0) {
    return bad_input(where, "nics: neither a catalogued `part` nor a `rate` is given",
                     "write part: cx7-ndr, or kind: infiniband and rate: 400 Gb/s");
  }
  if (const auto efficiency = io::get_number(block, "efficiency")) nics.efficiency = *efficiency;
  if (nics.part.empty() || nics.efficiency <= 0) take_from_nearest(nics, nics.efficiency > 0, notes);
  return {};
}

Result<void> read_nics(const io::Value& value, NodeType& node, Notes& notes) {
  const io::Value* block = value.find("nics");
  node.nics.near = node.pcie_switches > 0 ? NicPlace::pcie_switch : NicPlace::socket;
  if (!block || !block->is_map()) return {};
  const Where where = block->where();
  int generation = node.pcie_generation, lanes = 16;
  node.nics.count = int(io::get_integer(*block, "count").value_or(1));
  if (!block->find("count")) notes.emplace_back("node.nics.count", "1 (not stated)");
  if (node.nics.count == 0) return {};
  TRUNKLINE_TRY(read_nic_part(*block, where, node, notes, generation, lanes));
  if (const auto near = io::get_text(*block, "near")) {
    node.nics.near = *near == "socket" ? NicPlace::socket : NicPlace::pcie_switch;
    if (node.nics.near == NicPlace::pcie_switch && node.pcie_switches == 0) {
      return bad_input(where_of(*block, "near"), "nics: near a pcie_switch, but the node has none",
                       "write near: socket, or pcie_switches: 4 beside it");
    }
  } else {
    notes.emplace_back("node.nics.near", name_of(node.nics.near) + " (not stated)");
  }
  node.nics.slot = pcie_rate(std::min(generation, node.pcie_generation), lanes, nullptr);
  return {};
}

Result<void> check_counts(const io::Value& value, const NodeType& node) {
  if (node.pcie_switches > node.gpus + node.nics.count) {
    return bad_input(where_of(value, "pcie_switches"),
                     fmt::format("pcie_switches: {} switches for {} GPUs and {} NICs", node.pcie_switches, node.gpus, node.nics.count),
                     "a switch without a GPU or NIC below it can be left out");
  }
  if (node.host_link.si() > 0 && node.pcie_switches > 0) {
    return bad_input(where_of(value, "host_link"), "host_link: GPUs on their own link to the host do not sit below PCIe switches",
                     "leave out host_link or pcie_switches");
  }
  return {};
}

}  // namespace

Result<std::optional<Bandwidth>> positive_rate(const io::Value& map, std::string_view key) {
  const auto rate = io::get_bandwidth(map, key);
  if (rate && rate->si() <= 0)
    return bad_input(where_of(map, key), fmt::format("{}: a rate of zero", key), "leave the key out if there is no such part");
  return rate;
}

Result<Disk> disk_from(const io::Value& value) {
  Disk disk;
  TRUNKLINE_ASSIGN(write, positive_rate(value, "write"));
  TRUNKLINE_ASSIGN(read, positive_rate(value, "read"));
  if (!write && !read)
    return bad_input(value.where(), "local_disk: neither `read` nor `write` is given",
                     "such as {read: 9 GB/s, write: 8 GB/s, capacity: 28 TB}");
  disk.write = write ? *write : *read;
  disk.read = read ? *read : *write;
  disk.capacity = io::get_bytes(value, "capacity").value_or(Bytes{});
  disk.iops = io::get_number(value, "iops").value_or(0);
  return disk;
}

void apply_fabric(NodeType& node, std::optional<NicKind> kind, std::optional<Bandwidth> rate, bool efficiency_given, Notes& notes) {
  Nics& nics = node.nics;
  const NicKind new_kind = kind.value_or(nics.kind);
  const Bandwidth new_rate = rate.value_or(nics.rate);
  const bool same = new_kind == nics.kind && std::abs(new_rate / nics.rate - 1) < 1e-9;
  if (same || nics.count == 0) return;
  nics.kind = new_kind;
  nics.rate = new_rate;
  nics.slot = pcie_rate(node.pcie_generation, 16, nullptr);
  std::erase_if(notes, [&](const auto& note) { return !efficiency_given && note.first == "node.nics.efficiency"; });
  take_from_nearest(nics, efficiency_given, notes);
  nics.part.clear();
}

Result<NodeType> node_from(const io::Value& value, Notes& notes) {
  NodeType node;
  TRUNKLINE_TRY(read_gpu(value, node));
  TRUNKLINE_TRY(read_slots(value, node, notes));
  TRUNKLINE_TRY(read_sockets(value, node, notes));
  TRUNKLINE_TRY(read_gpu_links(value, node, notes));
  TRUNKLINE_TRY(read_nics(value, node, notes));
  TRUNKLINE_TRY(check_counts(value, node));
  if (const io::Value* disk = value.find("local_disk"); disk && disk->is_map()) {
    TRUNKLINE_ASSIGN(read, disk_from(*disk));
    node.local_disk = read;
  }
  return node;
}

Result<io::Value> merged(io::Value base, const io::Value& change) {
  for (const auto& [key, value] : change.fields()) {
    if (key.empty() || key.find('.') != std::string::npos)
      return bad_input(value.where(), fmt::format("unknown key \"{}\"", key.substr(0, 60)));
    const io::Value* old = base.find(key);
    if (old && old->is_map() && value.is_map()) {
      TRUNKLINE_ASSIGN(inner, merged(*old, value));
      TRUNKLINE_TRY(base.set(key, std::move(inner)));
    } else {
      TRUNKLINE_TRY(base.set(key, value));
    }
  }
  return base;
}

}  // namespace trunkline::topology
