#include "measure/environment.hpp"

#include <fmt/format.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <charconv>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "base/quantity_text.hpp"
#include "base/text.hpp"
#include "measure/hash.hpp"

extern char** environ;

namespace trunkline::measure {
namespace {

namespace fs = std::filesystem;

constexpr const char* kEnvironmentPrefixes[] = {"NCCL_", "UCX_", "OMPI_MCA_", "CUDA_", "OMP_", "HWLOC_", "GLOO_", "TORCH_NCCL_"};

std::string read_all(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::string read_line(const std::string& path) { return std::string(trim(read_all(path))); }

std::optional<double> read_number(const std::string& path) {
  const auto number = parse_number(read_line(path));
  return number ? std::optional(*number) : std::nullopt;
}

// The value of a line "key : value" or "key=value".
std::optional<std::string> value_of(std::string_view text, std::string_view key, char separator) {
  for (std::string_view line : split(text, '\n')) {
    const auto at = line.find(separator);
    if (at != std::string_view::npos && trim(line.substr(0, at)) == key) return std::string(trim(line.substr(at + 1)));
  }
  return std::nullopt;
}

// "24668372 kB" → bytes.
std::optional<std::int64_t> kilobytes(const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  std::int64_t value = 0;
  if (std::from_chars(text->data(), text->data() + text->size(), value).ec != std::errc()) return std::nullopt;
  return value * 1024;
}

// Numbered entries "cpu0", "cpu1", … of a folder, in order.
std::vector<int> numbered(const std::string& folder, std::string_view prefix) {
  std::set<int> out;
  std::error_code problem;
  for (fs::directory_iterator entry(folder, problem), end; !problem && entry != end; entry.increment(problem)) {
    const std::string name = entry->path().filename().string();
    int number = 0;
    if (!name.starts_with(prefix)) continue;
    const auto done = std::from_chars(name.data() + prefix.size(), name.data() + name.size(), number);
    if (done.ec == std::errc() && done.ptr == name.data() + name.size()) out.insert(number);
  }
  return {out.begin(), out.end()};
}

std::string now_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1, parts.tm_mday, parts.tm_hour,
                     parts.tm_min, parts.tm_sec);
}

class ThisMachine : public Environment {
 public:
  explicit ThisMachine(std::string root) : root_(std::move(root)) {}

  const Clock& clock() const override { return clock_; }

  Context describe() override {
    use_at_start_ = cpu_use();
    Context c;
    c.started = now_text();
    read_system(c);
    read_cpus(c);
    read_memory(c);
    c.driver = read_line(at("/sys/module/nvidia/version"));
    for (char** variable = environ; *variable; ++variable) keep_variable(*variable, c);
    std::sort(c.environment.begin(), c.environment.end());
    c.clock_before_hz = clock_rate();
    c.load_before = load();
    c.topology_hash = topology_hash(c);
    return c;
  }

  void complete(Context& c) override {
    c.finished = now_text();
    c.clock_after_hz = clock_rate();
    c.load_after = load();
    c.steal_share = contention_between(use_at_start_, cpu_use()).contention.steal_share;
  }

  std::optional<CpuUse> cpu_use() const override {
    // cpu user nice system idle iowait irq softirq steal guest guest_nice; guest is part of user.
    std::istringstream line(read_all(at("/proc/stat")));
    std::string word;
    double user = 0, nice = 0, system = 0, idle = 0, wait = 0, irq = 0, soft = 0, steal = 0;
    if (!(line >> word >> user >> nice >> system >> idle >> wait >> irq >> soft >> steal) || word != "cpu") return std::nullopt;
    const double tick = 1.0 / double(::sysconf(_SC_CLK_TCK));
    CpuUse use;
    use.total_s = (user + nice + system + idle + wait + irq + soft + steal) * tick;
    use.busy_s = (user + nice + system) * tick;  // interrupts are nobody's process
    use.steal_s = steal * tick;
    use.own_s = own_time();
    use.kernel_s = kernel_thread_ticks() * tick;
    use.load = load();
    return use;
  }

 private:
  std::string at(const std::string& path) const { return root_ + path; }

  void read_system(Context& c) const {
    utsname names{};
    if (::uname(&names) == 0) {
      c.host = names.nodename;
      c.kernel = names.release;
    }
    if (auto os = value_of(read_all(at("/etc/os-release")), "PRETTY_NAME", '=')) {
      std::erase(*os, '"');
      c.os = *os;
    }
    const std::string vendor = read_line(at("/sys/class/dmi/id/sys_vendor")), product = read_line(at("/sys/class/dmi/id/product_name"));
    c.machine = std::string(trim(vendor + " " + product));
  }

  void read_cpus(Context& c) const {
    const std::string info = read_all(at("/proc/cpuinfo"));
    c.cpu = value_of(info, "model name", ':').value_or("");
    const auto flags = value_of(info, "flags", ':');
    if (flags && (" " + *flags + " ").find(" hypervisor ") != std::string::npos) c.virtualization = "virtual machine";
    const std::string folder = at("/sys/devices/system/cpu");
    std::set<std::string> governors;
    std::set<std::pair<std::string, std::string>> cores;
    std::set<std::string> sockets;
    int count = 0;
    for (const int cpu : numbered(folder, "cpu")) {
      const std::string one = fmt::format("{}/cpu{}", folder, cpu);
      const std::string socket = read_line(one + "/topology/physical_package_id"), core = read_line(one + "/topology/core_id");
      if (socket.empty()) continue;  // offline
      ++count;
      sockets.insert(socket);
      cores.emplace(socket, core);
      if (auto governor = read_line(one + "/cpufreq/scaling_governor"); !governor.empty()) governors.insert(std::move(governor));
    }
    if (count > 0) {
      c.cpus = count;
      c.cores = int(cores.size());
      c.sockets = int(sockets.size());
    }
    c.governor = join(std::vector<std::string>(governors.begin(), governors.end()), ", ");
    const auto hertz = [&](const char* name) -> std::optional<double> {
      const auto khz = read_number(folder + "/cpu0/cpufreq/" + name);
      return khz ? std::optional(*khz * 1e3) : std::nullopt;
    };
    c.clock_min_hz = hertz("cpuinfo_min_freq");
    c.clock_max_hz = hertz("cpuinfo_max_freq");
    c.cpu_quota = cpu_quota();
  }

  // "max 100000" or "150000 100000" (microseconds of CPU time, in each period of so many), the least on the way up.
  std::optional<double> cpu_quota() const {
    std::string group = read_line(at("/proc/self/cgroup"));
    const auto start = group.find("0::");
    if (start == std::string::npos) return std::nullopt;
    fs::path path = group.substr(start + 3, group.find('\n', start) - start - 3);
    std::optional<double> least;
    for (;; path = path.parent_path()) {
      std::istringstream line(read_line(at("/sys/fs/cgroup" + (path == "/" ? "" : path.string()) + "/cpu.max")));
      double quota = 0, period = 0;
      if (line >> quota >> period && period > 0) least = std::min(least.value_or(quota / period), quota / period);
      if (path == "/" || !path.has_parent_path()) return least;
    }
  }

  void read_memory(Context& c) const {
    c.memory_bytes = kilobytes(value_of(read_all(at("/proc/meminfo")), "MemTotal", ':'));
    const std::string folder = at("/sys/devices/system/node");
    for (const int index : numbered(folder, "node")) {
      const std::string one = fmt::format("{}/node{}", folder, index);
      const auto size = kilobytes(value_of(read_all(one + "/meminfo"), fmt::format("Node {} MemTotal", index), ':'));
      c.numa.push_back({index, read_line(one + "/cpulist"), size.value_or(0)});
    }
  }

  static void keep_variable(const char* variable, Context& c) {
    const std::string_view text(variable);
    const auto equals = text.find('=');
    if (equals == std::string_view::npos) return;
    for (const char* prefix : kEnvironmentPrefixes) {
      if (text.starts_with(prefix)) c.environment.emplace_back(text.substr(0, equals), text.substr(equals + 1));
    }
  }

  std::optional<double> load() const {
    std::istringstream line(read_all(at("/proc/loadavg")));
    double one = 0;
    return line >> one ? std::optional(one) : std::nullopt;
  }

  // Mean over the CPUs of the clock that the kernel reports now.
  std::optional<double> clock_rate() const {
    double sum = 0;
    int count = 0;
    const std::string info = read_all(at("/proc/cpuinfo"));
    for (std::string_view line : split(info, '\n')) {
      const auto colon = line.find(':');
      if (!line.starts_with("cpu MHz") || colon == std::string_view::npos) continue;
      if (const auto mhz = parse_number(trim(line.substr(colon + 1)))) sum += *mhz, ++count;
    }
    return count > 0 ? std::optional(sum / count * 1e6) : std::nullopt;
  }

  double own_time() const {
    double sum = 0;
    for (const auto who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
      rusage use{};
      if (::getrusage(who, &use) != 0) continue;
      for (const timeval& t : {use.ru_utime, use.ru_stime}) sum += double(t.tv_sec) + 1e-6 * double(t.tv_usec);
    }
    return sum;
  }

  // CPU time of all kernel threads: they write pages back and complete requests on behalf of processes, also ours.
  double kernel_thread_ticks() const {
    constexpr unsigned long kKernelThread = 0x00200000;  // PF_KTHREAD
    double sum = 0;
    for (const int process : numbered(at("/proc"), "")) {
      const std::string text = read_all(at(fmt::format("/proc/{}/stat", process)));
      const auto behind_name = text.rfind(')');
      if (behind_name == std::string::npos) continue;
      // state ppid pgrp session tty tpgid flags minflt cminflt majflt cmajflt utime stime
      std::istringstream fields(text.substr(behind_name + 1));
      std::string skipped;
      unsigned long flags = 0;
      double user = 0, system = 0;
      for (int i = 0; i < 6; ++i) fields >> skipped;
      fields >> flags;
      for (int i = 0; i < 4; ++i) fields >> skipped;
      if (fields >> user >> system && (flags & kKernelThread)) sum += user + system;
    }
    return sum;
  }

  // Over what changes when a machine is wired differently: CPUs, memory nodes, PCI devices with their links' widths at best.
  std::string topology_hash(const Context& c) const {
    std::string text = fmt::format("{}|{}|{}|{}", c.cpu, c.cpus.value_or(0), c.cores.value_or(0), c.sockets.value_or(0));
    for (const NumaNode& node : c.numa) text += fmt::format("|{}:{}", node.index, node.cpus);
    std::set<std::string> devices;
    std::error_code problem;
    for (fs::directory_iterator entry(at("/sys/bus/pci/devices"), problem), end; !problem && entry != end; entry.increment(problem)) {
      const std::string one = entry->path().string();
      devices.insert(fmt::format("{} {} {} {}", entry->path().filename().string(), read_line(one + "/vendor"), read_line(one + "/device"),
                                 read_line(one + "/max_link_width")));
    }
    for (const auto& device : devices) text += "|" + device;
    return fmt::format("{:016x}", stable_hash(text));
  }

  std::string root_;
  SteadyClock clock_;
  std::optional<CpuUse> use_at_start_;
};

}  // namespace

std::unique_ptr<Environment> this_machine(std::string root) { return std::make_unique<ThisMachine>(std::move(root)); }

}  // namespace trunkline::measure
