#include "topology/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "base/text.hpp"
#include "topology/node_reader.hpp"

namespace trunkline::topology {
namespace {

Where where_of(const io::Value& map, std::string_view key) {
  const io::Value* field = map.find(key);
  return field ? field->where() : map.where();
}

std::optional<Routing> routing_from(const std::string& word) {
  for (Routing r : {Routing::ideal, Routing::ecmp, Routing::pinned, Routing::flowlet, Routing::spray, Routing::adaptive}) {
    if (name_of(r) == word) return r;
  }
  return std::nullopt;
}

std::optional<Placement> placement_from(const std::string& word) {
  for (Placement p : {Placement::packed, Placement::scattered, Placement::fragmented}) {
    if (name_of(p) == word) return p;
  }
  return std::nullopt;
}

// The block without `type` and `count`, which speak of the platform.
io::Value node_changes(const io::Value& block) {
  std::vector<std::pair<std::string, io::Value>> fields;
  for (const auto& field : block.fields()) {
    if (field.first != "type" && field.first != "count" && !field.second.is_null()) fields.push_back(field);
  }
  return io::Value::map(std::make_shared<const std::string>(block.where().file), block.where().line, std::move(fields));
}

// A ready-made node with single fields changed.
Result<NodeType> changed_type(const io::Value& block, const std::string& type, Notes& notes) {
  const auto spelt = find_spelt_node(type);
  if (!spelt) {
    Error error = spelt.error();
    error.where = where_of(block, "type");
    return fail(std::move(error));
  }
  const io::Value changes = node_changes(block);
  TRUNKLINE_ASSIGN(base, node_type((*spelt)->id));
  const auto gpus = io::get_integer(block, "gpus");
  if (gpus && *gpus > base.gpus) {
    return bad_input(
        where_of(block, "gpus"), fmt::format("gpus: {} asked of {}, which has {}", *gpus, base.id, base.gpus),
        fmt::format("write count: {} nodes of {}, or spell the node out from its gpu", (*gpus + base.gpus - 1) / base.gpus, base.gpus));
  }
  TRUNKLINE_ASSIGN(whole, merged((*spelt)->value, changes));
  Notes own;
  auto node = node_from(whole, own);
  if (!node) {
    Error error = node.error();
    if (error.where.file != block.where().file) error.where = block.where();  // a catalogued field that the changes made impossible
    return fail(std::move(error));
  }
  node->id = base.id;
  node->name = changes.fields().empty() ? base.name : base.name + ", changed";
  notes.emplace_back("node", fmt::format("{} as catalogued: {}", base.id, base.name));
  for (auto& note : own) {
    if (note.first.starts_with("node.nics") || note.first == "node.socket_bandwidth") notes.push_back(std::move(note));
  }
  return node;
}

Result<NodeType> read_node(const io::Value& block, Notes& notes) {
  if (const auto type = io::get_text(block, "type")) return changed_type(block, *type, notes);
  TRUNKLINE_ASSIGN(node, node_from(node_changes(block), notes));
  node.name = fmt::format("{}x {}", node.gpus, node.gpu.name);
  return node;
}

// End points that a non-blocking Clos of `ports`-port switches carries; with oversubscription k a leaf gives
// ports·k/(1+k) of its ports to end points.
double clos_capacity(const Fabric& fabric) {
  const double ports = fabric.ports;
  const double down = ports * fabric.oversubscription / (1 + fabric.oversubscription);
  switch (fabric.tiers) {
    case 1: return ports;
    case 2: return ports * down;
    default: return ports * (ports / 2) * down;
  }
}

Result<void> read_clos(const io::Value& block, Platform& platform) {
  Fabric& fabric = platform.fabric;
  const io::Value* clos = block.find("topology");
  const bool map = clos && clos->is_map();
  const auto tiers = map ? io::get_integer(*clos, "clos") : std::nullopt;
  const auto ports = map ? io::get_integer(*clos, "ports") : std::nullopt;
  if (map) {
    fabric.oversubscription = io::get_number(*clos, "oversubscription").value_or(1);
    fabric.rail_only = io::get_bool(*clos, "rail_only").value_or(false);
    fabric.rail_optimised = io::get_bool(*clos, "rail_optimised").value_or(false) || fabric.rail_only;
  }
  // Rails that nothing joins are networks of their own, each with one card of every node.
  const double cards = double(platform.nodes) * (fabric.rail_only ? 1 : platform.node.nics.count);
  if (ports)
    fabric.ports = int(*ports);
  else
    platform.assumed.emplace_back("fabric.topology.ports", fmt::format("{} a switch (not stated)", fabric.ports));
  if (!map || !clos->find("oversubscription"))
    platform.assumed.emplace_back("fabric.topology.oversubscription", "1, non-blocking (not stated)");
  if (tiers) {
    fabric.tiers = int(*tiers);
    if (clos_capacity(fabric) < cards) {
      return bad_input(where_of(*clos, "clos"),
                       fmt::format("fabric: {} tier{} of {}-port switches carry {:.0f} cards, {} nodes have {:.0f}{}", fabric.tiers,
                                   fabric.tiers == 1 ? "" : "s", fabric.ports, clos_capacity(fabric), platform.nodes, cards,
                                   fabric.rail_only ? " on each rail" : ""),
                       "write more tiers, more ports or fewer nodes");
    }
    if (fabric.rail_only && fabric.tiers > 2) {
      return bad_input(where_of(*clos, "rail_only"), fmt::format("fabric: rail_only with {} tiers", fabric.tiers),
                       "rails that nothing joins have 1 or 2 tiers each; use rail_optimised for more");
    }
    return {};
  }
  fabric.tiers = 1;
  while (fabric.tiers < 3 && clos_capacity(fabric) < cards) ++fabric.tiers;
  platform.assumed.emplace_back("fabric.topology.clos", fmt::format("{} tier{}: the fewest of {}-port switches that carry {:.0f} cards",
                                                                    fabric.tiers, fabric.tiers == 1 ? "" : "s", fabric.ports, cards));
  return {};
}

Result<void> read_fabric(const io::Value& root, const io::Value& node_block, Platform& platform) {
  const io::Value* block = root.find("fabric");
  NodeType& node = platform.node;
  Fabric& fabric = platform.fabric;
  const bool stated = block && block->is_map();
  fabric.kind = node.nics.kind;
  if (platform.nodes > 1 && node.nics.count == 0) {
    return bad_input(where_of(node_block, "nics"), fmt::format("nics: none, but {} nodes must reach each other", platform.nodes),
                     "write nics: {part: cx7-ndr, count: 8}, or count: 1");
  }
  if (stated) {
    const auto kind_word = io::get_text(*block, "kind");
    const auto kind = kind_word ? nic_kind_from(*kind_word) : std::nullopt;
    TRUNKLINE_ASSIGN(rate, positive_rate(*block, "rate"));
    const io::Value* nics = node_block.find("nics");
    fabric.kind = kind.value_or(node.nics.kind);
    apply_fabric(node, kind, rate, nics && nics->is_map() && nics->find("efficiency"), platform.assumed);
    fabric.routing = routing_from(io::get_text(*block, "routing").value_or("ideal")).value_or(Routing::ideal);
    fabric.placement = placement_from(io::get_text(*block, "placement").value_or("packed")).value_or(Placement::packed);
    fabric.queue_pairs = int(io::get_integer(*block, "queue_pairs").value_or(0));
    fabric.seed = std::uint64_t(io::get_integer(*block, "seed").value_or(0));
    TRUNKLINE_TRY(read_clos(*block, platform));
    if (!block->find("routing")) platform.assumed.emplace_back("fabric.routing", "ideal: traffic spread evenly (not stated)");
    if (!block->find("placement")) platform.assumed.emplace_back("fabric.placement", "packed: a job's nodes stand together (not stated)");
  } else if (platform.nodes > 1) {
    platform.assumed.emplace_back("fabric", fmt::format("non-blocking {} of {:.0f} Gb/s a card, spread evenly (not stated)",
                                                        name_of(node.nics.kind), as_gbit_per_s(node.nics.rate)));
    TRUNKLINE_TRY(read_clos(io::Value::null(nullptr, 0), platform));
  }
  fabric.present = stated || platform.nodes > 1;
  return {};
}

Result<void> read_ingest(const io::Value& root, Platform& platform) {
  const io::Value* block = root.find("ingest");
  if (!block || !block->is_map()) return {};
  Ingest ingest;
  TRUNKLINE_ASSIGN(line, positive_rate(*block, "line"));
  ingest.line = line.value_or(Bandwidth{});
  const auto efficiency = io::get_number(*block, "efficiency");
  if (efficiency)
    ingest.efficiency = *efficiency;
  else
    platform.assumed.emplace_back(
        "ingest.efficiency", fmt::format("{} (header share of full Ethernet frames: 1448 of 1538 bytes)", significant(ingest.efficiency)));
  platform.ingest = ingest;
  return {};
}

// "0.5 CNY/GB/month"
Result<Money> price_per_gb_month(const io::Value& value) {
  const std::string_view text = trim(value.text());
  const auto cut = text.find("/GB/month");
  const auto wrong = [&](std::string hint) {
    return bad_input(value.where(), fmt::format("price: found {}, expected such as 0.5 CNY/GB/month", value.describe()), std::move(hint));
  };
  if (cut == std::string_view::npos || cut + 9 != text.size()) return wrong("an amount, a currency, then /GB/month");
  auto money = parse_money(text.substr(0, cut));
  if (!money) return wrong(money.error().hint);
  return *money;
}

Result<void> read_volume(const io::Value& block, Platform& platform) {
  Volume volume;
  TRUNKLINE_ASSIGN(write, positive_rate(block, "write"));
  TRUNKLINE_ASSIGN(read, positive_rate(block, "read"));
  if (!write && !read)
    return bad_input(block.where(), "storage.volume: neither `read` nor `write` is given", "such as {read: 8 GB/s, write: 8 GB/s}");
  if (!write || !read)
    platform.assumed.emplace_back(write ? "storage.volume.read" : "storage.volume.write", "the same as the other direction (not stated)");
  volume.write = write ? *write : *read;
  volume.read = read ? *read : *write;
  volume.iops = io::get_number(block, "iops").value_or(0);
  if (const io::Value* price = block.find("price"); price && price->is_scalar()) {
    TRUNKLINE_ASSIGN(money, price_per_gb_month(*price));
    volume.price_per_gb_month = money;
  }
  platform.volume = volume;
  return {};
}

Result<void> read_storage(const io::Value& root, Platform& platform) {
  const io::Value* block = root.find("storage");
  if (!block || !block->is_map()) return {};
  if (const io::Value* volume = block->find("volume"); volume && volume->is_map()) TRUNKLINE_TRY(read_volume(*volume, platform));
  if (const io::Value* local = block->find("local"); local && !local->is_null()) {
    if (!local->is_map()) {  // the word none
      platform.node.local_disk.reset();
    } else {
      TRUNKLINE_ASSIGN(disk, disk_from(*local));
      platform.node.local_disk = disk;
    }
  }
  return {};
}

void read_money_and_time(const io::Value& root, Platform& platform) {
  if (const io::Value* price = root.find("price"); price && price->is_map()) {
    platform.price = Price{io::get_money(*price, "amount").value_or(Money{}), io::get_text(*price, "per") == "gpu-hour"};
  }
  if (const io::Value* block = root.find("reliability"); block && block->is_map()) {
    platform.reliability.node_mtbf = io::get_seconds(*block, "node_mtbf");
    platform.reliability.restart = io::get_seconds(*block, "restart");
  }
  platform.measured = io::get_text(root, "measured").value_or("");
}

// A rack-scale type such as gb200-nvl72 is counted in compute trays, and a name with 72 in it does not say so.
std::optional<std::string> part_of_domain(const Platform& platform) {
  const NodeType& node = platform.node;
  if (node.gpu_links != GpuLinks::nvswitch || node.link_domain <= node.gpus || platform.gpus() >= node.link_domain) return std::nullopt;
  return fmt::format("{} compute tray{} of {} GPUs = {} GPUs; the {} GPUs that share one NVLink domain are count: {}", platform.nodes,
                     platform.nodes == 1 ? "" : "s", node.gpus, platform.gpus(), node.link_domain, node.link_domain / node.gpus);
}

}  // namespace

Result<Platform> platform_from(const io::Value& value) {
  TRUNKLINE_TRY(io::check(value, platform_spec()));
  Platform platform;
  platform.file = value.where().file;
  const io::Value& block = *value.find("node");
  TRUNKLINE_ASSIGN(node, read_node(block, platform.assumed));
  platform.node = std::move(node);
  platform.nodes = int(io::get_integer(block, "count").value_or(1));
  if (!block.find("count")) platform.assumed.emplace_back("node.count", "1 node (not stated)");
  if (const auto note = part_of_domain(platform)) platform.assumed.emplace_back("node.count", *note);
  TRUNKLINE_TRY(read_fabric(value, block, platform));
  TRUNKLINE_TRY(read_ingest(value, platform));
  TRUNKLINE_TRY(read_storage(value, platform));
  read_money_and_time(value, platform);
  platform.name = io::get_text(value, "name")
                      .value_or(fmt::format("{}x {}", platform.nodes, platform.node.id.empty() ? platform.node.name : platform.node.id));
  return platform;
}

Result<Platform> read_platform(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  return platform_from(value);
}

}  // namespace trunkline::topology
