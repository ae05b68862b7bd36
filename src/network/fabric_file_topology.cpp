#include "network/fabric_file_topology.hpp"

#include <fmt/format.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <optional>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/spec.hpp"
#include "network/fabric_file_parts.hpp"
#include "network/platform_fabric.hpp"

namespace trunkline::network {
namespace {

constexpr double kMostLinks = 20e6;  // some gigabytes

int whole_or(const io::Value& map, std::string_view key, int fallback) { return int(io::get_integer(map, key).value_or(fallback)); }

Result<void> add_latencies(const io::Value& file, ClosSpec& spec) {
  TRUNKLINE_ASSIGN(wire, time_in(file, "latency"));
  TRUNKLINE_ASSIGN(switching, time_in(file, "switch_latency"));
  TRUNKLINE_ASSIGN(ends, time_in(file, "end_latency"));
  spec.wire = wire;
  spec.switching = switching;
  if (present(file, "end_latency")) spec.ends = ends;
  TRUNKLINE_ASSIGN(packet, packet_in(file));
  spec.packet = packet;
  return {};
}

// --- Clos by its counts ----------------------------------------------------------------------------------------------------

constexpr std::array kSpeltOut = {"hosts_per_leaf", "spines", "leaf_links", "leaves_per_pod", "cores", "spine_links"};

// What `ports` allows of a fabric that is spelt out.
Result<void> check_ports(const io::Value& topology, const ClosSpec& spec, const Clos& clos) {
  const auto ports = io::get_integer(topology, "ports");
  if (!ports) return {};
  const auto check = [&](const char* kind, const char* key, std::int64_t used) -> Result<void> {
    if (used <= *ports) return {};
    return wrong_field(topology, key, fmt::format("a {} needs {} ports and has {}", kind, used, *ports),
                       "use larger switches or fewer links");
  };
  const std::int64_t up = spec.tiers >= 2 ? std::int64_t(spec.spines) * spec.leaf_links : 0;
  TRUNKLINE_TRY(check("leaf", "hosts_per_leaf", spec.hosts_per_leaf + up));
  if (spec.tiers < 2) return {};
  const int below = spec.tiers == 3 ? spec.leaves_per_pod : clos.leaves() / (spec.rail_only ? spec.rails : 1);
  TRUNKLINE_TRY(check("spine", "spines",
                      std::int64_t(below) * spec.leaf_links + (spec.tiers == 3 ? std::int64_t(spec.cores) * spec.spine_links : 0)));
  if (spec.tiers == 3) TRUNKLINE_TRY(check("core switch", "cores", std::int64_t(clos.pods()) * spec.spine_links));
  return {};
}

Result<ClosSpec> spelt_out(const io::Value& topology, int tiers) {
  ClosSpec spec;
  spec.tiers = tiers;
  std::vector<const char*> needed = {"hosts", "hosts_per_leaf"};
  if (tiers >= 2) needed.push_back("spines");
  if (tiers == 3) needed.insert(needed.end(), {"leaves_per_pod", "cores"});
  for (const char* key : needed) {
    if (!io::get_integer(topology, key))
      return bad_input(topology.where(), fmt::format("a Clos of {} tiers that is spelt out lacks the key \"{}\"", tiers, key),
                       "give it, or ports and hosts alone");
  }
  if (present(topology, "oversubscription"))
    return wrong_field(topology, "oversubscription", "of a Clos that is spelt out",
                       "it follows from hosts_per_leaf, spines and leaf_links");
  spec.hosts = whole_or(topology, "hosts", 0);
  spec.hosts_per_leaf = whole_or(topology, "hosts_per_leaf", 0);
  spec.rails = whole_or(topology, "rails", 1);
  spec.rail_only = io::get_bool(topology, "rail_only").value_or(false);
  spec.spines = whole_or(topology, "spines", 1);
  spec.leaf_links = whole_or(topology, "leaf_links", 1);
  spec.leaves_per_pod = whole_or(topology, "leaves_per_pod", 0);
  spec.cores = whole_or(topology, "cores", 0);
  spec.spine_links = whole_or(topology, "spine_links", 1);
  return spec;
}

Result<ClosSpec> counted(const io::Value& topology, int tiers, Bandwidth rate, Assumed& assumed) {
  ClosNeed need;
  need.tiers = tiers;
  const auto ports = io::get_integer(topology, "ports");
  if (!ports) return bad_input(topology.where(), "switches without a number of ports", "give topology.ports, or hosts_per_leaf, spines, …");
  need.ports = int(*ports);
  need.oversubscription = io::get_number(topology, "oversubscription").value_or(1);
  need.rails = whole_or(topology, "rails", 1);
  need.rail_only = io::get_bool(topology, "rail_only").value_or(false);
  need.rate = rate;
  const auto hosts = io::get_integer(topology, "hosts");
  need.hosts = int(hosts.value_or(most_hosts(tiers, need.ports, need.oversubscription) * (need.rail_only ? need.rails : 1)));
  if (!hosts) assumed.emplace_back("topology.hosts", fmt::format("{}, as many as the switches carry", need.hosts));
  return placed(clos_for(need), field_or(topology, hosts ? "hosts" : "ports"));
}

Result<ClosSpec> clos_from(const io::Value& topology, int tiers, Bandwidth rate, Assumed& assumed) {
  bool any = false;
  for (const char* key : kSpeltOut) any = any || present(topology, key);
  if (!any) return counted(topology, tiers, rate, assumed);
  return spelt_out(topology, tiers);
}

// --- SimGrid's fat tree ----------------------------------------------------------------------------------------------------

// levels;children of a switch at each level;parents of a node at each level;parallel links at each level.
Result<ClosSpec> fat_tree_from(const io::Value& topology) {
  const io::Value& field = *present(topology, "fat_tree");
  const std::string text = field.text();
  const auto refuse = [&](std::string message) {
    return bad_input(field.where(), fmt::format("topology.fat_tree: {}", message),
                     "levels;children a level;parents a level;parallel links a level, such as 3;8,8,16;1,8,8;1,1,1");
  };
  const auto parts = split(text, ';');
  if (parts.size() != 4) return refuse(fmt::format("found {} parts in \"{}\", expected 4", parts.size(), excerpt(text)));
  const auto levels = parse_integer(trim(parts[0]));
  if (!levels || *levels < 2 || *levels > 3) return refuse(fmt::format("\"{}\" levels; 2 or 3 are simulated", excerpt(parts[0])));
  int numbers[3][3] = {};
  for (int list = 0; list < 3; ++list) {
    const auto words = split(parts[std::size_t(list) + 1], ',');
    if (std::int64_t(words.size()) != *levels)
      return refuse(fmt::format("\"{}\" has not {} numbers", excerpt(parts[std::size_t(list) + 1]), *levels));
    for (std::size_t i = 0; i < words.size(); ++i) {
      const auto number = parse_integer(trim(words[i]));
      if (!number || *number < 1 || *number > 100'000)
        return refuse(fmt::format("found \"{}\" where a number from 1 to 100000 was expected", excerpt(words[i])));
      numbers[list][i] = int(*number);
    }
  }
  const auto& [children, parents, parallel] = numbers;
  if (parents[0] != 1 || parallel[0] != 1) return refuse("hosts with more than one link; a host is one port here");
  ClosSpec spec;
  spec.tiers = int(*levels);
  const std::int64_t hosts = std::int64_t(children[0]) * children[1] * (spec.tiers == 3 ? children[2] : 1);
  if (hosts > 100'000'000) return refuse(fmt::format("{} hosts", hosts));
  spec.hosts = int(hosts);
  spec.hosts_per_leaf = children[0];
  spec.spines = parents[1];
  spec.leaf_links = parallel[1];
  if (spec.tiers == 3) {
    spec.leaves_per_pod = children[1];
    spec.cores = parents[2];
    spec.spine_links = parallel[2];
  }
  return spec;
}

// --- words -----------------------------------------------------------------------------------------------------------------

std::string words_of(const Clos& clos) {
  const ClosSpec& spec = clos.spec();
  const auto links = [](int count) { return count > 1 ? fmt::format(" by {} links each", count) : std::string(); };
  std::string out = fmt::format("{} hosts", clos.hosts());
  if (spec.rails > 1) out += fmt::format(" on {} rails{}", spec.rails, spec.rail_only ? " that nothing joins" : "");
  if (spec.tiers == 1)
    return out + fmt::format(", {} switch{} of {} ports, none above", clos.leaves(), clos.leaves() > 1 ? "es" : "", spec.hosts_per_leaf);
  out += fmt::format(", {} leaves of {} hosts, {} spines{}{}", clos.leaves(), spec.hosts_per_leaf, spec.spines,
                     spec.tiers == 3 ? " a pod" : "", links(spec.leaf_links));
  if (spec.tiers == 3)
    out += fmt::format(", {} pods of {} leaves, {} cores above each spine{}", clos.pods(), spec.leaves_per_pod, spec.cores,
                       links(spec.spine_links));
  out += fmt::format("; oversubscription {} : 1", significant(clos.oversubscription(1)));
  if (spec.tiers == 3) out += fmt::format(" and {} : 1", significant(clos.oversubscription(2)));
  return out;
}

// --- all together ----------------------------------------------------------------------------------------------------------

Result<Shape> finished(const io::Value& file, const ClosSpec& spec, Shape shape) {
  const io::Value& topology = *present(file, "topology");
  const double leaves = std::ceil(double(spec.hosts) / spec.hosts_per_leaf) + spec.rails;
  const double ups = spec.tiers >= 2 ? leaves * spec.spines * spec.leaf_links : 0;
  const double cores = spec.tiers == 3 ? leaves / spec.leaves_per_pod * spec.spines * double(spec.cores) * spec.spine_links : 0;
  if (spec.hosts + ups + cores > kMostLinks)
    return bad_input(topology.where(), fmt::format("a fabric of about {} links", significant(spec.hosts + ups + cores)),
                     fmt::format("at most {} are simulated from a file", kMostLinks));
  TRUNKLINE_ASSIGN(clos, placed(Clos::build(spec), topology));
  TRUNKLINE_TRY(check_ports(topology, spec, clos));
  shape.words = words_of(clos);
  shape.host_rate = spec.host_rate;
  shape.rails = spec.rails;
  shape.routing.rail_local = spec.rails > 1;
  TRUNKLINE_ASSIGN(
      faults, apply_faults(file, {clos.wires(), [&](LinkId l) { return clos.name(l); }, [&](LinkId l, double k) { clos.scale(l, k); }}));
  shape.faults = std::move(faults);
  shape.fabric = std::make_shared<ClosFabric>(std::make_shared<const Clos>(std::move(clos)));
  return shape;
}

Result<Shape> shape_of_platform(const io::Value& file, const std::string& folder) {
  const io::Value& topology = *present(file, "topology");
  if (topology.fields().size() > 1)
    return bad_input(topology.where(), "a platform's fabric with keys of its own", "leave the others out, or describe the fabric here");
  for (const char* key : {"rate", "efficiency"}) {
    if (present(file, key)) return wrong_field(file, key, "beside a platform, which has its own", "leave it out");
  }
  TRUNKLINE_ASSIGN(platform, topology::read_platform((std::filesystem::path(folder) / *io::get_text(topology, "platform")).string()));
  TRUNKLINE_ASSIGN(spec, clos_of(platform));
  TRUNKLINE_TRY(add_latencies(file, spec));
  Shape shape;
  shape.from_platform = true;
  TRUNKLINE_ASSIGN(done, finished(file, spec, shape));
  done.routing = routing_of(platform.fabric);
  return done;
}

}  // namespace

Result<Shape> shape_from(const io::Value& file, const std::string& folder, Assumed& assumed) {
  const io::Value& topology = *present(file, "topology");
  int kinds = 0;
  for (const char* key : {"clos", "fat_tree", "platform", "graph"}) kinds += present(topology, key) ? 1 : 0;
  if (kinds != 1)
    return bad_input(topology.where(), kinds == 0 ? "the topology says nothing of its switches" : "the topology is described twice",
                     "give one of: clos, fat_tree, graph, platform");
  if (present(topology, "platform")) return shape_of_platform(file, folder);
  if (present(topology, "graph")) return shape_of_graph(file, folder);
  TRUNKLINE_ASSIGN(line, rate_in(file, "rate", std::nullopt));
  const double share = io::get_number(file, "efficiency").value_or(1);
  const auto tiers = io::get_integer(topology, "clos");
  Shape shape;
  shape.rail_only = io::get_bool(topology, "rail_only").value_or(false);
  TRUNKLINE_ASSIGN(spec, tiers ? clos_from(topology, int(*tiers), line, assumed) : fat_tree_from(topology));
  TRUNKLINE_ASSIGN(leaf_rate, rate_in(topology, "leaf_rate", line));
  TRUNKLINE_ASSIGN(spine_rate, rate_in(topology, "spine_rate", line));
  spec.host_rate = line * share;
  spec.leaf_rate = leaf_rate * share;
  spec.spine_rate = spine_rate * share;
  TRUNKLINE_TRY(add_latencies(file, spec));
  return finished(file, spec, shape);
}

}  // namespace trunkline::network
