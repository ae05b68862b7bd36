#include "backends/storage/target.hpp"

#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "base/quantity_text.hpp"
#include "base/text.hpp"

namespace trunkline::backends::storage {
namespace {

namespace fs = std::filesystem;

std::string read_line(const std::string& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

bool is_below(const std::string& path, const std::string& folder) {
  return folder == "/" || path == folder || (path.starts_with(folder) && path[folder.size()] == '/');
}

// mountinfo writes spaces and the like as \040.
std::string unescaped(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '\\' && i + 3 < text.size()) {
      out += char((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
      i += 3;
    } else {
      out += text[i];
    }
  }
  return out;
}

// In a changed root the mount that a folder lies on may not be listed; the kernel still knows its kind (statfs(2)).
std::string kind_of_folder(const std::string& path) {
  struct statfs found{};
  if (::statfs(path.c_str(), &found) != 0) return {};
  switch (static_cast<unsigned long>(found.f_type) & 0xffffffffUL) {
    case 0xef53: return "ext4";
    case 0x58465342: return "xfs";
    case 0x9123683e: return "btrfs";
    case 0x01021994: return "tmpfs";
    case 0x858458f6: return "ramfs";
    case 0x794c7630: return "overlay";
    case 0x6969: return "nfs";
    case 0x2fc12fc1: return "zfs";
    case 0x0bd00bd0: return "lustre";
    case 0x47504653: return "gpfs";
    case 0x65735546: return "fuse";
    default: return fmt::format("unknown (0x{:x})", static_cast<unsigned long>(found.f_type));
  }
}

// The type of the file system that holds `path`: the mount with the longest matching folder, the last of equals.
std::string file_system_of(const std::string& path, const std::string& root) {
  std::ifstream file(root + "/proc/self/mountinfo");
  std::string line, best;
  std::size_t longest = 0;
  while (std::getline(file, line)) {
    // id parent major:minor root mount-point options [fields…] - type source options
    const auto dash = line.find(" - ");
    if (dash == std::string::npos) continue;
    const auto fields = split(std::string_view(line).substr(0, dash), ' ');
    if (fields.size() < 5) continue;
    const std::string mount = unescaped(fields[4]);
    if (!is_below(path, mount) || mount.size() < longest) continue;
    longest = mount.size();
    best = std::string(split(std::string_view(line).substr(dash + 3), ' ')[0]);
  }
  return best.empty() ? kind_of_folder(path) : best;
}

// Several slaves: how data is spread over them is not known here.
std::string underlying(std::string device, const std::string& root) {
  for (int level = 0; level < 8; ++level) {
    std::error_code problem;
    std::vector<std::string> slaves;
    for (fs::directory_iterator entry(root + "/sys/class/block/" + device + "/slaves", problem), end; !problem && entry != end;
         entry.increment(problem))
      slaves.push_back(entry->path().filename().string());
    if (slaves.empty()) return device;
    if (slaves.size() > 1) return {};
    device = slaves[0];
  }
  return {};
}

// "16.0 GT/s PCIe" → bits a second that a lane carries after its encoding (8b/10b up to PCIe 2, 128b/130b from 3, 242/256 from 6).
std::optional<double> lane_bits(const std::string& speed) {
  std::istringstream text(speed);
  double rate = 0;
  std::string unit;
  if (!(text >> rate >> unit) || unit != "GT/s" || rate <= 0) return std::nullopt;
  const double encoding = rate <= 5.01 ? 0.8 : rate <= 32.01 ? 128.0 / 130 : 242.0 / 256;
  return rate * 1e9 * encoding;
}

Error folder_error(const std::string& folder, int error) {
  const bool missing = error == ENOENT;
  return {
      ErrorKind::bad_input,
      fmt::format("cannot measure in this folder: {}", std::strerror(error)),
      {folder, 0},
      missing ? fmt::format("mkdir -p {}, or give another folder with --path", folder) : "give a folder that may be written with --path"};
}

}  // namespace

Bytes Target::usable() const {
  const Bytes share = scaled(total, 0.05);
  const Bytes margin = std::max(share, std::min(gib(1), scaled(free, 0.2)));
  return std::max(bytes(0), free - margin);
}

std::optional<LinkLimit> link_limit(const std::string& device, const std::string& root) {
  const std::string disk = underlying(device, root);
  if (disk.empty()) return std::nullopt;
  std::error_code problem;
  const fs::path top = fs::canonical(root + "/sys/class/block/" + disk, problem);
  if (problem) return std::nullopt;
  std::optional<LinkLimit> least;
  for (fs::path at = top; at.has_relative_path(); at = at.parent_path()) {
    const std::string width = read_line((at / "current_link_width").string()), speed = read_line((at / "current_link_speed").string());
    if (width.empty()) continue;
    const auto lanes = parse_integer(width);
    const auto bits = lane_bits(speed);
    if (!lanes || *lanes <= 0 || !bits) return std::nullopt;  // "Unknown": a virtual link says nothing
    const Bandwidth rate = byte_per_s(*bits * double(*lanes) / 8);
    if (!least || rate < least->rate)
      least = {rate, fmt::format("PCIe link of {}: {} x{} at {}", disk, speed.substr(0, speed.find(" GT")) + " GT/s", *lanes,
                                 at.filename().string())};
  }
  return least;
}

Result<Target> target_at(const std::string& folder, const std::string& root) {
  std::error_code problem;
  const fs::path path = fs::canonical(folder, problem);
  if (problem) return fail(folder_error(folder, problem.value()));
  struct stat info{};
  if (::stat(path.c_str(), &info) != 0) return fail(folder_error(folder, errno));
  if (!S_ISDIR(info.st_mode)) return fail(folder_error(folder, ENOTDIR));
  if (::access(path.c_str(), R_OK | W_OK | X_OK) != 0) return fail(folder_error(folder, errno));
  Target out;
  out.folder = path.string();
  out.file_system = file_system_of(out.folder, root);
  out.in_memory = out.file_system == "tmpfs" || out.file_system == "ramfs" || out.file_system == "rootfs";
  struct statvfs space{};
  if (::statvfs(path.c_str(), &space) != 0) return fail(folder_error(folder, errno));
  out.free = Bytes(space.f_bavail) * std::int64_t(space.f_frsize);
  out.total = Bytes(space.f_blocks) * std::int64_t(space.f_frsize);
  const std::string number = fmt::format("{}/sys/dev/block/{}:{}", root, major(info.st_dev), minor(info.st_dev));
  const fs::path device = fs::canonical(number, problem);
  if (problem) return out;  // no block device: network, overlay, memory
  out.device = device.filename().string();
  // A partition's queue is that of the disk above it.
  const fs::path disk = fs::exists(device / "queue") ? device : device.parent_path();
  if (const std::string flag = read_line((disk / "queue/rotational").string()); !flag.empty()) out.rotational = flag == "1";
  out.model = read_line((disk / "device/model").string());
  if (const auto limit = link_limit(out.device, root)) {
    out.limit = limit->rate;
    out.limit_source = limit->source;
  }
  return out;
}

}  // namespace trunkline::backends::storage
