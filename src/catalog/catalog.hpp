// The built-in catalogue: parts with limits, each value with its source and how far it can be trusted.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "catalog/gpu.hpp"

namespace trunkline::catalog {

// P vendor text read · Q vendor document quoted by a named public repository · S secondary · M third-party
// measurement · D derived by arithmetic · U not citable (never used for a verdict).
enum class Confidence { vendor, quoted, secondary, measured, derived, unsourced };

std::string name_of(Confidence confidence);

// One printed fact about a part: what `trunkline catalog NAME` shows.
struct Fact {
  std::string field, value, source;
  Confidence confidence = Confidence::unsourced;
  std::string printed;  // the source's own wording, where `value` had to be taken out of it
  std::string note;

  // Nothing citable stands behind it, or its source prints more than one figure: usable for a prediction that says so.
  bool doubtful() const { return confidence == Confidence::unsourced || !printed.empty(); }
};

enum class PartKind { gpu, link, nic, switch_, storage, price, node };

std::string name_of(PartKind kind);

struct Part {
  PartKind kind = PartKind::gpu;
  std::string id, name;
  std::vector<Fact> facts;
  std::string notes;
  std::vector<std::string> aliases;  // other names that people and drivers use; compared without case

  const Fact* find(std::string_view field) const;  // nullptr where the catalogue does not state it
};

enum class NicKind { infiniband, roce, efa, ethernet, omnipath };

struct Nic {
  std::string id, name;
  NicKind kind = NicKind::infiniband;
  Bandwidth rate;             // line rate of one NIC, one direction
  double efficiency = 0;      // what RDMA traffic reaches of it (large messages)
  int pcie_generation = 0, pcie_lanes = 16;
};

struct Link {
  std::string id;
  Bandwidth line;             // one direction, after encoding
  double practical_fraction = 0;
};

struct Switch {
  std::string id, name, kind;
  int ports = 0;
  Bandwidth port_rate;
  Seconds latency;
  bool latency_known = false;
};

struct Price {
  std::string id, provider, instance, gpu_id, kind, date;
  int gpus = 0;
  Money per_gpu_hour;
};

class Catalog {
 public:
  // Parsed once from the data built into the program.
  static const Catalog& builtin();

  // Errors name the nearest known ids.
  Result<const Gpu*> gpu(const std::string& id) const;
  Result<const Nic*> nic(const std::string& id) const;
  Result<const Switch*> find_switch(const std::string& id) const;
  Result<const Link*> link(const std::string& id) const;  // "nvlink4", "pcie5x16"
  Result<const Part*> part(const std::string& id) const;  // anything, with all its facts

  const std::vector<Gpu>& gpus() const { return gpus_; }
  const std::vector<Part>& parts() const { return parts_; }
  const std::vector<Price>& prices() const { return prices_; }

 private:
  friend class CatalogReader;
  std::vector<Gpu> gpus_;
  std::vector<Nic> nics_;
  std::vector<Link> links_;
  std::vector<Switch> switches_;
  std::vector<Price> prices_;
  std::vector<Part> parts_;
};

}  // namespace trunkline::catalog
