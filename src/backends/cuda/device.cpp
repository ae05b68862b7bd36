#include "backends/cuda/device.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <charconv>
#include <fstream>

#include "backends/cuda/error.hpp"
#include "backends/cuda/probes.hpp"
#include "backends/nvml/gpus.hpp"
#include "base/text.hpp"
#include "catalog/catalog.hpp"

namespace trunkline::backends::cuda {
namespace {

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  cudaDeviceGetAttribute(&value, which, index);
  return value;
}

Result<Gpu> gpu_at(int index) {
  Gpu out;
  out.index = index;
  TRUNKLINE_TRY(ok(cudaSetDevice(index), fmt::format("using GPU {}", index)));
  TRUNKLINE_TRY(ok(cudaDeviceSynchronize(), fmt::format("GPU {} no longer answers, after a fault before this probe", index)));
  cudaDeviceProp properties{};
  TRUNKLINE_TRY(ok(cudaGetDeviceProperties(&properties, index), fmt::format("describing GPU {}", index)));
  out.name = properties.name;
  char pci[32] = {};
  TRUNKLINE_TRY(ok(cudaDeviceGetPCIBusId(pci, sizeof pci, index), fmt::format("placing GPU {}", index)));
  out.pci = pci;
  std::transform(out.pci.begin(), out.pci.end(), out.pci.begin(), [](unsigned char c) { return std::tolower(c); });
  out.sms = properties.multiProcessorCount;
  out.capability = 10 * properties.major + properties.minor;
  out.l2 = Bytes(attribute(cudaDevAttrL2CacheSize, index));
  out.memory = Bytes(properties.totalGlobalMem);
  if (const auto part = catalog::Catalog::builtin().gpu(out.name)) out.part = *part;
  return out;
}

std::optional<Limit> limit_of(double value, std::string source) {
  return value > 0 ? std::optional(Limit{value, std::move(source)}) : std::nullopt;
}

const nvml::Gpu* find(const std::vector<nvml::Gpu>& all, const std::string& pci) {
  const auto found = std::find_if(all.begin(), all.end(), [&](const nvml::Gpu& g) { return g.state.pci == pci; });
  return found == all.end() ? nullptr : &*found;
}

// All GPUs as NVML sees them; empty where it cannot say.
std::vector<nvml::Gpu> seen_by_nvml() {
  const auto library = nvml::library();
  if (!library) return {};
  auto all = nvml::gpus(**library);
  return all ? std::move(*all) : std::vector<nvml::Gpu>();
}

// The part of a GPU's links that leads to the peer: all of them through a switch, else those that end there.
std::optional<double> share_of_links(const Gpu& gpu, const Gpu& peer) {
  const auto all = seen_by_nvml();
  const nvml::Gpu* seen = find(all, gpu.pci);
  if (!seen || !gpu.part || gpu.part->links == 0) return std::nullopt;
  const auto leads = std::count_if(seen->links.begin(), seen->links.end(), [&](const nvml::Link& link) {
    return link.up && (link.remote == nvml::Remote::nvswitch || link.remote_pci == peer.pci);
  });
  return double(leads) / gpu.part->links;
}

}  // namespace

std::string Gpu::label() const { return fmt::format("gpu{}", index); }

Result<std::vector<Gpu>> gpus(const measure::Settings& settings) {
  int count = 0;
  TRUNKLINE_TRY(ok(cudaGetDeviceCount(&count), "looking for GPUs"));
  const auto only = settings.integer("gpu");
  if (only && *only >= count) {
    return fail(
        {ErrorKind::missing, fmt::format("--gpu {}: CUDA shows {} GPUs, counted from 0", *only, count), {}, "nvidia-smi -L lists them"});
  }
  std::vector<Gpu> out;
  for (int i = 0; i < count; ++i) {
    if (only && i != *only) continue;
    TRUNKLINE_ASSIGN(gpu, gpu_at(i));
    out.push_back(std::move(gpu));
  }
  return out;
}

Result<void> expect_gpus(const measure::Settings& settings, int count) {
  TRUNKLINE_ASSIGN(here, gpus(settings));
  if (int(here.size()) >= count) return {};
  return fail(
      {ErrorKind::missing, settings.has("gpu") ? "--gpu leaves one GPU alone, which has no peer" : "one GPU alone has no peer", {}, {}});
}

Result<void> use(const Gpu& gpu) { return ok(cudaSetDevice(gpu.index), fmt::format("using GPU {}", gpu.index)); }

std::optional<Limit> memory_limit(const Gpu& gpu) {
  if (!gpu.part) return std::nullopt;
  return limit_of(gpu.part->memory_bandwidth.si(), "memory bandwidth of the catalogue");
}

std::optional<Limit> matrix_limit(const Gpu& gpu, catalog::Precision precision) {
  if (!gpu.part || !gpu.part->supports(precision)) return std::nullopt;
  return limit_of(gpu.part->rate(precision).si(), fmt::format("dense {} rate of the catalogue", catalog::name_of(precision)));
}

std::optional<Limit> host_limit(const Gpu& gpu) {
  if (gpu.part && gpu.part->c2c_bandwidth.si() > 0) return limit_of(gpu.part->c2c_bandwidth.si(), "link to the CPU of the catalogue");
  if (!gpu.part || gpu.part->pcie_generation == 0) return std::nullopt;
  const std::string id = fmt::format("pcie{}x{}", gpu.part->pcie_generation, gpu.part->pcie_lanes);
  const auto link = catalog::Catalog::builtin().link(id);
  if (!link) return std::nullopt;
  return limit_of((*link)->line.si(),
                  fmt::format("line rate of PCIe {}.0 x{}, which the GPU has", gpu.part->pcie_generation, gpu.part->pcie_lanes));
}

std::optional<Limit> peer_limit(const Gpu& gpu, const Gpu& peer) {
  const auto share = share_of_links(gpu, peer);
  if (share && *share > 0) {
    return limit_of(*share * gpu.part->link_bandwidth.si(), fmt::format("{:.0f} links of the catalogue's rate", *share * gpu.part->links));
  }
  if (!share && gpu.part && gpu.part->links > 0) return std::nullopt;  // it may have links that NVML does not show here
  return host_limit(gpu);
}

measure::Metric metric(std::string name, std::string unit, measure::Better better, const std::optional<Limit>& limit) {
  measure::Metric out{std::move(name), std::move(unit), better, {}};
  if (limit) {
    out.limit = limit->value;
    out.limit_source = limit->source;
  }
  return out;
}

std::vector<int> cpus_in(const std::string& list) {
  std::vector<int> out;
  for (const std::string_view part : split(list, ',')) {
    const std::string_view range = trim(part);
    int first = 0;
    const char* end = range.data() + range.size();
    const auto begin = std::from_chars(range.data(), end, first);
    if (begin.ec != std::errc()) continue;
    int last = first;
    if (begin.ptr != end && *begin.ptr == '-' && std::from_chars(begin.ptr + 1, end, last).ec != std::errc()) continue;
    for (int cpu = first; cpu <= last; ++cpu) out.push_back(cpu);
  }
  return out;
}

Beside::Beside(const Gpu& gpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) != 0) return;
  std::ifstream file("/sys/bus/pci/devices/" + gpu.pci + "/local_cpulist");
  std::string list;
  std::getline(file, list);
  cpu_set_t wanted;
  CPU_ZERO(&wanted);
  for (const int cpu : cpus_in(list)) {
    if (cpu < CPU_SETSIZE && CPU_ISSET(cpu, &set)) CPU_SET(cpu, &wanted);
  }
  if (CPU_COUNT(&wanted) == 0 || ::sched_setaffinity(0, sizeof wanted, &wanted) != 0) return;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) before_.push_back(cpu);
  }
}

Beside::~Beside() {
  if (before_.empty()) return;
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : before_) CPU_SET(cpu, &set);
  ::sched_setaffinity(0, sizeof set, &set);
}

}  // namespace trunkline::backends::cuda
