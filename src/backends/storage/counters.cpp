#include "backends/storage/counters.hpp"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace trunkline::backends::storage {
namespace {

constexpr std::int64_t kSector = 512;  // of /proc/diskstats, whatever the device has

void read_device(const std::string& device, const std::string& root, Counters& out) {
  std::ifstream file(root + "/proc/diskstats");
  std::string line;
  while (std::getline(file, line)) {
    // major minor name reads merged sectors ms writes merged sectors …
    std::istringstream fields(line);
    std::string major, minor, name;
    std::int64_t reads = 0, merged = 0, read = 0, ms = 0, writes = 0, merged_writes = 0, written = 0;
    if (!(fields >> major >> minor >> name >> reads >> merged >> read >> ms >> writes >> merged_writes >> written) || name != device)
      continue;
    out.device_read = read * kSector;
    out.device_written = written * kSector;
    return;
  }
}

void read_process(const std::string& root, Counters& out) {
  std::ifstream file(root + "/proc/self/io");
  std::string key;
  std::int64_t value = 0;
  while (file >> key >> value) {
    if (key == "read_bytes:") out.process_read = value;
    if (key == "write_bytes:") out.process_written = value;
  }
}

void add(std::optional<std::int64_t>& sum, const std::optional<std::int64_t>& before, const std::optional<std::int64_t>& after) {
  if (before && after) sum = sum.value_or(0) + (*after - *before);
}

}  // namespace

Counters counters_of(const Target& target, const std::string& root) {
  Counters out;
  if (!target.device.empty()) read_device(target.device, root, out);
  read_process(root, out);
  return out;
}

void Tally::end(std::int64_t asked) {
  const Counters after = counters_of(target_);
  asked_ += asked;
  if (direction_ == Direction::read) {
    add(device_, before_.device_read, after.device_read);
    add(process_, before_.process_read, after.process_read);
  } else {
    add(device_, before_.device_written, after.device_written);
    add(process_, before_.process_written, after.process_written);
  }
}

std::optional<double> Tally::device_share() const {
  const auto& counted = direction_ == Direction::write && device_ ? device_ : process_;
  if (!counted || asked_ == 0 || target_.in_memory) return std::nullopt;
  return double(*counted) / double(asked_);
}

std::optional<double> Tally::others_share() const {
  if (!device_ || !process_ || asked_ == 0) return std::nullopt;
  return double(std::max<std::int64_t>(0, *device_ - *process_)) / double(asked_);
}

}  // namespace trunkline::backends::storage
