// Bytes that really went to and came from the device. Internal to this folder.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "backends/storage/engine.hpp"
#include "backends/storage/target.hpp"

namespace trunkline::backends::storage {

// Since boot, or since this process began. Absent = not counted here.
struct Counters {
  std::optional<std::int64_t> device_read, device_written;    // of the block device, by everybody
  std::optional<std::int64_t> process_read, process_written;  // of this process, at the block layer (writes: when pages become dirty)
};
Counters counters_of(const Target& target, const std::string& root = {});

// Sets what a device moved against what was asked for, over the repetitions of one point.
class Tally {
 public:
  Tally(const Target& target, Direction direction) : target_(target), direction_(direction) {}

  void begin() { before_ = counters_of(target_); }
  void end(std::int64_t asked);

  // Bytes at the device by this process / bytes asked for. Reads are counted for each process; writes are counted for the device
  // as a whole where there is one. Absent where neither is counted.
  std::optional<double> device_share() const;
  // Bytes that others moved in the same direction on the same device / bytes asked for.
  std::optional<double> others_share() const;

 private:
  const Target& target_;
  Direction direction_;
  Counters before_;
  std::int64_t asked_ = 0;
  std::optional<std::int64_t> device_, process_;
};

}  // namespace trunkline::backends::storage
