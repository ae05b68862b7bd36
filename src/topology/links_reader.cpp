#include "topology/links_reader.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/text.hpp"

namespace trunkline::topology {
namespace {

using catalog::Catalog;
using catalog::Gpu;
using catalog::LinkFamily;

// "NVLink 3 (12 links, 300 GB/s one direction)", "no NVLink", …
std::string links_in_words(const Gpu& gpu) {
  if (gpu.link_family == LinkFamily::none || gpu.links == 0) return "no NVLink, only PCIe";
  return fmt::format("{} {} ({} links, {} one direction)", gpu.link_family == LinkFamily::xgmi ? "Infinity Fabric" : "NVLink",
                     gpu.link_generation, gpu.links, to_text(gpu.link_bandwidth));
}

const io::Value& field_or(const io::Value& map, std::string_view key) {
  const io::Value* field = map.find(key);
  return field ? *field : map;
}

GpuLinks kind_from(const std::string& word) {
  for (GpuLinks kind : {GpuLinks::nvswitch, GpuLinks::nvlink_mesh, GpuLinks::nvlink_bridge, GpuLinks::xgmi}) {
    if (name_of(kind) == word) return kind;
  }
  return GpuLinks::none;
}

// The kind must be one that the GPU's connectors allow.
Result<void> check_kind(const io::Value& block, const NodeType& node) {
  const Gpu& gpu = node.gpu;
  const Where where = field_or(block, "kind").where();
  const auto wrong = [&](std::string hint) {
    return bad_input(where, fmt::format("gpu_links: {} with {}, which has {}", name_of(node.gpu_links), gpu.name, links_in_words(gpu)),
                     std::move(hint));
  };
  const LinkFamily wanted = node.gpu_links == GpuLinks::xgmi ? LinkFamily::xgmi : LinkFamily::nvlink;
  if (gpu.link_family == LinkFamily::none || gpu.links == 0) return wrong("write gpu_links: none");
  if (gpu.link_family != wanted)
    return wrong(gpu.link_family == LinkFamily::xgmi ? "write kind: xgmi" : "write kind: nvswitch, nvlink_mesh or nvlink_bridge");
  const bool card = gpu.form == "PCIe";
  if (card && node.gpu_links == GpuLinks::nvswitch) return wrong("PCIe cards are joined by bridges only: write kind: nvlink_bridge");
  if (!card && node.gpu_links == GpuLinks::nvlink_bridge) return wrong("bridges join PCIe cards: write kind: nvswitch or nvlink_mesh");
  return {};
}

Result<void> read_rate(const io::Value& block, NodeType& node) {
  const Gpu& gpu = node.gpu;
  if (const auto generation = io::get_integer(block, "generation"); generation && *generation != gpu.link_generation) {
    return bad_input(field_or(block, "generation").where(),
                     fmt::format("gpu_links: generation {} with {}, which has {}", *generation, gpu.name, links_in_words(gpu)),
                     fmt::format("write generation: {}, or leave it out", gpu.link_generation));
  }
  const Bandwidth per_link = gpu.link_bandwidth / double(gpu.links);
  node.link_generation = gpu.link_generation;
  node.links = int(io::get_integer(block, "links").value_or(gpu.links));
  if (node.links > gpu.links) {
    return bad_input(field_or(block, "links").where(),
                     fmt::format("gpu_links: {} links with {}, which has {}", node.links, gpu.name, links_in_words(gpu)),
                     fmt::format("write at most links: {}", gpu.links));
  }
  node.link_bandwidth = per_link * double(node.links);
  TRUNKLINE_ASSIGN(bandwidth, positive_rate(block, "bandwidth"));
  if (!bandwidth) return {};
  if (*bandwidth / gpu.link_bandwidth > 1.001) {
    return bad_input(field_or(block, "bandwidth").where(),
                     fmt::format("gpu_links: {} with {}, which has {}", to_text(*bandwidth), gpu.name, links_in_words(gpu)),
                     "bandwidth counts one direction; makers' pages often add both");
  }
  node.link_bandwidth = *bandwidth;
  node.links = std::max(1, int(std::lround(*bandwidth / per_link)));
  return {};
}

// "0-1x2" → GPU 0 and 1 joined by two links; "0-1" by one.
Result<MeshLink> mesh_link(const io::Value& item, int gpus) {
  const auto wrong = [&] {
    return bad_input(item.where(), fmt::format("mesh: found {}, expected such as 0-1x2", item.describe()),
                     fmt::format("GPU-GPUxLINKS, GPUs counted from 0 to {}", gpus - 1));
  };
  if (!item.is_scalar()) return wrong();
  const char* p = item.text().data();
  const char* end = p + item.text().size();
  MeshLink link;
  auto got = std::from_chars(p, end, link.a);
  if (got.ec != std::errc{} || got.ptr == end || *got.ptr != '-') return wrong();
  got = std::from_chars(got.ptr + 1, end, link.b);
  if (got.ec != std::errc{}) return wrong();
  if (got.ptr != end) {
    if (*got.ptr != 'x') return wrong();
    got = std::from_chars(got.ptr + 1, end, link.links);
    if (got.ec != std::errc{} || got.ptr != end) return wrong();
  }
  if (link.a < 0 || link.b < 0 || link.a >= gpus || link.b >= gpus || link.a == link.b || link.links < 1 || link.links > 64) return wrong();
  return link;
}

Result<void> check_mesh(const io::Value& where, const NodeType& node) {
  std::vector<int> used(std::size_t(node.gpus), 0);
  for (const auto& link : node.mesh) {
    used[std::size_t(link.a)] += link.links;
    used[std::size_t(link.b)] += link.links;
  }
  for (int g = 0; g < node.gpus; ++g) {
    if (used[std::size_t(g)] > node.links) {
      return bad_input(where.where(),
                       fmt::format("gpu_links: GPU {} would need {} links, {} are there: {}", g, used[std::size_t(g)], node.links,
                                   links_in_words(node.gpu)),
                       "give fewer links to a pair");
    }
  }
  return {};
}

// Groups of `domain` neighbours, each GPU joined to every other of its group by the same number of links.
Result<void> even_mesh(const io::Value& block, NodeType& node) {
  const int group = node.link_domain;
  const int fit = node.links / (group - 1);
  const int each = int(io::get_integer(block, "pair_links").value_or(fit));
  if (fit < 1) {
    return bad_input(field_or(block, "kind").where(),
                     fmt::format("gpu_links: {} of {} GPUs needs {} links a GPU, and {} has {}", name_of(node.gpu_links), group, group - 1,
                                 node.gpu.name, node.links),
                     "write who is joined to whom, such as mesh: [0-1x2, 0-2x1], or a smaller domain");
  }
  for (int a = 0; a < node.gpus; ++a) {
    for (int b = a + 1; b < node.gpus && b / group == a / group; ++b) node.mesh.push_back({a, b, each});
  }
  return check_mesh(field_or(block, "pair_links"), node);
}

Result<void> read_mesh(const io::Value& block, NodeType& node) {
  if (const io::Value* mesh = block.find("mesh"); mesh && mesh->is_list()) {
    for (const auto& item : mesh->items()) {
      TRUNKLINE_ASSIGN(link, mesh_link(item, node.gpus));
      node.mesh.push_back(link);
    }
    return check_mesh(*mesh, node);
  }
  return even_mesh(block, node);
}

Result<void> read_domain(const io::Value& block, NodeType& node) {
  const bool bridge = node.gpu_links == GpuLinks::nvlink_bridge;
  const int usual = bridge ? std::min(2, node.gpus) : node.gpus;
  node.link_domain = int(io::get_integer(block, "domain").value_or(usual));
  const Where where = field_or(block, "domain").where();
  if (node.gpu_links == GpuLinks::nvswitch) {
    if (node.link_domain < node.gpus) {
      return bad_input(where, fmt::format("gpu_links: a switched domain of {} GPUs in a node of {}", node.link_domain, node.gpus),
                       "write a domain of at least the node's GPUs, or leave it out");
    }
    if (node.link_domain % node.gpus != 0) {
      return bad_input(where,
                       fmt::format("gpu_links: a domain of {} GPUs is not a whole number of nodes of {}", node.link_domain, node.gpus),
                       "such as domain: 72 with gpus: 4");
    }
    return {};
  }
  if (node.link_domain > node.gpus) {
    return bad_input(where, fmt::format("gpu_links: a domain of {} GPUs in a node of {}", node.link_domain, node.gpus),
                     "only switched links (nvswitch) reach beyond one node");
  }
  return {};
}

// GA102 boards (compute capability 86) have slower links of generation 3.
std::string link_id(const Gpu& gpu) {
  if (gpu.link_family == LinkFamily::xgmi) return fmt::format("xgmi{}", gpu.link_generation);
  return fmt::format("nvlink{}{}", gpu.link_generation, gpu.link_generation == 3 && gpu.compute_capability == 86 ? "-ga102" : "");
}

void set_shares(NodeType& node) {
  const bool xgmi = node.gpu_links == GpuLinks::xgmi;
  node.link_copy_share = constant(xgmi ? "xgmi-copy" : link_id(node.gpu) + "-copy");
  const auto link = Catalog::builtin().link(link_id(node.gpu));
  const double planned = link ? (*link)->practical_fraction : 0;
  node.link_share = planned > 0 ? planned : constant(xgmi ? "xgmi-kernel" : "link-kernel");
}

}  // namespace

Result<void> read_gpu_links(const io::Value& value, NodeType& node, Notes& notes) {
  const io::Value* block = value.find("gpu_links");
  node.link_domain = node.gpus;
  if (!block || block->is_null()) {
    if (node.gpu.link_family != LinkFamily::none && node.gpus > 1)
      notes.emplace_back("node.gpu_links", "none: GPUs reach each other over PCIe (not stated)");
    return {};
  }
  if (!block->is_map()) return {};  // the word none
  const auto kind = io::get_text(*block, "kind");
  if (!kind)
    return bad_input(block->where(), "gpu_links: lacks the key \"kind\"", "one of nvswitch, nvlink_mesh, nvlink_bridge, xgmi, none");
  node.gpu_links = kind_from(*kind);
  if (node.gpu_links == GpuLinks::none) return {};
  TRUNKLINE_TRY(check_kind(*block, node));
  if (node.gpus == 1) {  // nobody to be joined to
    node.gpu_links = GpuLinks::none;
    return {};
  }
  TRUNKLINE_TRY(read_rate(*block, node));
  TRUNKLINE_TRY(read_domain(*block, node));
  if (node.gpu_links != GpuLinks::nvswitch) TRUNKLINE_TRY(read_mesh(*block, node));
  set_shares(node);
  return {};
}

}  // namespace trunkline::topology
