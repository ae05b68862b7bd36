#include "calibrate/expected.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "base/quantity_text.hpp"

namespace trunkline::calibrate {
namespace {

using measure::Metric;

namespace condition = measure::condition;

constexpr double kLargeMessage = 64 << 10;  // bytes: below, the rate of messages decides and no bandwidth is promised

Expectation of(Bandwidth rate, std::string source) { return {rate.si(), std::move(source)}; }

bool over_sockets(const Metric& metric) { return text_of(metric, condition::kEngine).starts_with("sockets"); }

Result<Expectation> expected_network(const Machine& machine, const std::string&, const Metric& metric) {
  const topology::Nics& nics = machine.platform.node.nics;
  if (nics.count == 0) return no_promise("the platform has no network between nodes");
  if (quantity_of(metric) != "bandwidth") return no_promise("no platform file states this quantity");
  if (over_sockets(metric) && nics.kind != catalog::NicKind::ethernet)
    return no_promise("TCP says nothing about what RDMA reaches on these cards");
  if (number_of(metric, condition::kSize).value_or(kLargeMessage) < kLargeMessage) return no_promise("small messages: their rate decides");
  const Bandwidth card = nics.rate * nics.efficiency;
  if (nics.slot.si() > 0 && nics.slot < card)
    return of(nics.slot, fmt::format("the slot's {}, below a card's {}", to_text(nics.slot), to_text(nics.rate)));
  return of(card, fmt::format("{} of a card's {}", significant(nics.efficiency), to_text(nics.rate)));
}

Result<Expectation> expected_download(const Machine& machine, const std::string&, const Metric& metric) {
  const auto& ingest = machine.platform.ingest;
  if (!ingest || quantity_of(metric) != "bandwidth") return no_promise("the platform file does not say how data gets in");
  return of(ingest->line * ingest->efficiency, fmt::format("{} of the line's {}", significant(ingest->efficiency), to_text(ingest->line)));
}

struct Stated {
  Bandwidth read, write;
  double iops = 0;
  std::string name;
};

Result<Stated> store_of(const Machine& machine) {
  const auto& volume = machine.platform.volume;
  const auto& disk = machine.platform.node.local_disk;
  Store which = machine.store;
  if (which == Store::unsaid && volume && disk)
    return no_promise("the platform has a volume and local disks: say by --storage which of them was measured");
  if (which == Store::unsaid) which = volume ? Store::volume : Store::local_disk;
  if (which == Store::volume && volume) return Stated{volume->read, volume->write, volume->iops, "the volume"};
  if (which == Store::local_disk && disk) return Stated{disk->read, disk->write, disk->iops, "the local disks"};
  return no_promise("the platform file does not state this store");
}

Result<Expectation> expected_storage(const Machine& machine, const std::string& probe, const Metric& metric) {
  TRUNKLINE_ASSIGN(store, store_of(machine));
  const std::string quantity = quantity_of(metric);
  const std::string cache = text_of(metric, condition::kCache);
  const bool writes = probe == "storage.write" || quantity == "write_bandwidth";
  if (cache == "cached") return no_promise("served from memory, not from the disk");
  if (writes && text_of(metric, condition::kFsync) == "no") return no_promise("without fsync, writes end in memory");
  if (probe == "storage.random_read") {
    if (quantity != "rate") return no_promise("no platform file states this quantity");
    if (store.iops <= 0) return no_promise("the platform file states no operations a second");
    return Expectation{store.iops, "operations a second of " + store.name};
  }
  const bool bandwidth = quantity == "bandwidth" || quantity == "write_bandwidth" || quantity == "read_bandwidth";
  if (!bandwidth) return no_promise("no platform file states this quantity");
  const Bandwidth rate = writes ? store.write : store.read;
  if (rate.si() <= 0) return no_promise("the platform file states no rate for it");
  return of(rate, (writes ? "write rate of " : "read rate of ") + store.name);
}

// Host to GPU, one GPU at a time or all at once.
Result<Expectation> expected_host_copy(const Machine& machine, const std::string&, const Metric& metric) {
  const topology::NodeType& node = machine.platform.node;
  if (!quantity_of(metric).starts_with("bandwidth")) return no_promise("no platform file states this quantity");
  const std::string point = point_of(metric);
  if (point == "all_gpus") return of(machine.limits.host_to_gpu * node.gpus, "all GPUs at once, over the node's switches and sockets");
  if (point.ends_with("_of_all")) return of(machine.limits.host_to_gpu, "one of all GPUs at once, over the node's switches and sockets");
  if (node.host_link.si() > 0) return of(node.host_link, "the link to the CPU, as copies reach");
  return of(node.pcie_bandwidth, "a GPU's PCIe slot, as copies reach");
}

Result<Expectation> expected_peer_copy(const Machine& machine, const std::string&, const Metric& metric) {
  if (quantity_of(metric) != "bandwidth" && quantity_of(metric) != "bandwidth_min" && quantity_of(metric) != "bandwidth_mean")
    return no_promise("no platform file states this quantity");
  if (machine.platform.node.gpus < 2) return no_promise("one GPU alone has no peer");
  if (text_of(metric, "peer_access") == "no") return no_promise("this pair goes through host memory");
  return of(machine.limits.gpu_to_gpu, "a copy between the slowest pair of GPUs");
}

Result<Expectation> expected_nvbandwidth(const Machine& machine, const std::string& probe, const Metric& metric) {
  const std::string test = probe.substr(probe.find('.') + 1);
  if (quantity_of(metric) != "bandwidth_min" && quantity_of(metric) != "bandwidth_mean")
    return no_promise("no platform file states this quantity");
  if (test.starts_with("host_to_device_memcpy") || test.starts_with("device_to_host_memcpy"))
    return expected_host_copy(machine, probe, metric);
  if (test.starts_with("device_to_device_memcpy")) return expected_peer_copy(machine, probe, metric);
  return no_promise("several copies at once: no model of this test");
}

Result<Expectation> expected_host_memory(const Machine&, const std::string&, const Metric&) {
  return no_promise("a platform file states what host memory can do at most, not what loops reach");
}

struct Promise {
  const char* probe;  // a name, or with a dot at its end the beginning of names
  Result<Expectation> (*expected)(const Machine&, const std::string&, const Metric&);
};
constexpr Promise kPromises[] = {
    {"collective.", expected_collective},
    {"network.bandwidth", expected_network},
    {"ingest.download", expected_download},
    {"storage.write", expected_storage},
    {"storage.read", expected_storage},
    {"storage.random_read", expected_storage},
    {"storage.checkpoint", expected_storage},
    {"host.", expected_host_memory},
    {"gpu.gemm", expected_gemm},
    {"gpu.gemm.sustained", expected_gemm},
    {"gpu.memory_copy", expected_memory_bound},
    {"gpu.memory_bound", expected_memory_bound},
    {"gpu.host_copy", expected_host_copy},
    {"gpu.h2d", expected_host_copy},
    {"gpu.d2h", expected_host_copy},
    {"gpu.peer_copy", expected_peer_copy},
    {"gpu.p2p.read", expected_peer_copy},
    {"gpu.p2p.write", expected_peer_copy},
    {"nvbandwidth.", expected_nvbandwidth},
};

}  // namespace

Machine::Machine(topology::Platform of, Store on) : Machine(of, kernels::Efficiencies::default_for(of.node.gpu), on) {}

Machine::Machine(topology::Platform of, const kernels::Efficiencies& efficiencies, Store on)
    : platform(std::move(of)),
      kernels(platform.node.gpu, efficiencies),
      rates(collectives::rates_of(platform.node)),
      limits(topology::limits_of(platform.node)),
      store(on) {}

Result<Expectation> expected(const Machine& machine, const std::string& probe, const Metric& metric) {
  for (const Promise& p : kPromises) {
    const std::string_view name = p.probe;
    if (name.ends_with('.') ? probe.starts_with(name) : probe == name) return p.expected(machine, probe, metric);
  }
  return no_promise("nothing in a platform file says what it should give");
}

tl::unexpected<Error> no_promise(std::string why) { return fail({ErrorKind::missing, std::move(why), {}, {}}); }

std::optional<double> number_of(const Metric& metric, std::string_view name) {
  const measure::Fact* fact = measure::find(metric.conditions, name);
  if (!fact) return std::nullopt;
  if (const auto* count = std::get_if<std::int64_t>(fact)) return double(*count);
  if (const auto* number = std::get_if<double>(fact)) return *number;
  return std::nullopt;
}

std::string text_of(const Metric& metric, std::string_view name) {
  const measure::Fact* fact = measure::find(metric.conditions, name);
  return fact ? measure::to_text(*fact) : "";
}

std::string quantity_of(const Metric& metric) { return metric.name.substr(0, metric.name.find('@')); }

std::string point_of(const Metric& metric) {
  const auto at = metric.name.find('@');
  return at == std::string::npos ? "" : metric.name.substr(at + 1);
}

}  // namespace trunkline::calibrate
