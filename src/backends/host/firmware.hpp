// What the firmware's tables (SMBIOS) say about the memory that is plugged in. Internal to this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.hpp"

namespace trunkline::backends::host {

// One memory device that is plugged in (SMBIOS structure type 17).
struct MemoryDevice {
  std::string locator, bank;   // "DIMM_A1", "P0 CHANNEL A": each maker has its own way
  int data_bits = 0;           // without those for error correction
  double transfers_per_s = 0;  // as configured, not what the module could do
};

// The devices of a raw table, as /sys/firmware/dmi/tables/DMI holds it; those that state no size, width or rate are left out.
// Ends where the table is cut off.
std::vector<MemoryDevice> memory_devices(std::string_view table);

struct MemoryLimit {
  Bandwidth rate;
  std::string source;
};

// The rate of all populated channels together. Modules of one channel share it, so it must be known which module sits where: absent
// where a locator does not name its channel ("P0 CHANNEL A", "CPU1_DIMM_A2", "P0_Node0_Channel3_Dimm0"), or where modules differ in rate or
// width.
std::optional<MemoryLimit> memory_limit(const std::vector<MemoryDevice>& devices);

// Of this machine. Absent without the right to read the tables (root), and in virtual machines, whose tables are made up.
std::optional<MemoryLimit> memory_limit_here(const std::string& root = {});

}  // namespace trunkline::backends::host
