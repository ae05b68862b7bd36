// The built-in catalogue: parts with limits, each value with its source and how far it can be trusted.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "catalog/gpu.hpp"
#include "io/embedded.hpp"

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

enum class PartKind { gpu, link, nic, switch_, storage, price, node, measurement };

std::string name_of(PartKind kind);

struct Part {
  PartKind kind = PartKind::gpu;
  std::string id, name;
  std::vector<Fact> facts;
  std::string notes;
  std::vector<std::string> aliases;  // other names that people and drivers use; case and separators do not matter

  const Fact* find(std::string_view field) const;  // nullptr where the catalogue does not state it
};

enum class NicKind { infiniband, roce, efa, ethernet, omnipath };

struct Nic {
  std::string id, name;
  NicKind kind = NicKind::infiniband;
  Bandwidth rate;           // line rate of one NIC, one direction
  double efficiency = 0;    // what RDMA traffic reaches of it (large messages); 0 = not catalogued
  int pcie_generation = 0;  // 0 = not catalogued
  int pcie_lanes = 16;
  Seconds latency;  // of one adapter, or what its plugin tells NCCL
  bool latency_known = false;
};

struct Link {
  std::string id;
  Bandwidth line;                 // one direction, after encoding
  double practical_fraction = 0;  // what large transfers reach of `line`; 0 = not catalogued
  std::string name, family, generation;
  std::string unit;  // what `line` is the rate of: "link", "x16", "4x port", …
};

struct Switch {
  std::string id, name, kind;
  int ports = 0;
  Bandwidth port_rate;
  Seconds latency;
  bool latency_known = false;
};

struct Storage {
  std::string id, name, kind;
  Bandwidth read, write;                 // of the scope that the part names; zero = not catalogued
  double iops_read = 0, iops_write = 0;  // zero = not catalogued
  std::string scope, date;
};

struct Price {
  std::string id, provider, instance, gpu_id, kind, date;
  int gpus = 0;
  Money per_gpu_hour;
  Money per_hour;           // of the whole instance
  bool superseded = false;  // its own source calls it old
};

// A value: cheap to hold, each of its files parsed when first asked for, safe to use from several threads.
class Catalog {
 public:
  // Parsed once from the data built into the program.
  static const Catalog& builtin();

  // Everything in `files` ("catalog/gpus.yaml", …), read at once. Errors: as read_part_file.
  static Result<Catalog> read(std::span<const io::EmbeddedFile> files);

  Catalog(Catalog&&) noexcept;
  ~Catalog();

  // By id, or by any name that the catalogue lists. Errors name the nearest known ids.
  Result<const Gpu*> gpu(const std::string& id) const;
  Result<const Nic*> nic(const std::string& id) const;
  Result<const Switch*> find_switch(const std::string& id) const;
  Result<const Link*> link(const std::string& id) const;  // "nvlink4", "pcie5x16"
  Result<const Storage*> storage(const std::string& id) const;
  Result<const Part*> part(const std::string& id) const;  // anything, with all its facts

  const std::vector<Gpu>& gpus() const;
  const std::vector<Price>& prices() const;
  const std::vector<Part>& parts() const;               // of every kind, in the order of PartKind
  const std::vector<Part>& parts(PartKind kind) const;  // nodes are the topology's: always empty here

 private:
  struct Shelves;
  explicit Catalog(std::unique_ptr<Shelves> shelves);
  std::unique_ptr<Shelves> shelves_;
};

}  // namespace trunkline::catalog
