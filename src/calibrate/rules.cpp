#include "calibrate/rules.hpp"

#include <algorithm>

namespace trunkline::calibrate {
namespace {

using measure::Metric;

namespace condition = measure::condition;

std::string last_part(const std::string& key) { return key.substr(key.rfind('.') + 1); }

std::string precision_of(const Metric& m) {
  const std::string recorded = text_of(m, "precision");
  return recorded.empty() ? point_of(m).substr(0, point_of(m).find('_')) : recorded;
}

bool products(const std::string& key, const std::string& probe, const Metric& m) {
  return probe == "gpu.gemm" && quantity_of(m) == "rate" && precision_of(m) == last_part(key) && !m.name.ends_with("full_accumulation");
}

bool sustained_products(const std::string& key, const std::string& probe, const Metric& m) {
  return probe == "gpu.gemm.sustained" && quantity_of(m) == "rate" && precision_of(m) == last_part(key);
}

bool memory_kernels(const std::string& key, const std::string& probe, const Metric& m) {
  if (quantity_of(m) != "traffic") return false;
  const std::string kind = last_part(key), point = point_of(m);
  if (kind == "copy") return probe == "gpu.memory_copy" && (point.empty() || point.starts_with("gpu"));
  if (probe != "gpu.memory_bound") return false;
  return (kind == "norm_forward" && point == "rms_norm") || (kind == "math" && point == "gelu") ||
         (kind == "elementwise" && point == "swiglu") || (kind == "optimizer" && point == "adamw");
}

// One GPU at a time.
bool host_copies(const std::string&, const std::string& probe, const Metric& m) {
  const std::string point = point_of(m);
  if (probe == "gpu.host_copy") return quantity_of(m) == "bandwidth";
  if (probe == "gpu.h2d" || probe == "gpu.d2h") return quantity_of(m) == "bandwidth" && point != "all_gpus" && !point.ends_with("_of_all");
  return (probe == "nvbandwidth.host_to_device_memcpy_ce" || probe == "nvbandwidth.device_to_host_memcpy_ce") && m.name == "bandwidth_mean";
}

// The copy engine's; kernels' copies are what collectives do.
bool peer_copies(const std::string&, const std::string& probe, const Metric& m) {
  if (probe == "gpu.peer_copy") return quantity_of(m) == "bandwidth";
  if (probe == "gpu.p2p.read" || probe == "gpu.p2p.write") return quantity_of(m) == "bandwidth" && !m.name.ends_with("_kernel");
  return probe.starts_with("nvbandwidth.device_to_device_memcpy_") && probe.ends_with("_ce") && m.name == "bandwidth_mean";
}

bool collective(const std::string& probe, const Metric& m) { return probe.starts_with("collective.") && quantity_of(m) == "busbw"; }

bool collectives_in_a_node(const std::string&, const std::string& probe, const Metric& m) {
  return collective(probe, m) && number_of(m, condition::kNodes).value_or(1) == 1;
}

bool collectives_across(const std::string&, const std::string& probe, const Metric& m) {
  return collective(probe, m) && number_of(m, condition::kNodes).value_or(1) > 1;
}

bool messages(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "network.bandwidth" && quantity_of(m) == "bandwidth";
}

bool downloads(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "ingest.download" && quantity_of(m) == "bandwidth";
}

bool reads(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "storage.read" && quantity_of(m) == "bandwidth";
}
bool writes(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "storage.write" && quantity_of(m) == "bandwidth";
}
bool small_reads(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "storage.random_read" && m.name == "rate";
}
bool checkpoint_reads(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "storage.checkpoint" && quantity_of(m) == "read_bandwidth";
}
bool checkpoint_writes(const std::string&, const std::string& probe, const Metric& m) {
  return probe == "storage.checkpoint" && quantity_of(m) == "write_bandwidth";
}

}  // namespace

std::vector<Rule> rules_for(const topology::Platform& platform, Store store) {
  std::vector<Rule> out;
  for (const ValueKind& kind : value_kinds()) {
    if (kind.key.starts_with("kernels.matrix.")) out.push_back({kind.key, products});
    if (kind.key.starts_with("kernels.power.")) out.push_back({kind.key, sustained_products});
    if (kind.key.starts_with("kernels.memory.")) out.push_back({kind.key, memory_kernels});
  }
  out.push_back({platform.node.host_link.si() > 0 ? "pcie.host_link" : "pcie.bandwidth", host_copies});
  out.push_back({"links.copy_share", peer_copies});
  out.push_back({"links.share", collectives_in_a_node});
  out.push_back({"nics.efficiency", messages, collectives_across});
  const bool disk = store == Store::local_disk || (store == Store::unsaid && !platform.volume);
  const std::string place = disk ? "storage.local_disk." : "storage.volume.";
  out.push_back({place + "read", reads, checkpoint_reads});
  out.push_back({place + "write", writes, checkpoint_writes});
  out.push_back({place + "iops", small_reads});
  out.push_back({"ingest.rate", downloads});
  std::erase_if(out, [&](const Rule& rule) { return !has_place(platform, *kind_of(rule.key)); });
  return out;
}

}  // namespace trunkline::calibrate
