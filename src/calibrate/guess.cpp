#include "calibrate/guess.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "io/value.hpp"

namespace trunkline::calibrate {
namespace {

std::string gpus_of(const std::vector<measure::Measurement>& results, std::size_t& count) {
  for (const auto& r : results) {
    if (r.context.gpus.empty()) continue;
    count = r.context.gpus.size();
    return r.context.gpus.front().name;
  }
  return {};
}

// The catalogued node with so many of this GPU, with links where there are several of its kind.
const topology::NodeEntry* node_with(const std::string& gpu, std::size_t count) {
  const topology::NodeEntry* found = nullptr;
  for (const auto& entry : topology::node_catalog()) {
    if (entry.node.gpu.id != gpu || entry.node.gpus != int(count)) continue;
    if (!found || (found->node.gpu_links == topology::GpuLinks::none && entry.node.gpu_links != topology::GpuLinks::none)) found = &entry;
  }
  return found;
}

}  // namespace

topology::Platform platform_of(const std::vector<measure::Measurement>& results) {
  topology::Platform out;
  out.name = "this machine";
  std::size_t count = 0;
  const std::string name = gpus_of(results, count);
  const auto gpu =
      name.empty() ? Result<const catalog::Gpu*>(fail({ErrorKind::missing, {}, {}, {}})) : catalog::Catalog::builtin().gpu(name);
  if (gpu) {
    const auto* entry = node_with((*gpu)->id, count);
    const std::string node = entry ? "{type: " + entry->id + "}" : fmt::format("{{gpu: {}, gpus: {}}}", (*gpu)->id, count);
    const auto value = io::parse_yaml("name: this machine\nnode: " + node + "\n", "platform");
    if (auto made = value ? topology::platform_from(*value) : Result<topology::Platform>(tl::unexpected(value.error())))
      out = std::move(*made);
    out.assumed.emplace_back("platform", fmt::format("none given: taken as {}, from the GPUs in the result ({} x {})",
                                                     entry ? entry->name : (*gpu)->name, count, name));
  } else {
    out.assumed.emplace_back("platform",
                             "none given, and the result lists no GPU that is catalogued: only storage and ingest can be calibrated");
  }
  out.node.nics = {};
  const Bandwidth place = gbyte_per_s(1);
  out.node.local_disk = topology::Disk{place, place, {}, 1};
  out.volume.reset();
  out.ingest = topology::Ingest{place, 1};
  return out;
}

}  // namespace trunkline::calibrate
