#include "backends/storage/target.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "backends/storage/counters.hpp"

namespace trunkline::backends::storage {
namespace {

namespace fs = std::filesystem;

// A /sys as an NVMe disk behind a bridge has it, and two disks joined by the device mapper.
class Captured : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (fs::temp_directory_path() / ("target_test." + std::to_string(::getpid()))).string();
    const std::string bridge = "/sys/devices/pci0000:40/0000:40:01.1", disk = bridge + "/0000:41:00.0/nvme/nvme0/nvme0n1";
    write(bridge + "/current_link_width", "8");
    write(bridge + "/current_link_speed", "16.0 GT/s PCIe");
    write(bridge + "/0000:41:00.0/current_link_width", "4");
    write(bridge + "/0000:41:00.0/current_link_speed", "16.0 GT/s PCIe");
    fs::create_directories(root_ + disk);
    link("nvme0n1", disk);
    const std::string virtio = "/sys/devices/virtio0/block/vda";
    fs::create_directories(root_ + virtio);
    link("vda", virtio);
    write("/sys/class/block/dm-0/slaves/nvme0n1/dev", "259:0");
    write("/sys/class/block/dm-1/slaves/nvme0n1/dev", "259:0");
    write("/sys/class/block/dm-1/slaves/nvme1n1/dev", "259:1");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text << "\n";
  }
  void link(const std::string& name, const std::string& device) {
    fs::create_directories(root_ + "/sys/class/block");
    fs::create_directory_symlink(root_ + device, root_ + "/sys/class/block/" + name);
  }
  std::string root_;
};

TEST_F(Captured, the_narrowest_link_above_a_disk_is_its_limit) {
  // PCIe 4 x4: 16 GT/s · 4 lanes · 128/130 bits a transfer / 8 = 7.877 GB/s.
  const auto limit = link_limit("nvme0n1", root_);
  ASSERT_TRUE(limit);
  EXPECT_NEAR(limit->rate.si(), 16e9 * 4 * 128 / 130 / 8, 1);
  EXPECT_NE(limit->source.find("16.0 GT/s x4 at 0000:41:00.0"), std::string::npos) << limit->source;
  write("/sys/devices/pci0000:40/0000:40:01.1/current_link_width", "1");
  EXPECT_NEAR(link_limit("nvme0n1", root_)->rate.si(), 16e9 * 128 / 130 / 8, 1);
}

TEST_F(Captured, older_links_lose_a_fifth_to_their_code) {
  write("/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/current_link_speed", "5.0 GT/s PCIe");
  EXPECT_NEAR(link_limit("nvme0n1", root_)->rate.si(), 5e9 * 4 * 0.8 / 8, 1);
}

TEST_F(Captured, what_is_not_known_is_no_limit) {
  EXPECT_FALSE(link_limit("vda", root_));
  EXPECT_FALSE(link_limit("sdz", root_));
  EXPECT_FALSE(link_limit("dm-1", root_));  // two disks: nobody says how data is spread
  EXPECT_TRUE(link_limit("dm-0", root_));
  write("/sys/devices/pci0000:40/0000:40:01.1/0000:41:00.0/current_link_speed", "Unknown");
  EXPECT_FALSE(link_limit("nvme0n1", root_));
}

TEST_F(Captured, counters_are_those_of_the_device_and_of_this_process) {
  write("/proc/diskstats", " 259 0 nvme0n1 10 0 2000 5 20 0 4000 6 0 0 0\n 259 1 nvme0n1p1 1 0 2 3 4 0 6 7 0 0 0");
  write("/proc/self/io", "rchar: 1\nwchar: 2\nread_bytes: 4096\nwrite_bytes: 8192");
  Target target;
  target.device = "nvme0n1";
  const Counters c = counters_of(target, root_);
  EXPECT_EQ(c.device_read, 2000 * 512);
  EXPECT_EQ(c.device_written, 4000 * 512);
  EXPECT_EQ(c.process_read, 4096);
  EXPECT_EQ(c.process_written, 8192);
  target.device = "sda";
  EXPECT_FALSE(counters_of(target, root_).device_read);
}

TEST(Target, a_margin_always_stays_free) {
  Target large;
  large.total = gbytes(1000), large.free = gbytes(100);
  EXPECT_EQ(large.usable(), gbytes(50));  // 5 % of the file system
  Target small;
  small.total = mib(100), small.free = mib(100);
  EXPECT_EQ(small.usable(), mib(80));  // a fifth of what is free
  Target full;
  full.total = gbytes(1000), full.free = gbytes(10);
  EXPECT_EQ(full.usable(), bytes(0));
}

TEST(Target, this_folder_is_described) {
  const auto target = target_at(".");
  ASSERT_TRUE(target) << target.error().text();
  EXPECT_TRUE(target->folder.starts_with("/"));
  EXPECT_FALSE(target->file_system.empty());
  EXPECT_GT(target->total, target->free);
}

TEST(Target, a_folder_that_cannot_be_used_says_why) {
  const auto missing = target_at("/no/such/folder");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::bad_input);
  EXPECT_NE(missing.error().text().find("/no/such/folder"), std::string::npos);
  EXPECT_NE(missing.error().hint.find("mkdir"), std::string::npos);
  const auto file = target_at("/proc/self/stat");
  ASSERT_FALSE(file);
  EXPECT_NE(file.error().message.find("Not a directory"), std::string::npos);
}

}  // namespace
}  // namespace trunkline::backends::storage
