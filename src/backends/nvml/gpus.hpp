// The GPUs of this machine as NVML describes them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "measure/gpu_state.hpp"

namespace trunkline::backends::nvml {

class Library;

enum class Remote { gpu, npu, nvswitch, unknown };
std::string name_of(Remote remote);

// Errors of one NVLink since the driver was loaded; absent where the driver does not count them.
struct LinkErrors {
  std::optional<std::uint64_t> replay, recovery, crc_flit, crc_data;
  std::optional<std::uint64_t> total() const;  // absent where none of them is counted
};

struct Link {
  int index = 0;
  bool up = false;
  std::optional<Bandwidth> line;  // one direction, as signalled: what copies reach is less
  Remote remote = Remote::unknown;
  std::string remote_pci;  // of a GPU at the other end; empty = not known
  LinkErrors errors;
};

struct Gpu {
  measure::GpuState state;
  std::vector<Link> links;  // empty: it has none, or the driver does not show them
  int links_up() const;
};

// The library of this machine, opened when first asked for and kept.
Result<const Library*> library();

// Every GPU with its present reading in `state.before`. CUDA may show fewer, in another order: match by `state.pci`.
Result<std::vector<Gpu>> gpus(const Library& library);

// What the GPU at this PCI address does now; everything in it is absent where NVML or the GPU does not answer.
measure::GpuReading read_now(const std::string& pci);

// The names of the bits in NVML's mask of reasons why clocks are held down. Idling is not one of them.
std::vector<std::string> throttle_names(unsigned long long mask);

}  // namespace trunkline::backends::nvml
