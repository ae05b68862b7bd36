#include "backends/nvml/gpus.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "backends/nvml/library.hpp"

namespace trunkline::backends::nvml {
namespace {

using measure::GpuReading;
using measure::GpuState;

// Numbers that NVML gives to its kinds of clocks, sensors, fields and counters.
constexpr unsigned kSmClock = 1, kMemoryClock = 2;
constexpr unsigned kGpuSensor = 0;
constexpr unsigned kFieldSpeedOfLink0 = 84, kLinksWithOwnField = 6, kFieldCommonSpeed = 90, kFieldSpeed = 164;  // MB/s, one direction
constexpr unsigned kReplay = 0, kRecovery = 1, kCrcFlit = 2, kCrcData = 3;
constexpr unsigned kMostLinks = 36;

// The value that a function of NVML writes behind its first arguments, or nothing.
template <class T, class Function, class... Given>
std::optional<T> ask(Function function, Device device, Given... given) {
  T value{};
  if (!function || function(device, given..., &value) != status::kSuccess) return std::nullopt;
  return value;
}

std::optional<int> whole(std::optional<unsigned> value) { return value ? std::optional(int(*value)) : std::nullopt; }
std::optional<double> times(std::optional<unsigned> value, double factor) { return value ? std::optional(*value * factor) : std::nullopt; }

std::string pci_text(const PciInfo& pci) { return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device); }

std::string text_of(Status (*function)(Device, char*, unsigned), Device device) {
  char text[128] = {};
  return function && function(device, text, sizeof text) == status::kSuccess ? text : "";
}

GpuReading reading_of(const Library& library, Device device) {
  const Optional& f = library.optional;
  GpuReading out;
  out.sm_clock_hz = times(ask<unsigned>(f.clock, device, kSmClock), 1e6);
  out.memory_clock_hz = times(ask<unsigned>(f.clock, device, kMemoryClock), 1e6);
  out.power_w = times(ask<unsigned>(f.power, device), 1e-3);
  out.temperature_c = times(ask<unsigned>(f.temperature, device, kGpuSensor), 1);
  out.pcie_generation = whole(ask<unsigned>(f.pcie_generation, device));
  out.pcie_width = whole(ask<unsigned>(f.pcie_width, device));
  if (const auto mask = ask<unsigned long long>(f.throttle ? f.throttle : f.throttle_old, device)) out.throttle = throttle_names(*mask);
  return out;
}

std::optional<double> number_in(const FieldValue& field) {
  if (field.status != status::kSuccess) return std::nullopt;
  if (field.type == 0) return field.value.real;
  return field.type == 1 ? double(field.value.number) : double(field.value.large);
}

// In MB/s. Newer drivers answer by link, older ones have a field of their own for the first links and one for all.
std::optional<Bandwidth> line_of(const Library& library, Device device, unsigned link) {
  if (!library.optional.fields) return std::nullopt;
  std::array<FieldValue, 3> fields{};
  fields[0].field = kFieldSpeed;
  fields[0].scope = link;
  fields[1].field = link < kLinksWithOwnField ? kFieldSpeedOfLink0 + link : kFieldCommonSpeed;
  fields[2].field = kFieldCommonSpeed;
  if (library.optional.fields(device, int(fields.size()), fields.data()) != status::kSuccess) return std::nullopt;
  for (const FieldValue& field : fields) {
    if (const auto value = number_in(field); value && *value > 0) return byte_per_s(*value * 1e6);
  }
  return std::nullopt;
}

Link link_of(const Library& library, Device device, unsigned index, bool up) {
  const Optional& f = library.optional;
  Link out;
  out.index = int(index);
  out.up = up;
  if (!up) return out;
  out.line = line_of(library, device, index);
  if (const auto kind = ask<unsigned>(f.link_remote_kind, device, index); kind && *kind <= unsigned(Remote::nvswitch))
    out.remote = Remote(*kind);
  if (const auto pci = ask<PciInfo>(f.link_remote_pci, device, index); pci && out.remote == Remote::gpu) out.remote_pci = pci_text(*pci);
  const auto count = [&](unsigned kind) -> std::optional<std::uint64_t> {
    const auto value = ask<unsigned long long>(f.link_errors, device, index, kind);
    return value ? std::optional<std::uint64_t>(*value) : std::nullopt;
  };
  out.errors = {count(kReplay), count(kRecovery), count(kCrcFlit), count(kCrcData)};
  return out;
}

std::vector<Link> links_of(const Library& library, Device device) {
  std::vector<Link> out;
  for (unsigned index = 0; index < kMostLinks; ++index) {
    const auto state = ask<unsigned>(library.optional.link_state, device, index);
    if (!state) break;
    out.push_back(link_of(library, device, index, *state != 0));
  }
  return out;
}

GpuState state_of(const Library& library, Device device, int index) {
  const Optional& f = library.optional;
  GpuState out;
  out.index = index;
  out.name = text_of(library.required.name, device);
  out.uuid = text_of(f.uuid, device);
  if (const auto pci = ask<PciInfo>(library.required.pci, device)) out.pci = pci_text(*pci);
  if (const auto memory = ask<MemoryInfo>(f.memory, device)) out.memory_bytes = std::int64_t(memory->total);
  out.pcie_generation = whole(ask<unsigned>(f.max_pcie_generation, device));
  out.pcie_width = whole(ask<unsigned>(f.max_pcie_width, device));
  out.sm_clock_hz = times(ask<unsigned>(f.max_clock, device, kSmClock), 1e6);
  out.power_limit_w = times(ask<unsigned>(f.power_limit, device), 1e-3);
  unsigned now = 0, pending = 0;
  if (f.ecc && f.ecc(device, &now, &pending) == status::kSuccess) out.ecc = now != 0;
  out.before = reading_of(library, device);
  return out;
}

}  // namespace

std::string name_of(Remote remote) {
  switch (remote) {
    case Remote::gpu: return "GPU";
    case Remote::npu: return "CPU";
    case Remote::nvswitch: return "NVSwitch";
    case Remote::unknown: break;
  }
  return "not known";
}

std::optional<std::uint64_t> LinkErrors::total() const {
  std::optional<std::uint64_t> out;
  for (const auto& count : {replay, recovery, crc_flit, crc_data}) {
    if (count) out = out.value_or(0) + *count;
  }
  return out;
}

int Gpu::links_up() const {
  return int(std::count_if(links.begin(), links.end(), [](const Link& link) { return link.up; }));
}

Result<const Library*> library() {
  static const auto opened = Library::open(std::array<std::string, 2>{"libnvidia-ml.so.1", "/usr/local/nvidia/lib64/libnvidia-ml.so.1"});
  if (!opened) return fail(opened.error());
  return opened->get();
}

Result<std::vector<Gpu>> gpus(const Library& library) {
  TRUNKLINE_ASSIGN(devices, library.devices());
  std::vector<Gpu> out;
  for (std::size_t i = 0; i < devices.size(); ++i) {
    Gpu gpu{state_of(library, devices[i], int(i)), links_of(library, devices[i])};
    if (!gpu.links.empty()) gpu.state.links_up = gpu.links_up();
    out.push_back(std::move(gpu));
  }
  return out;
}

GpuReading read_now(const std::string& pci) {
  const auto opened = library();
  if (!opened) return {};
  const auto devices = (*opened)->devices();
  if (!devices) return {};
  for (const Device device : *devices) {
    const auto where = ask<PciInfo>((*opened)->required.pci, device);
    if (where && pci_text(*where) == pci) return reading_of(**opened, device);
  }
  return {};
}

std::vector<std::string> throttle_names(unsigned long long mask) {
  constexpr std::pair<unsigned long long, const char*> kReasons[] = {
      {0x2, "clocks set by an administrator"},
      {0x4, "power cap"},
      {0x8, "hardware slowdown"},
      {0x10, "sync boost"},
      {0x20, "thermal (driver)"},
      {0x40, "thermal (chip)"},
      {0x80, "power brake (machine)"},
      {0x100, "display clocks"},
  };
  std::vector<std::string> out;
  for (const auto& [bit, name] : kReasons) {
    if (mask & bit) out.emplace_back(name);
  }
  return out;
}

}  // namespace trunkline::backends::nvml
