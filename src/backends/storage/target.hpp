// The folder that is measured: which file system and device lie below it, what is free, what the device's link can carry.
// Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::backends::storage {

struct Target {
  std::string folder;  // absolute
  std::string file_system;
  bool in_memory = false;  // tmpfs and its like: no device at all
  std::string device;      // "nvme0n1", "dm-0", "vda1"; empty: none that the kernel counts (network, overlay)
  std::optional<bool> rotational;
  std::string model;               // of the disk
  Bytes free, total;               // for users without privileges
  std::optional<Bandwidth> limit;  // line rate of the PCIe links on the way to the device
  std::string limit_source;

  // What may be written without filling the disk: a margin of 5 % of the file system and, where that is less than 1 GiB, up to
  // that but at most a fifth of what is free, stays free.
  Bytes usable() const;
};

// Errors: no such folder, not a folder, not writable: of the kind bad_input. `root` as in measure::this_machine.
Result<Target> target_at(const std::string& folder, const std::string& root = {});

// The line rate of the narrowest PCIe link above the block device, read from sysfs. Absent where one of them is not known (virtual
// disks), or where a device consists of several.
struct LinkLimit {
  Bandwidth rate;
  std::string source;
};
std::optional<LinkLimit> link_limit(const std::string& device, const std::string& root = {});

}  // namespace trunkline::backends::storage
