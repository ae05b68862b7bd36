#include "backends/host/firmware.hpp"

#include <gtest/gtest.h>

namespace trunkline::backends::host {
namespace {

// A structure of type 17 as SMBIOS 3.2 lays it out; only the fields that are read are set.
std::string module(const std::string& locator, const std::string& bank, unsigned megatransfers, unsigned size = 0x7FFF,
                   unsigned bits = 64) {
  std::string area(0x54, '\0');
  area[0] = 17;
  area[1] = char(area.size());
  const auto put = [&](std::size_t at, unsigned value) {
    area[at] = char(value & 0xFF);
    area[at + 1] = char(value >> 8);
  };
  put(0x0A, bits);
  put(0x0C, size);
  put(0x20, megatransfers);
  // Strings are numbered from 1; an empty one has no place in the list and the number 0.
  char strings = 0;
  std::string texts;
  for (const auto& [at, text] : {std::pair(0x10, locator), std::pair(0x11, bank)}) {
    if (text.empty()) continue;
    area[std::size_t(at)] = ++strings;
    texts += text + '\0';
  }
  return area + texts + std::string(strings > 0 ? 1 : 2, '\0');
}

// A structure without strings, to be passed over.
std::string other() {
  std::string area(8, '\0');
  area[0] = 1;
  area[1] = 8;
  return area + std::string(2, '\0');
}

TEST(Firmware, empty_slots_and_other_structures_are_passed_over) {
  const auto devices = memory_devices(other() + module("DIMM_A1", "BANK 0", 3200) + module("DIMM_A2", "BANK 1", 3200, 0) + other());
  ASSERT_EQ(devices.size(), 1u);
  EXPECT_EQ(devices[0].locator, "DIMM_A1");
  EXPECT_EQ(devices[0].bank, "BANK 0");
  EXPECT_EQ(devices[0].transfers_per_s, 3200e6);
}

TEST(Firmware, every_way_to_cut_a_table_off_is_survived) {
  const std::string table = other() + module("DIMM_A1", "BANK 0", 3200) + module("DIMM_B1", "BANK 1", 3200);
  for (std::size_t length = 0; length <= table.size(); ++length)
    EXPECT_LE(memory_devices(std::string_view(table).substr(0, length)).size(), 2u);
  std::string wild = table;
  wild[1] = 0;  // a structure shorter than its own head
  EXPECT_TRUE(memory_devices(wild).empty());
}

double rate_of(const std::string& table) {
  const auto limit = memory_limit(memory_devices(table));
  return limit ? limit->rate.si() : 0;
}

TEST(Firmware, channels_are_counted_once_however_many_modules_share_them) {
  // Eight channels of DDR4-3200: 8 · 3200e6 · 8 bytes = 204.8 GB/s, with one module each or two.
  std::string one, two;
  for (char channel = 'A'; channel <= 'H'; ++channel) {
    one += module("DIMM 0", std::string("P0 CHANNEL ") + channel, 3200);
    two += module(std::string("P1-DIMM") + channel + "1", "", 3200) + module(std::string("P1-DIMM") + channel + "2", "", 3200);
  }
  EXPECT_NEAR(rate_of(one), 204.8e9, 1);
  ASSERT_NEAR(rate_of(two), 204.8e9, 1);
  EXPECT_NE(memory_limit(memory_devices(two))->source.find("8 memory channels of 64 bit at 3200 MT/s"), std::string::npos);
}

TEST(Firmware, the_same_channel_of_two_sockets_is_two_channels) {
  EXPECT_NEAR(rate_of(module("", "P0_Node0_Channel0_Dimm0", 4800) + module("", "P0_Node0_Channel0_Dimm1", 4800) +
                      module("", "P1_Node1_Channel0_Dimm0", 4800) + module("", "P1_Node1_Channel0_Dimm1", 4800)),
              2 * 4800e6 * 8, 1);
}

TEST(Firmware, what_does_not_name_its_channel_gives_no_limit) {
  EXPECT_FALSE(memory_limit({}));
  EXPECT_FALSE(memory_limit(memory_devices(module("A1", "Not Specified", 3200))));  // the letter is a socket
  EXPECT_FALSE(memory_limit(memory_devices(module("PROC 1 DIMM 1", "", 3200))));    // counts slots
  EXPECT_FALSE(memory_limit(memory_devices(module("DIMM_A8", "", 3200))));          // no channel has eight slots
  EXPECT_FALSE(memory_limit(memory_devices(module("DIMM_A1", "", 3200) + module("PROC 1 DIMM 2", "", 3200))));
  EXPECT_FALSE(memory_limit(memory_devices(module("DIMM_A1", "", 3200) + module("DIMM_B1", "", 2933))));  // one of them is slower
}

}  // namespace
}  // namespace trunkline::backends::host
