#include "measure/environment.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace trunkline::measure {
namespace {

// A small /proc and /sys: two sockets of two cores, two memory nodes, a container limited to 1.5 CPUs.
class Captured : public testing::Test {
 protected:
  void SetUp() override {
    root_ = (std::filesystem::temp_directory_path() / ("environment_test." + std::to_string(::getpid()))).string();
    write("/proc/stat", "cpu  1000 0 500 8000 100 50 50 300 0 0\ncpu0 1 2\n");
    write("/proc/loadavg", "3.50 2.00 1.00 2/345 6789\n");
    write("/proc/cpuinfo",
          "processor\t: 0\nmodel name\t: Example CPU 9000\ncpu MHz\t\t: 2000.000\nflags\t\t: fpu hypervisor sse\n\n"
          "processor\t: 1\nmodel name\t: Example CPU 9000\ncpu MHz\t\t: 3000.000\nflags\t\t: fpu hypervisor sse\n");
    write("/proc/meminfo", "MemTotal:        2097152 kB\nMemFree: 1 kB\n");
    write("/proc/self/cgroup", "0::/jobs/one\n");
    write("/sys/fs/cgroup/jobs/one/cpu.max", "max 100000\n");
    write("/sys/fs/cgroup/jobs/cpu.max", "150000 100000\n");
    for (int cpu = 0; cpu < 4; ++cpu) {
      const std::string one = "/sys/devices/system/cpu/cpu" + std::to_string(cpu);
      write(one + "/topology/physical_package_id", std::to_string(cpu / 2));
      write(one + "/topology/core_id", std::to_string(cpu % 2));
      write(one + "/cpufreq/scaling_governor", cpu == 3 ? "powersave" : "performance");
    }
    write("/sys/devices/system/cpu/cpufreq/boost", "1");
    write("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "3500000");
    for (int node = 0; node < 2; ++node) {
      const std::string one = "/sys/devices/system/node/node" + std::to_string(node);
      write(one + "/cpulist", node == 0 ? "0-1" : "2-3");
      write(one + "/meminfo", "Node " + std::to_string(node) + " MemTotal:     1048576 kB\n");
    }
    write("/etc/os-release", "NAME=\"Example\"\nPRETTY_NAME=\"Example OS 12\"\n");
    write("/sys/module/nvidia/version", "550.54.15\n");
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(root_ + path).parent_path());
    std::ofstream(root_ + path) << text;
  }

  std::string root_;
};

TEST_F(Captured, is_described_as_it_is) {
  const Context c = this_machine(root_)->describe();
  EXPECT_EQ(c.cpu, "Example CPU 9000");
  EXPECT_EQ(c.cpus, 4);
  EXPECT_EQ(c.cores, 4);
  EXPECT_EQ(c.sockets, 2);
  EXPECT_EQ(c.virtualization, "virtual machine");
  EXPECT_EQ(c.cpu_quota, 1.5);  // the parent's limit counts
  EXPECT_EQ(c.memory_bytes, std::int64_t(2) << 30);
  EXPECT_EQ(c.numa, (std::vector<NumaNode>{{0, "0-1", 1 << 30}, {1, "2-3", 1 << 30}}));
  EXPECT_EQ(c.governor, "performance, powersave");
  EXPECT_EQ(c.clock_max_hz, 3.5e9);
  EXPECT_EQ(c.clock_before_hz, 2.5e9);
  EXPECT_EQ(c.load_before, 3.5);
  EXPECT_EQ(c.os, "Example OS 12");
  EXPECT_EQ(c.driver, "550.54.15");
}

TEST_F(Captured, what_cannot_be_read_is_absent) {
  std::filesystem::remove_all(root_);
  std::filesystem::create_directories(root_);
  const auto machine = this_machine(root_);
  const Context c = machine->describe();
  EXPECT_FALSE(c.cpus || c.cores || c.sockets || c.cpu_quota || c.memory_bytes || c.clock_max_hz || c.clock_before_hz || c.load_before);
  EXPECT_TRUE(c.numa.empty() && c.cpu.empty() && c.governor.empty() && c.driver.empty() && c.virtualization.empty());
  EXPECT_FALSE(machine->cpu_use());
}

TEST_F(Captured, steal_time_is_counted_from_the_start_of_the_run) {
  const auto machine = this_machine(root_);
  Context c = machine->describe();
  write("/proc/stat", "cpu  1400 0 500 8400 100 50 50 500 0 0\n");
  machine->complete(c);
  EXPECT_DOUBLE_EQ(*c.steal_share, 0.2);  // 200 of 1000 ticks
}

TEST_F(Captured, the_hash_changes_with_the_wiring_only) {
  const std::string before = this_machine(root_)->describe().topology_hash;
  write("/proc/loadavg", "9.50 2.00 1.00 2/345 6789\n");
  EXPECT_EQ(this_machine(root_)->describe().topology_hash, before);
  write("/sys/bus/pci/devices/0000:17:00.0/vendor", "0x10de");
  EXPECT_NE(this_machine(root_)->describe().topology_hash, before);
}

TEST(Contention, our_own_work_and_the_kernels_is_none) {
  const CpuUse before{};
  const CpuUse after{100, 60, 0, 50, 9, 4.0};
  const Verdict v = contention_between(before, after);
  EXPECT_NEAR(*v.contention.others_share, 0.01, 1e-12);
  EXPECT_FALSE(v.contention.noticed);
  EXPECT_EQ(v.warning, "");
}

TEST(Contention, neighbours_and_the_hypervisor_are_named) {
  const Verdict neighbours = contention_between(CpuUse{}, CpuUse{100, 60, 0, 30, 0, {}});
  EXPECT_TRUE(neighbours.contention.noticed);
  EXPECT_NE(neighbours.warning.find("30 %"), std::string::npos);
  const Verdict host = contention_between(CpuUse{}, CpuUse{100, 60, 5, 60, 0, {}});
  EXPECT_TRUE(host.contention.noticed);
  EXPECT_NE(host.warning.find("hypervisor took 5 %"), std::string::npos);
  EXPECT_FALSE(contention_between({}, CpuUse{}).contention.others_share);  // not known is not zero
}

}  // namespace
}  // namespace trunkline::measure
