// One row of a table of nccl-tests results as a question to the model.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "io/value.hpp"
#include "validate/columns.hpp"
#include "validate/nccl_table.hpp"
#include "validate/row_reader.hpp"

namespace trunkline::validate {

using collectives::Collective;

namespace {

// Host time of one call in a process, seconds: a kernel launch, and one more queued send or receive. Seen in tables of one
// process on 2, 4 and 8 GPUs: 9, 18.8 and 34.5 µs whatever the size and collective; all-to-all on 8 GPUs 87 µs.
constexpr double kLaunch = 4.3e-6, kQueuedMessage = 0.41e-6;

// Reductions in the switch show more bus bandwidth than the links have, by less than this.
constexpr double kMostOfLinks = 3, kFastestSlot = 64e9;

class RowReader : RowReaderOf<CollectiveRow> {
 public:
  RowReader(const io::CsvTable& table, const io::CsvRow& row) : RowReaderOf(TableKind::collectives, table, row) {}

  CollectiveRow read() {
    labels();
    CollectiveCase question;
    if (readable() && operation(question) && group() && measured() && platform() && limits(question)) out_.question = std::move(question);
    return std::move(out_);
  }

  Result<topology::Platform> platform_only() {
    labels();
    CollectiveCase question;
    if (readable() && operation(question) && group() && platform()) return *platform_;
    return bad_input({table_.file(), row_.line}, out_.skipped_reason);
  }

 private:
  void labels() {
    out_.id = row_name(table_, row_);
    out_.file = table_.file();
    out_.table = table_name(table_, row_);
    out_.system = text("system_id");
    out_.gpu = text("gpu_type");
    out_.collective = text("collective");
    out_.line = row_.line;
    out_.healthy = !table_.has("healthy") || text("healthy") == "1";
    out_.exclude_reason = text("exclude_reason");
    out_.forced = text("forced");
    out_.eligible = out_.healthy && out_.exclude_reason.empty();
    out_.network = text("network");
    out_.notes = text("notes");
  }

  bool operation(CollectiveCase& question) {
    static const std::map<std::string, Collective> names = {
        {"all_reduce", Collective::all_reduce}, {"all_gather", Collective::all_gather}, {"reduce_scatter", Collective::reduce_scatter},
        {"alltoall", Collective::all_to_all},   {"broadcast", Collective::broadcast},   {"reduce", Collective::reduce},
        {"sendrecv", Collective::send_recv}};
    const auto name = names.find(out_.collective);
    if (name == names.end()) {
      return skip(
          cell_problem("collective", out_.collective,
                       "is not modelled; expected all_reduce, all_gather, reduce_scatter, alltoall, broadcast, reduce or sendrecv"));
    }
    question.collective = collective_ = name->second;
    if (text("size_bytes").empty()) return skip("size_bytes: not stated");
    question.size = out_.size = Bytes(std::int64_t(number("size_bytes")));
    return version(question.options) && forced(question.options);
  }

  // "2.27.7"; only what NCCL 2 did is modelled.
  bool version(collectives::Options& options) {
    options.nccl_version = text("nccl_norm");
    if (options.nccl_version.empty()) {
      assume("nccl_version", "the newest modelled");
      return true;
    }
    const auto parts = split(options.nccl_version, '.');
    const bool numbers = std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
      return !part.empty() && part.size() < 4 && part.find_first_not_of("0123456789") == std::string_view::npos;
    });
    const bool known = numbers && (parts.size() == 2 || parts.size() == 3) && parts.front() == "2";
    return known || skip(cell_problem("nccl_norm", options.nccl_version, "is not a version of NCCL 2; expected 2.27.7 or 2.27"));
  }

  bool forced(collectives::Options& options) {
    static const std::map<std::string, collectives::Algorithm> algorithms = {{"ring", collectives::Algorithm::ring},
                                                                             {"tree", collectives::Algorithm::tree},
                                                                             {"nvls", collectives::Algorithm::nvls},
                                                                             {"nvlstree", collectives::Algorithm::nvls_tree},
                                                                             {"pat", collectives::Algorithm::pat}};
    static const std::map<std::string, collectives::Protocol> protocols = {
        {"ll", collectives::Protocol::ll}, {"ll128", collectives::Protocol::ll128}, {"simple", collectives::Protocol::simple}};
    for (const auto setting : split(out_.forced, ';')) {
      if (trim(setting).empty()) continue;
      const auto equals = setting.find('=');
      const std::string key(trim(setting.substr(0, equals))),
          value = lower(equals == std::string_view::npos ? "" : trim(setting.substr(equals + 1)));
      if (key == "NVLS" && (value == "0" || value == "1"))
        options.nvls = value == "1";
      else if (key == "ALGO" && algorithms.contains(value))
        options.algorithm = algorithms.at(value);
      else if (key == "PROTO" && protocols.contains(value))
        options.protocol = protocols.at(value);
      else if (key == "COLLNET" && (value == "0" || value == "1"))
        assume("COLLNET", "no in-network reduction");
      else
        return skip(cell_problem("forced", setting, "is not modelled; expected NVLS=0, ALGO=…, PROTO=… or COLLNET=…"));
    }
    return true;
  }

  bool group() {
    if (text("gpus").empty()) return skip("gpus: not stated");
    out_.gpus = int(number("gpus"));
    const int per_node = int(number("gpus_per_node"));
    out_.nodes = int(number("nodes"));
    if (out_.nodes == 0) {
      out_.nodes = per_node > 0 ? (out_.gpus + per_node - 1) / per_node : 1;
      assume("nodes", std::to_string(out_.nodes));
    }
    if (out_.gpus % out_.nodes != 0)
      return skip(fmt::format("nodes: {} GPUs (gpus) do not spread evenly over {} nodes", out_.gpus, out_.nodes));
    ranks_ = out_.gpus / out_.nodes;
    if (per_node > 0 && ranks_ > per_node)
      return skip(cell_problem("gpus_per_node", text("gpus_per_node"),
                               fmt::format("is less than the {} GPUs that take part on each node", ranks_)));
    gpus_per_node_ = std::max(per_node, ranks_);
    return true;
  }

  bool measured() {
    out_.measured_s = number("time_us") * 1e-6;
    if (out_.measured_s > 0) return true;
    const double busbw = number("busbw_GBs") * 1e9;
    if (busbw <= 0) return skip("time_us: not stated, nor a bus bandwidth (busbw_GBs)");
    out_.measured_s = double(out_.size.count()) * collectives::bus_factor(collective_, out_.gpus) / busbw;
    if (out_.measured_s < 1e-7)
      return skip(
          cell_problem("busbw_GBs", text("busbw_GBs"), fmt::format("would mean {} bytes (size_bytes) within 0.1 µs", text("size_bytes"))));
    assume("time_us", "from the bus bandwidth");
    return true;
  }

  bool gpu() {
    gpu_ = text("gpu_norm");
    if (gpu_.empty()) {
      static const std::vector<std::pair<std::string, std::string>> families = {
          {"A100", "a100-sxm-80"}, {"V100", "v100-sxm2"}, {"H100", "h100-sxm"}, {"H200", "h200-sxm"}, {"B200", "b200"}};
      for (const auto& [word, id] : families) {
        if (text("gpu_type").starts_with(word)) gpu_ = id;
      }
      if (gpu_.empty()) return skip(cell_problem("gpu_type", text("gpu_type"), "is not in the catalogue, and gpu_norm is empty"));
      assume("gpu", gpu_);
    }
    const auto found = catalog::Catalog::builtin().gpu(gpu_);
    if (!found) return skip(cell_problem("gpu_norm", gpu_, "is not in the catalogue (`trunkline catalog`)"));
    card_ = *found;
    return true;
  }

  // "{kind: nvswitch, …}" of the platform file.
  std::string links() {
    using catalog::Generation;
    std::string intra = text("intra_norm");
    const bool board = card_->link_family != catalog::LinkFamily::none && card_->form != "PCIe";
    const bool has_switch = card_->generation != Generation::volta && card_->link_family == catalog::LinkFamily::nvlink && board;
    if (intra.empty()) {
      intra = !board ? "pcie" : card_->link_family == catalog::LinkFamily::xgmi ? "xgmi" : has_switch ? "nvswitch" : "nvlink";
      if (ranks_ > 1) assume("intra_node", intra + " (the GPU's form)");
    } else if (intra == "nvlink" && !board && card_->links > 0) {
      intra = "nvlink-bridge";
      assume("intra_node", "bridged pairs (text says NVLink, the card is PCIe)");
    } else if (intra == "nvlink" && (has_switch || gpus_per_node_ > 8)) {
      intra = "nvswitch";
      assume("intra_node", "nvswitch (text says NVLink)");
    }
    if (intra == "nvswitch") return "{kind: nvswitch}";
    if (intra == "nvl72") return "{kind: nvswitch, domain: 72}";
    if (intra == "nvlink-bridge") return "{kind: nvlink_bridge}";
    if (intra == "xgmi") return "{kind: xgmi, pair_links: 1}";
    return intra == "nvlink" ? "{kind: nvlink_mesh}" : "none";
  }

  // "{kind: infiniband, rate: …}" of the platform file.
  std::string nics() {
    std::string fabric = text("fabric_norm");
    if (out_.nodes == 1) return "none";
    if (fabric == "nvlink" || (fabric.empty() && text("intra_norm") == "nvl72")) {
      assume("nics", "as the rack ships, unused");
      return fmt::format("{{kind: infiniband, rate: 400 Gb/s, count: {}, near: socket}}", gpus_per_node_);
    }
    double rate = number("nic_gbps");
    int count = int(number("nic_count"));
    if (fabric.empty()) {
      fabric = "infiniband";
      assume("fabric", fabric);
    }
    const bool board = card_->form != "PCIe";
    if (rate > 0 && count == 0) {
      count = board ? gpus_per_node_ : 1;
      rate /= count;
      assume("nics", fmt::format("{} x {} Gb/s (the node's figure shared out)", count, rate));
    } else if (rate == 0) {
      const bool sockets = fabric == "tcp" || fabric == "ethernet";
      const auto generation = card_->generation;
      rate = !board || sockets || generation == catalog::Generation::volta ? 100 : generation == catalog::Generation::ampere ? 200 : 400;
      count = board && !sockets ? gpus_per_node_ : 1;
      assume("nics", fmt::format("{} x {} Gb/s {}", count, rate, fabric));
    }
    if (fabric == "tcp") fabric = "ethernet";
    return fmt::format("{{kind: {}, rate: {} Gb/s, count: {}, near: {}}}", fabric, rate, count,
                       board && text("intra_norm") != "nvl72" ? "pcie_switch" : "socket");
  }

  bool platform() {
    if (!gpu()) return false;
    const bool board = card_->form != "PCIe";
    std::string extra = board && text("intra_norm") != "nvl72" ? fmt::format(", pcie_switches: {}", std::max(1, gpus_per_node_ / 2)) : "";
    const std::string words = lower(text("intra_node"));
    if (words.find("p2p enabled") != std::string::npos)
      extra += ", pcie_p2p: true";
    else if (words.find("no p2p") != std::string::npos)
      extra += ", pcie_p2p: false";
    const bool cube_mesh =
        card_->generation == catalog::Generation::volta && board && gpus_per_node_ == 8 && text("intra_norm") != "nvswitch";
    const std::string node =
        cube_mesh ? "type: hgx-v100-32" : fmt::format("gpu: {}, gpus: {}, gpu_links: {}{}", gpu_, gpus_per_node_, links(), extra);
    if (cube_mesh && text("intra_norm").empty()) assume("intra_node", "the hybrid cube mesh of eight V100");
    const std::string file = fmt::format("name: system\nnode: {{{}, count: {}, nics: {}}}\n", node, out_.nodes, nics());
    const auto value = io::parse_yaml(file, out_.system);
    if (!value) return skip(value.error().message);
    auto built = topology::platform_from(*value);
    if (!built) return skip(built.error().message);
    built->name = out_.system;  // any text: never part of the file
    platform_ = std::move(*built);
    return true;
  }

  bool limits(CollectiveCase& question) {
    question.domain = collectives::domain_of(*platform_, {ranks_, out_.nodes, 1});
    const bool torch = lower(text("notes")).find("bench.py") != std::string::npos || out_.exclude_reason == "not nccl-tests timing";
    const int driven = out_.nodes == 1 && !torch ? ranks_ : 1;
    const double messages = collective_ == Collective::all_to_all ? 2.0 * out_.gpus : 0;
    question.floor_s = driven * (kLaunch + messages * kQueuedMessage);
    return plausible(question.domain);
  }

  // A bus bandwidth of several times what a GPU's links carry is a slip of the pen.
  bool plausible(const collectives::Domain& domain) {
    const double moved = double(out_.size.count()) * collectives::bus_factor(collective_, out_.gpus) / out_.measured_s;
    if (moved <= kMostOfLinks * std::max(domain.link_bandwidth.si(), kFastestSlot)) return true;
    const char* column = text("time_us").empty() ? "busbw_GBs" : "time_us";
    return skip(cell_problem(
        column, text(column),
        fmt::format("with size_bytes {} and these gpus would be {} of bus bandwidth, more than the GPU's links carry (gpu_norm, "
                    "intra_norm)",
                    text("size_bytes"), to_text(byte_per_s(moved)))));
  }

  Collective collective_ = Collective::all_reduce;
  int ranks_ = 0, gpus_per_node_ = 0;
  std::string gpu_;
  const catalog::Gpu* card_ = nullptr;
  std::optional<topology::Platform> platform_;
};

}  // namespace

CollectiveRow collective_row(const io::CsvTable& table, const io::CsvRow& row) { return RowReader(table, row).read(); }

Result<topology::Platform> platform_of_row(const io::CsvTable& table, const io::CsvRow& row) {
  return RowReader(table, row).platform_only();
}

}  // namespace trunkline::validate
