// Links, adapters and switches.
#include <fmt/format.h>

#include <array>
#include <utility>

#include "catalog/readers.hpp"

namespace trunkline::catalog {
namespace {

using io::FieldType;

constexpr std::array<std::pair<NicKind, const char*>, 5> kNicKinds{{{NicKind::infiniband, "infiniband"},
                                                                    {NicKind::roce, "roce"},
                                                                    {NicKind::efa, "efa"},
                                                                    {NicKind::ethernet, "ethernet"},
                                                                    {NicKind::omnipath, "omnipath"}}};

std::vector<std::string> nic_kind_names() {
  std::vector<std::string> names;
  for (const auto& [kind, name] : kNicKinds) names.emplace_back(name);
  return names;
}

NicKind nic_kind_named(std::string_view wanted) {
  for (const auto& [kind, name] : kNicKinds) {
    if (wanted == name) return kind;
  }
  return NicKind::ethernet;
}

io::FieldSpec share(std::string name, std::string doc) {
  io::FieldSpec field = required(std::move(name), FieldType::number, std::move(doc));
  field.min = 0;
  field.max = 1;
  return field;
}

std::string text(const PartEntry& entry, std::string_view key) { return io::get_text(entry.values, key).value_or(""); }

}  // namespace

const PartForm& link_form() {
  static const PartForm form{
      PartKind::link,
      "links",
      {"link",
       "A link's rate, one direction.",
       {choice("family", "what it belongs to", {"nvlink", "c2c", "xgmi", "pcie", "infiniband", "roce", "efa", "slingshot"}),
        required("generation", FieldType::text, "4, NDR, 400GbE, …"),
        required("unit", FieldType::text, "what `line` is the rate of: link, x16, 4x port, …"),
        optional("lanes", FieldType::integer, "lanes of one unit, one direction"),
        optional("lane_rate", FieldType::bandwidth, "signalled on one lane"), optional("encoding", FieldType::text, "the line code"),
        required("line", FieldType::bandwidth, "one unit, after encoding"),
        optional("practical", FieldType::bandwidth, "what large transfers reach"),
        optional("latency", FieldType::time, "of one crossing")}}};
  return form;
}

Result<Link> link_from(const PartEntry& entry) {
  Link link;
  link.id = entry.part.id;
  link.name = entry.part.name;
  link.family = text(entry, "family");
  link.generation = text(entry, "generation");
  link.unit = text(entry, "unit");
  link.line = io::get_bandwidth(entry.values, "line").value_or(Bandwidth{});
  const auto practical = io::get_bandwidth(entry.values, "practical");
  if (!practical) return link;
  if (*practical > link.line) {
    return bad_input(entry.values.where(),
                     fmt::format("{}: practical {} is above the line rate {}", link.id, to_text(*practical), to_text(link.line)));
  }
  link.practical_fraction = *practical / link.line;
  return link;
}

const PartForm& nic_form() {
  static const PartForm form{
      PartKind::nic,
      "nics",
      {"nic",
       "A network adapter.",
       {choice("kind", "the transport it is used for", nic_kind_names()),
        required("rate", FieldType::bandwidth, "line rate, one direction"),
        share("efficiency", "share of the rate that large transfers reach"),
        optional("latency", FieldType::time, "of one adapter, or what its plugin tells NCCL"),
        optional("pcie_generation", FieldType::integer, "of its slot"), optional("pcie_lanes", FieldType::integer, "of its slot")}}};
  return form;
}

Result<Nic> nic_from(const PartEntry& entry) {
  Nic nic;
  nic.id = entry.part.id;
  nic.name = entry.part.name;
  nic.kind = nic_kind_named(text(entry, "kind"));
  nic.rate = io::get_bandwidth(entry.values, "rate").value_or(Bandwidth{});
  nic.efficiency = io::get_number(entry.values, "efficiency").value_or(0);
  nic.pcie_generation = int(io::get_integer(entry.values, "pcie_generation").value_or(0));
  nic.pcie_lanes = int(io::get_integer(entry.values, "pcie_lanes").value_or(16));
  const auto latency = io::get_seconds(entry.values, "latency");
  nic.latency_known = latency.has_value();
  nic.latency = latency.value_or(Seconds{});
  return nic;
}

const PartForm& switch_form() {
  static const PartForm form{
      PartKind::switch_,
      "switches",
      {"switch",
       "A switch or a switch chip.",
       {required("vendor", FieldType::text, "who makes it"), choice("kind", "what it switches", {"infiniband", "ethernet", "nvlink"}),
        required("ports", FieldType::integer, "ports at port_rate"), required("port_rate", FieldType::bandwidth, "one port, one direction"),
        optional("aggregate", FieldType::bandwidth, "all ports, both directions"), optional("latency", FieldType::time, "port to port"),
        optional("two_tier_endpoints", FieldType::integer, "end points of the largest non-blocking two-tier network")}}};
  return form;
}

Result<Switch> switch_from(const PartEntry& entry) {
  Switch out;
  out.id = entry.part.id;
  out.name = entry.part.name;
  out.kind = text(entry, "kind");
  out.ports = int(io::get_integer(entry.values, "ports").value_or(0));
  out.port_rate = io::get_bandwidth(entry.values, "port_rate").value_or(Bandwidth{});
  const auto latency = io::get_seconds(entry.values, "latency");
  out.latency_known = latency.has_value();
  out.latency = latency.value_or(Seconds{});
  return out;
}

}  // namespace trunkline::catalog
