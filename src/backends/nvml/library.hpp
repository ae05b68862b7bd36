// NVML, opened at run time: the few functions that are used, declared here because its header comes with no driver. Internal.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "base/result.hpp"

namespace trunkline::backends::nvml {

// As NVML's interface defines them (API version 2 and later; all of it is kept by newer drivers).
using Device = struct DeviceTag*;
using Status = int;

namespace status {
inline constexpr Status kSuccess = 0, kNotSupported = 3, kNoPermission = 4, kDriverNotLoaded = 9, kVersionMismatch = 18;
}

struct PciInfo {
  char legacy_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char id[32];
};

struct MemoryInfo {
  unsigned long long total, free, used;
};

struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency;
  unsigned type;  // of the value: 0 double, 1 unsigned, 2 unsigned long, 3 unsigned long long, 4 signed long long
  Status status;
  union {
    double real;
    unsigned number;
    unsigned long long large;
  } value;
};

// Functions that every driver of today has; a library that lacks one is not NVML.
struct Required {
  Status (*init)();
  Status (*shutdown)();
  const char* (*error_text)(Status);
  Status (*driver_version)(char*, unsigned);
  Status (*device_count)(unsigned*);
  Status (*device)(unsigned, Device*);
  Status (*name)(Device, char*, unsigned);
  Status (*pci)(Device, PciInfo*);
};

// Functions that a driver may lack: null, and what they would say stays unknown.
struct Optional {
  Status (*uuid)(Device, char*, unsigned);
  Status (*memory)(Device, MemoryInfo*);
  Status (*clock)(Device, unsigned, unsigned*);
  Status (*max_clock)(Device, unsigned, unsigned*);
  Status (*power)(Device, unsigned*);
  Status (*power_limit)(Device, unsigned*);
  Status (*temperature)(Device, unsigned, unsigned*);
  Status (*throttle)(Device, unsigned long long*);
  Status (*throttle_old)(Device, unsigned long long*);
  Status (*pcie_generation)(Device, unsigned*);
  Status (*pcie_width)(Device, unsigned*);
  Status (*max_pcie_generation)(Device, unsigned*);
  Status (*max_pcie_width)(Device, unsigned*);
  Status (*ecc)(Device, unsigned*, unsigned*);
  Status (*fields)(Device, int, FieldValue*);
  Status (*link_state)(Device, unsigned, unsigned*);
  Status (*link_errors)(Device, unsigned, unsigned, unsigned long long*);
  Status (*link_remote_pci)(Device, unsigned, PciInfo*);
  Status (*link_remote_kind)(Device, unsigned, unsigned*);
};

class Library {
 public:
  // The first of `files` that can be opened, initialised. Errors of the kind `missing`: no library, no driver, a driver that does
  // not fit its library.
  static Result<std::unique_ptr<Library>> open(std::span<const std::string> files);
  ~Library();
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  std::string driver_version() const;
  Result<std::vector<Device>> devices() const;
  std::string text(Status status) const { return required.error_text(status); }

  Required required{};
  Optional optional{};

 private:
  Library() = default;
  void* handle_ = nullptr;
  bool initialised_ = false;
};

}  // namespace trunkline::backends::nvml
