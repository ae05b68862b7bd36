#include "network/fabric_file.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "network/fabric_file_parts.hpp"

namespace trunkline::network {
namespace {

using topology::Routing;

constexpr Routing kPolicies[] = {Routing::ideal, Routing::ecmp, Routing::pinned, Routing::flowlet, Routing::spray, Routing::adaptive};

const io::Value& routing_block(const io::Value& value) {
  const io::Value* routing = present(value, "routing");
  return routing && routing->is_map() ? *routing : value;
}

bool splits(Routing policy) { return policy == Routing::spray || policy == Routing::adaptive || policy == Routing::ideal; }

Result<void> read_bursts(const io::Value& block, RoutingOptions& routing) {
  Bursts bursts;
  for (const char* key : {"bursts", "pause", "flowlet_gap"}) {
    if (present(block, key) && routing.policy != Routing::flowlet)
      return wrong_field(block, key, "belongs to the policy flowlet", "leave it out");
  }
  bursts.bursts = int(io::get_integer(block, "bursts").value_or(1));
  if (bursts.bursts > 1 && !present(block, "pause"))
    return wrong_field(block, "bursts", fmt::format("{} bursts without the pause between them", bursts.bursts),
                       "give pause, for example 1 ms");
  bursts.idle = io::get_seconds(block, "pause").value_or(seconds(0));
  bursts.threshold = io::get_seconds(block, "flowlet_gap").value_or(bursts.threshold);
  if (bursts.idle.si() < 0) return wrong_field(block, "pause", to_text(bursts.idle), "from 0 on");
  if (!(bursts.threshold.si() > 0)) return wrong_field(block, "flowlet_gap", to_text(bursts.threshold), "above 0");
  routing.flowlets = flowlets_of(bursts);
  return {};
}

Result<void> read_routing(const io::Value& value, const Shape& shape, FabricFile& out) {
  RoutingOptions& routing = out.run.routing;
  const io::Value& block = routing_block(value);
  const bool is_block = &block != &value;
  const auto word = is_block ? io::get_text(block, "policy") : io::get_text(value, "routing");
  routing = shape.routing;
  routing.seed = 1;
  if (word) {
    for (const Routing policy : kPolicies) {
      if (topology::name_of(policy) == *word) routing.policy = policy;
    }
  } else if (!shape.from_platform) {
    out.assumed.emplace_back("routing", "ecmp, one queue pair a flow");
  }
  if (!is_block) return {};
  if (const auto seed = io::get_integer(block, "seed")) routing.seed = std::uint64_t(*seed);
  out.run.queue_pairs = int(io::get_integer(block, "queue_pairs").value_or(1));
  const auto efficiency = io::get_number(block, "efficiency");
  TRUNKLINE_TRY(read_bursts(block, routing));
  if (efficiency && routing.policy != Routing::spray && routing.policy != Routing::adaptive)
    return wrong_field(block, "efficiency", "belongs to the policies spray and adaptive", "leave it out");
  routing.efficiency = efficiency.value_or(1);
  routing.same_hash = io::get_bool(block, "same_hash").value_or(false);
  routing.remote_failures_known = io::get_bool(block, "far_failures_known").value_or(true);
  if (present(block, "table") && !shape.graph) return wrong_field(block, "table", "belongs to a graph", "a Clos has its own ways");
  if (shape.table && splits(routing.policy))
    return wrong_field(block, "policy", fmt::format("{} with forwarding tables", topology::name_of(routing.policy)),
                       "use ecmp, flowlet or pinned");
  if (shape.graph && present(block, "far_failures_known"))
    return wrong_field(block, "far_failures_known", "belongs to a Clos", "leave it out");
  const auto pxn = io::get_bool(block, "pxn");
  if (pxn && *pxn && shape.rails < 2) return wrong_field(block, "pxn", "a fabric without rails", "give topology.rails");
  if (pxn && !*pxn && shape.rail_only)
    return wrong_field(block, "pxn", "rails without switches above meet only inside the nodes", "leave it out");
  if (pxn) routing.rail_local = *pxn;
  return {};
}

Result<void> read_run(const io::Value& value, FabricFile& out) {
  if (io::get_text(value, "sharing") == "latency_weighted") out.run.sharing = Sharing::inverse_latency;
  out.run.tolerance = io::get_number(value, "tolerance").value_or(0);
  if (const auto cap = io::get_bandwidth(value, "flow_rate")) {
    if (!(cap->si() > 0)) return wrong_field(value, "flow_rate", "a rate of zero", "leave it out for no limit");
    out.run.flow_cap = *cap;
  }
  return {};
}

Result<void> read_lossless(const io::Value& value, FabricFile& out) {
  const io::Value* field = present(value, "lossless");
  if (!field || field->is_null()) return {};
  const auto word = field->is_map() ? io::get_text(*field, "kind") : io::get_text(value, "lossless");
  if (!word) return wrong_field(value, "lossless", "without its kind", "credits, pfc or pfc-dcqcn");
  LosslessOptions options;
  for (const Lossless kind : {Lossless::fair, Lossless::credits, Lossless::pfc, Lossless::pfc_dcqcn}) {
    if (name_of(kind) == *word) options.kind = kind;
  }
  if (field->is_map()) {
    options.lanes = int(io::get_integer(*field, "lanes").value_or(options.lanes));
    options.buffer = io::get_bytes(*field, "buffer").value_or(options.buffer);
    if (options.buffer.count() < 1) return wrong_field(*field, "buffer", to_text(options.buffer), "above 0");
  }
  if (out.run.sharing != Sharing::equal) return wrong_field(value, "lossless", "beside shares by 1/latency", "leave one of them out");
  const TrafficSpec& traffic = out.traffic;
  const auto late = [](const Demand& demand) { return demand.start.si() > 0; };
  if (traffic.over.si() > 0 || traffic.pattern == Pattern::ring_all_reduce ||
      std::any_of(traffic.listed.begin(), traffic.listed.end(), late))
    return wrong_field(value, "lossless", "with flows that do not all start at once", "leave it out");
  out.lossless = options;
  return {};
}

}  // namespace

Result<FabricFile> fabric_from(const io::Value& value, const std::string& folder) {
  TRUNKLINE_TRY(io::check(value, fabric_spec()));
  FabricFile out;
  out.file = value.where().file;
  TRUNKLINE_ASSIGN(shape, shape_from(value, folder, out.assumed));
  out.fabric = shape.fabric;
  out.shape = shape.words;
  out.faults = shape.faults;
  out.host_rate = shape.host_rate;
  TRUNKLINE_TRY(read_routing(value, shape, out));
  TRUNKLINE_TRY(read_run(value, out));
  TRUNKLINE_ASSIGN(traffic, traffic_from(*present(value, "traffic"), *out.fabric, folder));
  out.traffic = std::move(traffic);
  TRUNKLINE_TRY(read_lossless(value, out));
  out.name = io::get_text(value, "name").value_or(std::filesystem::path(out.file).stem().string());
  return out;
}

Result<FabricFile> read_fabric(const std::string& path) {
  TRUNKLINE_ASSIGN(value, io::read_value(path));
  return fabric_from(value, std::filesystem::path(path).parent_path().string());
}

std::vector<Demand> demands_of(const FabricFile& file, std::uint64_t seed) { return demands_of(file.traffic, *file.fabric, seed); }

RunOptions options_of(const FabricFile& file, std::uint64_t seed) {
  RunOptions options = file.run;
  options.routing.seed += seed;
  return options;
}

}  // namespace trunkline::network
