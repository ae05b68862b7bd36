// What may stand in a platform file: one table of keys, from which validation, hints and the schema come.
#include "topology/node_reader.hpp"
#include "topology/platform.hpp"

namespace trunkline::topology {
namespace {

using io::FieldSpec;
using io::FieldType;
using io::ObjectSpec;

FieldSpec text(std::string name, std::string doc, bool required = false) {
  return {.name = std::move(name), .type = FieldType::text, .doc = std::move(doc), .required = required};
}

FieldSpec choice(std::string name, std::string doc, std::vector<std::string> choices) {
  return {.name = std::move(name), .type = FieldType::choice, .doc = std::move(doc), .choices = std::move(choices)};
}

FieldSpec whole(std::string name, std::string doc, double min, double max) {
  return {.name = std::move(name), .type = FieldType::integer, .doc = std::move(doc), .min = min, .max = max};
}

FieldSpec number(std::string name, std::string doc, double min, double max) {
  return {.name = std::move(name), .type = FieldType::number, .doc = std::move(doc), .min = min, .max = max};
}

FieldSpec of(FieldType type, std::string name, std::string doc) { return {.name = std::move(name), .type = type, .doc = std::move(doc)}; }

// A path that training's own traffic takes.
FieldSpec link(std::string name, std::string doc) {
  return {.name = std::move(name),
          .type = FieldType::bandwidth,
          .doc = std::move(doc),
          .low = "1 Mb/s",
          .high = "100 TB/s",
          .why = "every link and memory that machines are built with lies between"};
}

FieldSpec share(std::string name, std::string doc) {
  FieldSpec field = number(std::move(name), std::move(doc), 0.001, 1);
  field.why = "a share of the line rate, so that 1 is all of it, and below a thousandth the line is broken";
  return field;
}

FieldSpec requests(std::string name, std::string doc) {
  FieldSpec field = number(std::move(name), std::move(doc), 1, 1e12);
  field.why = "leave the key out where requests are no limit";
  return field;
}

FieldSpec duration(std::string name, std::string doc, std::string low, std::string high, std::string why) {
  return {.name = std::move(name),
          .type = FieldType::time,
          .doc = std::move(doc),
          .low = std::move(low),
          .high = std::move(high),
          .why = std::move(why)};
}

FieldSpec object(std::string name, std::string doc, const ObjectSpec& spec, std::vector<std::string> also = {}) {
  return {.name = std::move(name), .type = FieldType::object, .doc = std::move(doc), .object = &spec, .also = std::move(also)};
}

std::vector<std::string> nic_kinds() { return {"infiniband", "roce", "efa", "ethernet", "omnipath"}; }

FieldSpec confidence_field() {
  return choice("confidence", "how far it can be trusted", {"vendor", "quoted", "secondary", "measured", "derived", "unsourced"});
}

const ObjectSpec& gpu_links_spec() {
  static const ObjectSpec spec{
      "platform.node.gpu_links",
      "how the GPUs of one node reach each other",
      {
          choice("kind", "none = PCIe only", {"none", "nvswitch", "nvlink_mesh", "nvlink_bridge", "xgmi"}),
          whole("generation", "NVLink or Infinity Fabric generation; must be the GPU's own", 1, 9),
          whole("links", "links of one GPU in use; default: all that it has", 1, 64),
          link("bandwidth", "all links of one GPU together, one direction; default: the GPU's"),
          whole("domain", "GPUs that reach each other over the links: 72 in an NVL72 rack, 2 with a bridge", 2, 1024),
          whole("pair_links", "without a switch: links between two joined GPUs; default: shared out evenly", 1, 64),
          of(FieldType::list, "mesh", "without a switch: who is joined to whom, such as [0-1x2, 0-2x1] (GPU 0 and 1 by two links)"),
      }};
  return spec;
}

const ObjectSpec& nics_spec() {
  static const ObjectSpec spec{"platform.node.nics",
                               "the network cards of one node that training traffic uses",
                               {
                                   text("part", "catalogued card, such as cx7-ndr"),
                                   whole("count", "cards (ports) in one node", 0, 64),
                                   choice("near", "where a card is attached", {"pcie_switch", "socket"}),
                                   choice("kind", "what the card speaks; default: the part's", nic_kinds()),
                                   link("rate", "line rate of one card, one direction; default: the part's"),
                                   share("efficiency", "share of the line rate that large RDMA messages reach; default: the part's"),
                               }};
  return spec;
}

const ObjectSpec& disk_spec() {
  static const ObjectSpec spec{"platform.node.local_disk",
                               "the disks inside one node, together",
                               {
                                   of(FieldType::bandwidth, "write", "sequential write rate"),
                                   of(FieldType::bandwidth, "read", "sequential read rate"),
                                   of(FieldType::bytes, "capacity", "size"),
                                   requests("iops", "random reads a second"),
                               }};
  return spec;
}

std::vector<FieldSpec> node_fields() {
  return {
      text("gpu", "catalogued GPU, such as a100-sxm-80"),
      whole("gpus", "GPUs of one node", 1, 72),
      object("gpu_links", "NVLink, NVSwitch, bridges or none", gpu_links_spec(), {"none"}),
      whole("sockets", "CPU sockets", 1, 8),
      whole("pcie_switches", "PCIe switches between GPUs and sockets; 0 = GPUs directly on the sockets", 0, 64),
      whole("pcie_generation", "generation of the GPUs' slots", 1, 6),
      whole("pcie_lanes", "lanes of one GPU's slot", 1, 16),
      link("pcie_bandwidth", "what copies reach over one GPU's slot, one direction; default: by generation and lanes"),
      link("uplink_bandwidth", "one PCIe switch to its socket, one direction, as copies reach"),
      of(FieldType::boolean, "pcie_p2p", "GPUs reach each other over PCIe without host memory; default: false for GeForce cards"),
      link("socket_bandwidth", "between two sockets, one direction"),
      link("host_link", "GPU to host where it is not PCIe (NVLink-C2C), one direction, as copies reach"),
      link("memory_bandwidth", "host memory of one socket, reads and writes together"),
      of(FieldType::bytes, "host_memory", "host memory of one node"),
      object("nics", "network cards", nics_spec(), {"none"}),
      object("local_disk", "disks inside the node", disk_spec(), {"none"}),
  };
}

const ObjectSpec& node_spec() {
  static const ObjectSpec spec = [] {
    ObjectSpec s{"platform.node", "one node: a ready-made type, single fields of it changed, or spelt out from `gpu` on", node_fields()};
    s.fields.insert(s.fields.begin(), {text("type", "ready-made node, such as hgx-a100-80"), whole("count", "nodes", 1, 1e6)});
    return s;
  }();
  return spec;
}

const ObjectSpec& clos_spec() {
  static const ObjectSpec spec{"platform.fabric.topology",
                               "the switches between the nodes",
                               {
                                   whole("clos", "switch tiers", 1, 3),
                                   whole("ports", "ports of one switch at the cards' rate", 2, 4096),
                                   number("oversubscription", "bandwidth into a leaf switch over bandwidth out of it", 0.01, 64),
                                   of(FieldType::boolean, "rail_optimised", "card i of every node on the same leaf switches"),
                                   of(FieldType::boolean, "rail_only", "the same, and no switch joins the rails (1 or 2 tiers)"),
                               }};
  return spec;
}

const ObjectSpec& fabric_spec() {
  static const ObjectSpec spec{
      "platform.fabric",
      "the network between the nodes",
      {
          choice("kind", "what the cards speak; overrides the node type's", nic_kinds()),
          link("rate", "of one card, one direction; overrides the node type's"),
          object("topology", "the switches between the nodes", clos_spec()),
          choice("routing", "how traffic is spread over equal paths", {"ideal", "ecmp", "pinned", "flowlet", "spray", "adaptive"}),
          choice("placement", "where in the fabric the nodes of one job stand", {"packed", "scattered", "fragmented"}),
          whole("queue_pairs", "between two cards, each routed by itself (predict --network flow)", 1, 256),
          whole("seed", "of switches' hashes and nodes' places (predict --network flow)", 0, 1e9),
      }};
  return spec;
}

const ObjectSpec& ingest_spec() {
  static const ObjectSpec spec{"platform.ingest",
                               "the line over which a dataset arrives",
                               {
                                   {.name = "line", .type = FieldType::bandwidth, .doc = "line rate, one direction", .required = true},
                                   share("efficiency", "share of it that transfers reach"),
                               }};
  return spec;
}

const ObjectSpec& volume_spec() {
  static const ObjectSpec spec{"platform.storage.volume",
                               "shared or attached storage outside the nodes",
                               {
                                   of(FieldType::bandwidth, "write", "write rate of the whole volume"),
                                   of(FieldType::bandwidth, "read", "read rate of the whole volume"),
                                   requests("iops", "operations a second"),
                                   text("price", "such as 0.5 CNY/GB/month"),
                               }};
  return spec;
}

const ObjectSpec& storage_spec() {
  static const ObjectSpec spec{"platform.storage",
                               "where datasets and checkpoints live",
                               {
                                   object("volume", "shared or attached storage", volume_spec()),
                                   object("local", "disks inside a node; overrides the node type's", disk_spec(), {"none"}),
                               }};
  return spec;
}

const ObjectSpec& price_spec() {
  static const ObjectSpec spec{"platform.price",
                               "what the machines cost",
                               {
                                   {.name = "amount", .type = FieldType::money, .doc = "in one currency", .required = true},
                                   {.name = "per",
                                    .type = FieldType::choice,
                                    .doc = "what the amount buys, gpu-hour or node-hour",
                                    .required = true,
                                    .choices = {"gpu-hour", "node-hour"}},
                               }};
  return spec;
}

const ObjectSpec& reliability_spec() {
  static const ObjectSpec spec{
      "platform.reliability",
      "how often nodes fail and how long a restart takes",
      {
          duration("node_mtbf", "mean time between failures of one node", "1 min", "1e9 days",
                   "a node that fails every minute trains nothing; leave the key out if none ever fails"),
          duration("restart", "from a failure until training runs again", "", "365 days", "a restart takes minutes to hours"),
      }};
  return spec;
}

}  // namespace

const ObjectSpec& platform_spec() {
  static const ObjectSpec spec{
      "platform",
      "machines that one can rent or build: nodes, fabric, ingest, storage, price",
      {
          text("name", "shown in tables"),
          {.name = "node", .type = FieldType::object, .doc = node_spec().doc, .required = true, .object = &node_spec()},
          object("fabric", "the network between the nodes", fabric_spec()),
          object("ingest", "the line over which a dataset arrives", ingest_spec()),
          object("storage", "where datasets and checkpoints live", storage_spec()),
          object("price", "what the machines cost", price_spec()),
          object("reliability", "failures and restarts", reliability_spec()),
          text("measured", "result file of what was measured there; overrides what is catalogued"),
      }};
  return spec;
}

const ObjectSpec& node_entry_spec() {
  static const ObjectSpec spec = [] {
    ObjectSpec s{"node type", "one ready-made node of the catalogue", node_fields()};
    for (FieldSpec field : {text("name", "shown in tables", true), of(FieldType::list, "aliases", "other names that mean the same node"),
                            text("like", "another id; what is not said here is as there"), text("source", "who says so"),
                            confidence_field(), text("notes", "what a reader should know")}) {
      s.fields.push_back(std::move(field));
    }
    return s;
  }();
  return spec;
}

const ObjectSpec& constant_spec() {
  static const ObjectSpec spec{"constant",
                               "a number that the topology models take from others",
                               {
                                   {.name = "value", .type = FieldType::number, .doc = "in the unit given", .required = true},
                                   text("unit", "share, us, GB/s"),
                                   text("source", "who says so"),
                                   confidence_field(),
                                   text("notes", "what a reader should know"),
                               }};
  return spec;
}

}  // namespace trunkline::topology
