#include "network/traffic_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "base/quantity_text.hpp"
#include "base/rng.hpp"
#include "io/files.hpp"
#include "network/fabric_file_parts.hpp"

namespace trunkline::network {
namespace {

using io::FieldType;

constexpr std::array kPatterns = {Pattern::permutation, Pattern::random, Pattern::incast,
                                  Pattern::all_to_all,  Pattern::ring,   Pattern::ring_all_reduce};
constexpr std::int64_t kMostDemands = 20'000'000;
constexpr int kMostRing = 100'000;
constexpr double kMostSeed = 1e15;

tl::unexpected<Error> wrong(const io::Value& traffic, std::string_view key, std::string message, std::string hint) {
  return bad_input(field_or(traffic, key).where(), fmt::format("traffic.{}: {}", key, message), std::move(hint));
}

std::string beside(const std::string& folder, const std::string& file) { return (std::filesystem::path(folder) / file).string(); }

// Exactly one of pattern, matrix and flows.
Result<void> check_kind(const io::Value& traffic) {
  int kinds = 0;
  for (const char* key : {"pattern", "collective", "matrix", "flows"}) {
    const io::Value* field = present(traffic, key);
    kinds += field && !field->is_null() ? 1 : 0;
  }
  if (kinds == 1) return {};
  return bad_input(traffic.where(), kinds == 0 ? "the traffic has no pattern" : "the traffic has more than one pattern",
                   "give one of: pattern, collective, matrix, flows (a file)");
}

// An inline matrix: a list of lists of sizes.
Result<std::vector<Demand>> demands_in(const io::Value& matrix, int hosts) {
  std::vector<Demand> out;
  if (int(matrix.items().size()) != hosts) {
    return bad_input(matrix.where(), fmt::format("traffic.matrix has {} lines for {} hosts", matrix.items().size(), hosts),
                     "a list for every host that takes part (traffic.hosts: the first so many)");
  }
  for (int source = 0; source < hosts; ++source) {
    const io::Value& row = matrix.items()[std::size_t(source)];
    if (!row.is_list() || int(row.items().size()) != hosts) {
      return bad_input(row.where(), fmt::format("traffic.matrix: line {} is no list of {} sizes", source, hosts),
                       "for example [0, 1 MB, 0]");
    }
    for (int destination = 0; destination < hosts; ++destination) {
      const io::Value& cell = row.items()[std::size_t(destination)];
      if (cell.is_scalar() && cell.text() == "0") continue;
      const auto size = cell.is_scalar() ? parse_bytes(cell.text()) : Result<Bytes>(Bytes(0));
      if (!size || size->count() <= 0 || size->count() > kMostBytes) {
        return bad_input(cell.where(),
                         fmt::format("traffic.matrix: from {} to {} found {}, expected 0 or a size", source, destination, cell.describe()),
                         "for example 1 MB");
      }
      if (source != destination) out.push_back({source, destination, *size, seconds(0)});
    }
  }
  if (out.empty()) return bad_input(matrix.where(), "traffic.matrix: nobody sends", "write a size above zero into a cell");
  return out;
}

Result<void> read_listed(const io::Value& traffic, const Fabric& fabric, const std::string& folder, TrafficSpec& out) {
  if (const io::Value* matrix = present(traffic, "matrix"); matrix && !matrix->is_null()) {
    out.pattern = Pattern::matrix;
    if (matrix->is_list()) {
      TRUNKLINE_ASSIGN(demands, demands_in(*matrix, out.hosts));
      out.listed = std::move(demands);
      return {};
    }
    if (!matrix->is_scalar())
      return wrong(traffic, "matrix", "found " + matrix->describe(), "a list of lists of sizes, or the name of a file");
    out.file = beside(folder, matrix->text());
    TRUNKLINE_ASSIGN(text, io::read_file(out.file));
    TRUNKLINE_ASSIGN(demands, matrix_from(text, out.file, out.hosts));
    out.listed = std::move(demands);
    return {};
  }
  out.pattern = Pattern::flows;
  out.file = beside(folder, *io::get_text(traffic, "flows"));
  TRUNKLINE_ASSIGN(demands, read_flows(out.file, {out.hosts, &fabric}));
  out.listed = std::move(demands);
  return {};
}

Result<void> read_pattern(const io::Value& traffic, const std::string& word, TrafficSpec& out) {
  out.pattern = *std::find_if(kPatterns.begin(), kPatterns.end(), [&](Pattern p) { return name_of(p) == word; });
  const auto size = io::get_bytes(traffic, "size");
  if (!size) return bad_input(traffic.where(), fmt::format("a {} without the size of a flow", word), "give traffic.size, for example 2 MB");
  if (size->count() <= 0 || size->count() > kMostBytes)
    return wrong(traffic, "size", fmt::format("flows of {} bytes", size->count()), "from 1 B to 1 PB");
  out.size = *size;
  if (out.hosts < 2) return wrong(traffic, "hosts", fmt::format("a {} among {} host", word, out.hosts), "at least 2");
  const auto count = io::get_integer(traffic, "count"), fan_in = io::get_integer(traffic, "fan_in");
  if (count && out.pattern != Pattern::random)
    return wrong(traffic, "count", fmt::format("belongs to the pattern random, not to {}", word), "leave it out");
  if (fan_in && out.pattern != Pattern::incast)
    return wrong(traffic, "fan_in", fmt::format("belongs to the pattern incast, not to {}", word), "leave it out");
  if (out.pattern == Pattern::random) {
    if (!count || *count < 1 || *count > kMostDemands)
      return wrong(traffic, "count", "random traffic needs the number of flows", fmt::format("from 1 to {}", kMostDemands));
    out.count = int(*count);
  }
  const auto steps = io::get_text(traffic, "steps");
  if (steps && out.pattern != Pattern::ring_all_reduce)
    return wrong(traffic, "steps", fmt::format("belongs to the pattern ring_all_reduce, not to {}", word), "leave it out");
  if (steps == "every") out.steps = RingSteps::every;
  if (out.pattern == Pattern::ring_all_reduce && (present(traffic, "over") || out.size.count() < out.hosts))
    return wrong(traffic, "pattern", "a ring all-reduce starts at once and has a byte for every host", "leave out over; a larger size");
  if (out.pattern == Pattern::ring_all_reduce && out.hosts > kMostRing)
    return wrong(traffic, "hosts", fmt::format("a ring of {} hosts", out.hosts), fmt::format("at most {} are simulated", kMostRing));
  out.fan_in = int(fan_in.value_or(out.hosts - 1));
  if (out.fan_in >= out.hosts)
    return wrong(traffic, "fan_in", fmt::format("{} senders and a receiver among {} hosts", out.fan_in, out.hosts),
                 "fewer senders or a larger fabric");
  if (out.pattern == Pattern::all_to_all && std::int64_t(out.hosts) * (out.hosts - 1) > kMostDemands)
    return wrong(traffic, "hosts", fmt::format("all-to-all among {} hosts", out.hosts),
                 fmt::format("at most {} flows are simulated", kMostDemands));
  return {};
}

constexpr std::array kOperations = {Operation::all_reduce, Operation::reduce_scatter, Operation::all_gather, Operation::all_to_all};
constexpr std::array kAlgorithms = {Algorithm::ring,         Algorithm::tree,   Algorithm::halving,
                                    Algorithm::hierarchical, Algorithm::direct, Algorithm::pxn};

template <class Enums>
std::vector<std::string> words_of(const Enums& values) {
  std::vector<std::string> out;
  for (const auto value : values) out.push_back(name_of(value));
  return out;
}

template <class Enums>
auto value_named(const Enums& values, const std::string& word) {
  return *std::find_if(values.begin(), values.end(), [&](auto value) { return name_of(value) == word; });
}

const io::ObjectSpec& machine_spec() {
  static const io::ObjectSpec spec{
      "fabric.traffic.node",
      "of a collective: what is attached to the hosts of the fabric",
      {
          {.name = "gpus", .type = FieldType::integer, .doc = "of a node; default 8", .min = 1, .max = 1024},
          {.name = "nics", .type = FieldType::integer, .doc = "of a node: hosts of the fabric; default 8", .min = 1, .max = 1024},
          {.name = "gpu_links", .type = FieldType::bandwidth, .doc = "of one GPU inside its node, one direction; default: takes no time"},
      }};
  return spec;
}

Result<void> read_collective(const io::Value& traffic, const std::string& word, TrafficSpec& out) {
  out.pattern = Pattern::collective;
  const auto size = io::get_bytes(traffic, "size");
  if (!size || size->count() <= 0 || size->count() > kMostBytes)
    return wrong(traffic, "size", "a collective without a size above zero", "of a rank's buffer, for example 1 GB");
  out.size = out.task.size = *size;
  out.task.operation = value_named(kOperations, word);
  const auto algorithm = io::get_text(traffic, "algorithm");
  out.task.algorithm = algorithm                                     ? value_named(kAlgorithms, *algorithm)
                       : out.task.operation == Operation::all_to_all ? Algorithm::direct
                                                                     : Algorithm::ring;
  out.task.pieces = int(io::get_integer(traffic, "pieces").value_or(1));
  if (const io::Value* node = present(traffic, "node"); node && node->is_map()) {
    out.machines.gpus = int(io::get_integer(*node, "gpus").value_or(out.machines.gpus));
    out.machines.nics = int(io::get_integer(*node, "nics").value_or(out.machines.nics));
    out.machines.gpu_links = io::get_bandwidth(*node, "gpu_links").value_or(Bandwidth());
  }
  if (out.hosts % out.machines.nics != 0)
    return wrong(traffic, "hosts", fmt::format("{} hosts are no whole nodes of {}", out.hosts, out.machines.nics),
                 "nodes times traffic.node.nics");
  out.machines.nodes = out.hosts / out.machines.nics;
  for (int rank = 0; rank < out.machines.ranks(); ++rank) out.task.ranks.push_back(rank);
  const auto stages = stages_of(out.task, out.machines);
  if (!stages) {
    Error error = stages.error();
    error.where = traffic.where();
    return fail(std::move(error));
  }
  return {};
}

}  // namespace

std::string name_of(Pattern pattern) {
  switch (pattern) {
    case Pattern::permutation: return "permutation";
    case Pattern::random: return "random";
    case Pattern::incast: return "incast";
    case Pattern::all_to_all: return "all_to_all";
    case Pattern::ring: return "ring";
    case Pattern::ring_all_reduce: return "ring_all_reduce";
    case Pattern::collective: return "collective";
    case Pattern::matrix: return "matrix";
    case Pattern::flows: return "flows";
  }
  return {};
}

std::string TrafficSpec::words() const {
  const std::string each = fmt::format("{} each", to_text(size));
  std::string out;
  switch (pattern) {
    case Pattern::permutation: out = fmt::format("permutation: every host to one other, {}", each); break;
    case Pattern::random: out = fmt::format("{} random pairs, {}", count, each); break;
    case Pattern::incast: out = fmt::format("incast: {} hosts to host 0, {}", fan_in, each); break;
    case Pattern::all_to_all: out = fmt::format("all-to-all among {} hosts, {}", hosts, each); break;
    case Pattern::ring: out = fmt::format("each of {} hosts to the next, {}", hosts, each); break;
    case Pattern::ring_all_reduce: out = fmt::format("all-reduce of {} in a ring of {} hosts", to_text(size), hosts); break;
    case Pattern::collective:
      out = fmt::format("{} of {} among {} GPUs, {}{}", name_of(task.operation), to_text(size), task.ranks.size(), name_of(task.algorithm),
                        task.pieces > 1 ? fmt::format(" in {} pieces", task.pieces) : "");
      break;
    case Pattern::matrix: out = fmt::format("{} flows of a matrix", listed.size()); break;
    case Pattern::flows: out = fmt::format("{} flows of {}", listed.size(), std::filesystem::path(file).filename().string()); break;
  }
  if (over.si() > 0) out += fmt::format(", starts over {}", to_text(over));
  return out;
}

const io::ObjectSpec& traffic_spec() {
  static const io::ObjectSpec spec = [] {
    std::vector<std::string> patterns;
    for (const Pattern pattern : kPatterns) patterns.push_back(name_of(pattern));
    return io::ObjectSpec{
        "fabric.traffic",
        "who sends how much to whom: a pattern, a matrix, or a file of flows",
        {
            {.name = "pattern",
             .type = FieldType::choice,
             .doc = "permutation: every host to one other; incast: all to host 0; ring: each to the next; ring_all_reduce: step by step",
             .choices = patterns},
            {.name = "size", .type = FieldType::bytes, .doc = "of one flow of a pattern; of ring_all_reduce: of the buffer"},
            {.name = "hosts", .type = FieldType::integer, .doc = "the first so many take part; default: all", .min = 1, .max = 1e8},
            {.name = "count", .type = FieldType::integer, .doc = "of random: how many flows", .min = 1, .max = double(kMostDemands)},
            {.name = "flows",
             .type = FieldType::text,
             .doc = "in place of a pattern: a file, a line a flow: source destination bytes start_s"},
            {.name = "steps",
             .type = FieldType::choice,
             .doc = "of ring_all_reduce: every step simulated, or folded where no send slows another; default folded",
             .choices = {"folded", "every"}},
            {.name = "fan_in", .type = FieldType::integer, .doc = "of incast: senders; default: all but one", .min = 1, .max = 1e8},
            {.name = "collective",
             .type = FieldType::choice,
             .doc = "in place of a pattern: one collective of all GPUs",
             .choices = words_of(kOperations)},
            {.name = "algorithm",
             .type = FieldType::choice,
             .doc = "of a collective; default ring, of all_to_all direct",
             .choices = words_of(kAlgorithms)},
            {.name = "pieces",
             .type = FieldType::integer,
             .doc = "of a collective: cut into so many, whose stages overlap; default 1",
             .min = 1,
             .max = 256},
            {.name = "node", .type = FieldType::object, .doc = "of a collective: what is attached", .object = &machine_spec()},
            {.name = "matrix",
             .type = FieldType::any,
             .doc = "in place of a pattern: sizes from host (line) to host (cell): a list of lists such as [[0, 1 MB], [1 MB, 0]], or a "
                    "file of bytes"},
            {.name = "over", .type = FieldType::time, .doc = "starts are drawn evenly between 0 and this; default: all at 0"},
            {.name = "seed", .type = FieldType::integer, .doc = "of what is drawn; default 1", .min = 0, .max = kMostSeed},
        }};
  }();
  return spec;
}

Result<TrafficSpec> traffic_from(const io::Value& value, const Fabric& fabric, const std::string& folder) {
  TRUNKLINE_TRY(check_kind(value));
  TrafficSpec out;
  const auto hosts = io::get_integer(value, "hosts");
  out.hosts = int(hosts.value_or(fabric.hosts()));
  if (out.hosts > fabric.hosts())
    return wrong(value, "hosts", fmt::format("{} of a fabric with {}", out.hosts, fabric.hosts()), "use fewer or a larger fabric");
  out.over = io::get_seconds(value, "over").value_or(seconds(0));
  if (!(out.over.si() >= 0 && out.over.si() <= kLatestStart))
    return wrong(value, "over", "starts over " + to_text(out.over), "from 0 to 1e6 s");
  out.seed = std::uint64_t(io::get_integer(value, "seed").value_or(1));
  const auto word = io::get_text(value, "pattern");
  const auto collective = io::get_text(value, "collective");
  for (const char* key : {"algorithm", "pieces", "node"}) {
    if (present(value, key) && !collective) return wrong(value, key, "belongs to a collective", "leave it out");
  }
  if (collective) {
    TRUNKLINE_TRY(read_collective(value, *collective, out));
  } else if (word) {
    TRUNKLINE_TRY(read_pattern(value, *word, out));
  } else {
    TRUNKLINE_TRY(read_listed(value, fabric, folder, out));
    if (out.over.si() > 0 && out.pattern == Pattern::flows)
      return wrong(value, "over", "a file of flows has its own starts", "leave it out");
  }
  return out;
}

std::vector<Demand> demands_of(const TrafficSpec& traffic, const Fabric& fabric, std::uint64_t seed) {
  const std::uint64_t drawn = traffic.seed + seed;
  std::vector<Demand> out;
  switch (traffic.pattern) {
    case Pattern::permutation: out = permutation(fabric, traffic.hosts, traffic.size, drawn); break;
    case Pattern::random: out = random_pairs(traffic.hosts, traffic.count, traffic.size, drawn); break;
    case Pattern::incast: out = incast(traffic.fan_in, traffic.size); break;
    case Pattern::all_to_all: out = all_to_all(traffic.hosts, traffic.size); break;
    case Pattern::ring: out = ring(traffic.hosts, traffic.size); break;
    case Pattern::ring_all_reduce: out = ring(traffic.hosts, scaled(traffic.size, 1.0 / traffic.hosts)); break;
    case Pattern::collective:
    case Pattern::matrix:
    case Pattern::flows: out = traffic.listed; break;
  }
  if (traffic.over.si() > 0) {
    Rng rng(drawn ^ 0x5851F42D4C957F2DULL);  // apart from who sends to whom
    for (Demand& demand : out) demand.start = traffic.over * rng.uniform();
  }
  return out;
}

}  // namespace trunkline::network
