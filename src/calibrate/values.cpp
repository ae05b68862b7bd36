#include "calibrate/values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "base/quantity_text.hpp"

namespace trunkline::calibrate {
namespace {

using catalog::Precision;

constexpr const char* kMemoryNames[] = {"elementwise", "math", "norm_forward", "norm_backward", "cross_entropy", "optimizer", "copy"};
static_assert(std::size(kMemoryNames) == kernels::kMemoryKinds);

void add_kernels(std::vector<ValueKind>& out) {
  for (std::size_t p = 0; p < kernels::kPrecisions; ++p) {
    out.push_back({"kernels.matrix." + name_of(Precision(p)), Form::share, Needs::same_gpu, "of the catalogued matrix rate, inner loop",
                   [p](const Applied& a) { return a.efficiencies.matrix[p]; },
                   [p](Applied& a, double v) { a.efficiencies.matrix[p] = v; }});
  }
  for (std::size_t p = 0; p < kernels::kPrecisions; ++p) {
    out.push_back({"kernels.power." + name_of(Precision(p)), Form::power, Needs::same_gpu, "TFLOP/s of an SM at 1 W per SM",
                   [p](const Applied& a) { return a.efficiencies.power[p]; }, [p](Applied& a, double v) { a.efficiencies.power[p] = v; }});
  }
  for (std::size_t k = 0; k < kernels::kMemoryKinds; ++k) {
    out.push_back({std::string("kernels.memory.") + kMemoryNames[k], Form::share, Needs::same_gpu, "of the GPU's memory bandwidth",
                   [k](const Applied& a) { return a.efficiencies.memory[k]; },
                   [k](Applied& a, double v) { a.efficiencies.memory[k] = v; }});
  }
}

void add_node(std::vector<ValueKind>& out) {
  out.push_back({"links.share", Form::share, Needs::same_gpu, "of the line rate of a GPU's links, as collective kernels reach",
                 [](const Applied& a) { return a.platform.node.link_share; },
                 [](Applied& a, double v) { a.platform.node.link_share = v; }});
  out.push_back({"links.copy_share", Form::share, Needs::same_gpu, "of the line rate of a GPU's links, as copies reach",
                 [](const Applied& a) { return a.platform.node.link_copy_share; },
                 [](Applied& a, double v) { a.platform.node.link_copy_share = v; }});
  out.push_back({"pcie.bandwidth", Form::bandwidth, Needs::same_gpu, "one GPU's slot, one direction, as copies reach",
                 [](const Applied& a) { return a.platform.node.pcie_bandwidth.si(); },
                 [](Applied& a, double v) { a.platform.node.pcie_bandwidth = byte_per_s(v); }});
  out.push_back({"pcie.host_link", Form::bandwidth, Needs::same_gpu, "GPU to host where it is not PCIe, one direction, as copies reach",
                 [](const Applied& a) { return a.platform.node.host_link.si(); },
                 [](Applied& a, double v) { a.platform.node.host_link = byte_per_s(v); }});
  out.push_back({"nics.efficiency", Form::share, Needs::same_nic, "of a card's line rate, as large RDMA messages reach through its slot",
                 [](const Applied& a) {  // a slot narrower than the card is what a measurement meets
                   const topology::Nics& nics = a.platform.node.nics;
                   return nics.slot.si() > 0 && nics.rate.si() > 0 ? std::min(nics.efficiency, nics.slot / nics.rate) : nics.efficiency;
                 },
                 [](Applied& a, double v) { a.platform.node.nics.efficiency = v; }});
}

// Volumes and disks have the same three figures.
template <class Place>
void add_store(std::vector<ValueKind>& out, const std::string& name, Needs needs, Place place) {
  const auto add = [&](const char* what, Form form, const char* doc, auto get, auto put) {
    out.push_back({"storage." + name + "." + what, form, needs, doc, [=](const Applied& a) { return get(*place(a.platform)); },
                   [=](Applied& a, double v) { put(*place(a.platform), v); }});
  };
  add("read", Form::bandwidth, "large reads", [](const auto& s) { return s.read.si(); }, [](auto& s, double v) { s.read = byte_per_s(v); });
  add(
      "write", Form::bandwidth, "large writes, fsync included", [](const auto& s) { return s.write.si(); },
      [](auto& s, double v) { s.write = byte_per_s(v); });
  add("iops", Form::per_second, "small random reads a second", [](const auto& s) { return s.iops; }, [](auto& s, double v) { s.iops = v; });
}

void put_ingest(Applied& a, double rate) {
  topology::Ingest& ingest = *a.platform.ingest;
  ingest.line = std::max(ingest.line, byte_per_s(rate));
  ingest.efficiency = rate / ingest.line.si();
}

std::vector<ValueKind> make_kinds() {
  std::vector<ValueKind> out;
  add_kernels(out);
  add_node(out);
  add_store(out, "volume", Needs::volume, [](auto& platform) { return platform.volume ? &*platform.volume : nullptr; });
  add_store(out, "local_disk", Needs::local_disk,
            [](auto& platform) { return platform.node.local_disk ? &*platform.node.local_disk : nullptr; });
  out.push_back({"ingest.rate", Form::bandwidth, Needs::ingest, "what downloads reach",
                 [](const Applied& a) { return a.platform.ingest->line.si() * a.platform.ingest->efficiency; }, put_ingest});
  return out;
}

}  // namespace

std::span<const ValueKind> value_kinds() {
  static const std::vector<ValueKind> kinds = make_kinds();
  return kinds;
}

const ValueKind* kind_of(std::string_view key) {
  const auto kinds = value_kinds();
  const auto found = std::find_if(kinds.begin(), kinds.end(), [&](const ValueKind& k) { return k.key == key; });
  return found == kinds.end() ? nullptr : &*found;
}

bool has_place(const topology::Platform& platform, const ValueKind& kind) {
  const topology::NodeType& node = platform.node;
  switch (kind.needs) {
    case Needs::volume: return platform.volume.has_value();
    case Needs::local_disk: return node.local_disk.has_value();
    case Needs::ingest: return platform.ingest.has_value();
    case Needs::same_nic: return node.nics.count > 0;
    case Needs::same_gpu: break;
  }
  if (kind.key.starts_with("links.")) return node.gpu_links != topology::GpuLinks::none;
  if (kind.key == "pcie.host_link") return node.host_link.si() > 0;
  return true;
}

std::string file_text(const ValueKind& kind, double value) {
  switch (kind.form) {
    case Form::share: return fmt::format("{:.6g}", value);
    case Form::power: return fmt::format("{:.6g}", value * 1e-12);
    case Form::per_second: return fmt::format("{:.6g}", value);
    case Form::bandwidth: return value >= 1e9 ? fmt::format("{:.6g} GB/s", value * 1e-9) : fmt::format("{:.6g} MB/s", value * 1e-6);
  }
  return {};
}

std::string shown_text(const ValueKind& kind, double value) {
  switch (kind.form) {
    case Form::share: return significant(value);
    case Form::power: return significant(value * 1e-12) + " TFLOP/s";
    case Form::per_second: return significant(value) + "/s";
    case Form::bandwidth: return to_text(byte_per_s(value));
  }
  return {};
}

}  // namespace trunkline::calibrate
