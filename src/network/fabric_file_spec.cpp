// What may stand in a fabric file: one table of keys, from which validation, hints and the schema come.
#include "network/fabric_file.hpp"

namespace trunkline::network {
namespace {

using io::FieldSpec;
using io::FieldType;
using io::ObjectSpec;

FieldSpec of(FieldType type, std::string name, std::string doc) { return {.name = std::move(name), .type = type, .doc = std::move(doc)}; }

FieldSpec whole(std::string name, std::string doc, double min, double max) {
  return {.name = std::move(name), .type = FieldType::integer, .doc = std::move(doc), .min = min, .max = max};
}

FieldSpec number(std::string name, std::string doc, double min, double max) {
  return {.name = std::move(name), .type = FieldType::number, .doc = std::move(doc), .min = min, .max = max};
}

FieldSpec choice(std::string name, std::string doc, std::vector<std::string> choices) {
  return {.name = std::move(name), .type = FieldType::choice, .doc = std::move(doc), .choices = std::move(choices)};
}

FieldSpec object(std::string name, std::string doc, const ObjectSpec& spec) {
  return {.name = std::move(name), .type = FieldType::object, .doc = std::move(doc), .object = &spec};
}

std::vector<std::string> policies() { return {"ideal", "ecmp", "pinned", "flowlet", "spray", "adaptive"}; }

const ObjectSpec& graph_link_spec() {
  static const ObjectSpec spec{"fabric.topology.graph.links",
                               "links between two nodes, both directions",
                               {
                                   {.name = "between",
                                    .type = FieldType::list,
                                    .doc = "two names: [a0, s0]; ranges stand for several: [\"a[0-15]\", s0] joins a0 to a15, each to s0",
                                    .required = true},
                                   of(FieldType::boolean, "every", "of two ranges: each of one with each of the other; default: in pairs"),
                                   whole("count", "parallel links; default 1", 1, 10'000),
                                   of(FieldType::bandwidth, "rate", "of one link; default: the fabric's rate"),
                                   of(FieldType::time, "latency", "of one link; default: the fabric's latency"),
                               }};
  return spec;
}

const ObjectSpec& graph_spec() {
  static const ObjectSpec spec = [] {
    ObjectSpec s{"fabric.topology.graph",
                 "hosts and switches by name, and the links between them",
                 {
                     {.name = "hosts", .type = FieldType::list, .doc = "names; \"a[0-15]\" stands for a0 to a15", .required = true},
                     {.name = "switches", .type = FieldType::list, .doc = "names, ranges as for hosts", .required = true},
                     of(FieldType::list, "links", "what is joined to what"),
                 }};
    s.fields.back().object = &graph_link_spec();
    s.fields.back().required = true;
    return s;
  }();
  return spec;
}

const ObjectSpec& topology_spec() {
  static const ObjectSpec spec{
      "fabric.topology",
      "the switches, by one of: clos, fat_tree, graph, platform",
      {
          whole("clos", "switch tiers; the switches are counted from ports and oversubscription, or spelt out from hosts_per_leaf on", 1,
                3),
          whole("hosts", "ports in use, one a network card; default: as many as the switches carry", 1, 1e8),
          whole("ports", "ports of one switch", 2, 4096),
          number("oversubscription", "bandwidth into a leaf switch over bandwidth out of it; default 1", 0.01, 64),
          whole("rails", "cards of a node: card i of every node on the leaf switches of rail i; default 1: none", 1, 1024),
          of(FieldType::boolean, "rail_only",
             "every rail is a network of its own (1 or 2 tiers); rails meet inside the nodes; default false"),
          whole("hosts_per_leaf", "ports of a leaf towards hosts", 1, 1e8),
          whole("spines", "above every leaf; of three tiers: in each pod", 1, 1e6),
          whole("leaf_links", "parallel links between a leaf and a spine; default 1", 1, 1e4),
          whole("leaves_per_pod", "of three tiers", 1, 1e6),
          whole("cores", "of three tiers: above spine j of every pod", 1, 1e6),
          whole("spine_links", "parallel links between a spine and a core; default 1", 1, 1e4),
          of(FieldType::bandwidth, "leaf_rate", "of a link between leaf and spine; default: the hosts' rate"),
          of(FieldType::bandwidth, "spine_rate", "of a link between spine and core; default: the hosts' rate"),
          of(FieldType::text, "fat_tree",
             "SimGrid's notation: levels;children a level;parents a level;parallel links, such as 3;8,8,16;1,8,8;1,1,1"),
          object("graph", "a network of any shape", graph_spec()),
          of(FieldType::text, "platform", "a platform file, whose fabric is taken"),
      }};
  return spec;
}

const ObjectSpec& routing_spec() {
  static const ObjectSpec spec{
      "fabric.routing",
      "how a flow finds its way among equal ones",
      {
          choice("policy", "default ecmp", policies()),
          whole("queue_pairs", "a flow is cut into so many, each hashed by itself; default 1", 1, 4096),
          whole("seed", "of the switches' hash functions; default 1", 0, 1e15),
          whole("bursts", "of flowlet: bursts in which a flow is sent; default 1, as bulk RDMA does not pause", 1, 4096),
          of(FieldType::time, "pause", "of flowlet: between two bursts"),
          of(FieldType::time, "flowlet_gap", "of flowlet: the pause from which a switch takes a new way; default 500 us"),
          number("efficiency", "of spray and adaptive: share of the capacity that splitting reaches; default 1", 0.01, 1),
          of(FieldType::boolean, "same_hash", "every tier hashes alike, so that later choices follow from the first; default false"),
          of(FieldType::boolean, "far_failures_known",
             "switches know of links out of service that are not their own; default true: routing has converged"),
          of(FieldType::text, "table",
             "of a graph: a file of forwarding entries, a line each: node destination next …; * as destination: all others"),
          of(FieldType::boolean, "pxn", "data moves inside the node to the card of the destination's rail first; default: with rails"),
      }};
  return spec;
}

const ObjectSpec& fault_spec() {
  static const ObjectSpec spec{
      "fabric.faults",
      "a link or a switch that is out of service or slow",
      {
          of(FieldType::text, "link",
             "leaf 3 - spine 7 (both ways) or leaf 3 -> spine 7 (one); one of several parallel ones: leaf 3 - spine 7 (1)"),
          of(FieldType::text, "switch", "all links of it: leaf 3, spine 7, core 0"),
          number("capacity", "share that is left; default 0: out of service", 0, 1),
      }};
  return spec;
}

std::vector<std::string> lossless_kinds() {
  std::vector<std::string> out;
  for (const Lossless kind : {Lossless::fair, Lossless::credits, Lossless::pfc, Lossless::pfc_dcqcn}) out.push_back(name_of(kind));
  return out;
}

const ObjectSpec& lossless_spec() {
  static const ObjectSpec spec{
      "fabric.lossless",
      "what full ports that hold back others do to the traffic (all flows together, from time 0)",
      {
          choice("kind", "credits: InfiniBand; pfc: RoCE; pfc-dcqcn: RoCE with DCQCN; fair: nobody pauses", lossless_kinds()),
          whole("lanes", "virtual lanes or priorities in use; default 1", 1, 16),
          of(FieldType::bytes, "buffer", "of a port for one lane; default 1 MiB"),
      }};
  return spec;
}

FieldSpec lossless_field() {
  FieldSpec field = object("lossless", "a word, or a block with its details", lossless_spec());
  field.also = lossless_kinds();
  return field;
}

FieldSpec routing_field() {
  FieldSpec field = object("routing", "a word, or a block with its details", routing_spec());
  field.also = policies();
  return field;
}

FieldSpec faults_field() {
  FieldSpec field = of(FieldType::list, "faults", "links and switches out of service or slow");
  field.object = &fault_spec();
  return field;
}

}  // namespace

const ObjectSpec& fabric_spec() {
  static const ObjectSpec spec = [] {
    ObjectSpec s{"fabric",
                 "a network between hosts, how it routes, and the traffic that it has to carry",
                 {
                     of(FieldType::text, "name", "as answers call it"),
                     object("topology", "the switches and how they are wired", topology_spec()),
                     of(FieldType::bandwidth, "rate", "of one host's link, one direction"),
                     of(FieldType::time, "latency", "of each link; default none"),
                     of(FieldType::time, "switch_latency", "of each switch; default none"),
                     of(FieldType::time, "end_latency", "of both ends of a way together: cards and hosts; default none"),
                     of(FieldType::bytes, "packet", "what a switch receives whole before it sends it on; default 0: cut-through"),
                     number("efficiency", "share of a link's rate that payload gets (headers, gaps); default 1", 0.01, 1),
                     faults_field(),
                     routing_field(),
                     choice("sharing",
                            "of a link: every flow alike (max_min), or by 1/latency of its way as long-lived TCP flows and SimGrid's CM02 "
                            "do; default max_min",
                            {"max_min", "latency_weighted"}),
                     lossless_field(),
                     of(FieldType::bandwidth, "flow_rate", "the most that one queue pair sends; default: no limit of its own"),
                     number("tolerance", "of completion times, as a share of a flow's duration; default 0: exact", 0, 0.1),
                     object("traffic", "who sends how much to whom", traffic_spec()),
                 }};
    for (FieldSpec& field : s.fields) field.required = field.name == "topology" || field.name == "traffic";
    return s;
  }();
  return spec;
}

}  // namespace trunkline::network
