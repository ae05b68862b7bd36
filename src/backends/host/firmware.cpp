#include "backends/host/firmware.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <set>
#include <sstream>

#include "base/text.hpp"

namespace trunkline::backends::host {
namespace {

constexpr std::size_t kHeader = 4;
constexpr int kMemoryDevice = 17, kEnd = 127;
constexpr int kMostSlots = 3;  // modules of one channel

// One structure of the table: its formatted area, then its strings.
struct Structure {
  std::string_view area;
  std::vector<std::string_view> strings;

  int type() const { return static_cast<unsigned char>(area[0]); }
  // A little-endian number; 0 where this version of the table ends before it.
  unsigned long number(std::size_t at, std::size_t size) const {
    if (at + size > area.size()) return 0;
    unsigned long out = 0;
    for (std::size_t i = size; i-- > 0;) out = out << 8 | static_cast<unsigned char>(area[at + i]);
    return out;
  }
  std::string text(std::size_t at) const {
    const std::size_t index = number(at, 1);
    return index == 0 || index > strings.size() ? std::string() : std::string(trim(strings[index - 1]));
  }
};

// Takes the first structure off `table`; absent at the end and where it is cut off.
std::optional<Structure> take_structure(std::string_view& table) {
  if (table.size() < kHeader) return std::nullopt;
  const std::size_t length = static_cast<unsigned char>(table[1]);
  if (length < kHeader || length > table.size()) return std::nullopt;
  Structure out{table.substr(0, length), {}};
  std::string_view rest = table.substr(length);
  while (!rest.empty() && rest[0] != '\0') {
    const auto end = rest.find('\0');
    if (end == std::string_view::npos) return std::nullopt;
    out.strings.push_back(rest.substr(0, end));
    rest.remove_prefix(end + 1);
  }
  const std::size_t closing = out.strings.empty() ? 2 : 1;  // two NULs where there are no strings
  if (rest.size() < closing) return std::nullopt;
  table = rest.substr(closing);
  return out;
}

std::string upper(std::string text) {
  for (char& c : text) c = char(std::toupper(static_cast<unsigned char>(c)));
  return text;
}

// "P0 CHANNEL A", "P0_Node0_Channel3_Dimm0" → everything up to the channel's own name.
std::string spelt_channel(const std::string& text) {
  constexpr std::string_view kWord = "CHANNEL";
  const auto word = text.find(kWord);
  if (word == std::string::npos) return {};
  auto at = word + kWord.size();
  while (at < text.size() && (text[at] == ' ' || text[at] == '_' || text[at] == '-')) ++at;
  const auto begin = at;
  while (at < text.size() && std::isalnum(static_cast<unsigned char>(text[at]))) ++at;
  return at > begin ? text.substr(0, at) : std::string();
}

// "CPU1_DIMM_A2", "P1-DIMMA1": a letter for the channel and a small number for the slot. Where the number is large, the letter means
// something else (a socket), and nothing is said.
std::string lettered_channel(const std::string& text) {
  if (text.size() < 2 || text.find("DIMM") == std::string::npos) return {};
  const char letter = text[text.size() - 2], slot = text.back();
  if (letter < 'A' || letter > 'P' || slot < '0' || slot > '0' + kMostSlots) return {};
  const char before = text.size() > 2 ? text[text.size() - 3] : ' ';
  const bool own = before == '_' || before == '-' || before == ' ' || text.substr(0, text.size() - 2).ends_with("DIMM");
  return own ? text.substr(0, text.size() - 1) : std::string();
}

std::string channel_of(const MemoryDevice& device) {
  for (const std::string& text : {upper(device.bank), upper(device.locator)}) {
    if (auto channel = spelt_channel(text); !channel.empty()) return channel;
  }
  return lettered_channel(upper(device.locator));
}

}  // namespace

std::vector<MemoryDevice> memory_devices(std::string_view table) {
  std::vector<MemoryDevice> out;
  while (const auto structure = take_structure(table)) {
    if (structure->type() == kEnd) break;
    if (structure->type() != kMemoryDevice) continue;
    const unsigned long size = structure->number(0x0C, 2), width = structure->number(0x0A, 2);
    unsigned long rate = structure->number(0x20, 2);
    if (rate == 0xFFFF) rate = structure->number(0x58, 4);
    if (size == 0 || size == 0xFFFF || width == 0 || width == 0xFFFF || rate == 0) continue;
    out.push_back({structure->text(0x10), structure->text(0x11), int(width), double(rate) * 1e6});
  }
  return out;
}

std::optional<MemoryLimit> memory_limit(const std::vector<MemoryDevice>& devices) {
  if (devices.empty()) return std::nullopt;
  std::multiset<std::string> channels;
  for (const MemoryDevice& device : devices) {
    const std::string channel = channel_of(device);
    if (channel.empty() || device.data_bits != devices[0].data_bits || device.transfers_per_s != devices[0].transfers_per_s)
      return std::nullopt;
    channels.insert(channel);
  }
  const std::set<std::string> distinct(channels.begin(), channels.end());
  for (const std::string& channel : distinct) {
    if (channels.count(channel) > std::size_t(kMostSlots)) return std::nullopt;
  }
  const double each = devices[0].transfers_per_s * devices[0].data_bits / 8;
  return MemoryLimit{byte_per_s(each * double(distinct.size())),
                     fmt::format("{} memory channels of {} bit at {:.0f} MT/s, as the firmware states them", distinct.size(),
                                 devices[0].data_bits, devices[0].transfers_per_s / 1e6)};
}

std::optional<MemoryLimit> memory_limit_here(const std::string& root) {
  std::ifstream cpu(root + "/proc/cpuinfo");
  for (std::string line; std::getline(cpu, line);) {
    if (line.starts_with("flags") && (line + " ").find(" hypervisor ") != std::string::npos) return std::nullopt;
  }
  std::ifstream file(root + "/sys/firmware/dmi/tables/DMI", std::ios::binary);
  std::stringstream table;
  table << file.rdbuf();
  return memory_limit(memory_devices(table.str()));
}

}  // namespace trunkline::backends::host
