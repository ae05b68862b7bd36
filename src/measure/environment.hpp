// The machine around a measurement: what it is, and what it was busy with.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "measure/clock.hpp"
#include "measure/result.hpp"

namespace trunkline::measure {

// Counters of CPU time since boot, in seconds over all CPUs. Kernel threads count apart: they work for whoever asked them.
struct CpuUse {
  double total_s = 0;  // all CPUs together, idle included
  double busy_s = 0;   // user and system, of all processes and kernel threads
  double steal_s = 0;
  double own_s = 0;     // this process and its finished children
  double kernel_s = 0;  // kernel threads
  std::optional<double> load;
};

// Who else used the CPUs between two readings, and a warning where it is enough to doubt what was measured.
struct Verdict {
  Contention contention;
  std::string warning;
};
Verdict contention_between(const std::optional<CpuUse>& before, const std::optional<CpuUse>& after);

class Environment {
 public:
  virtual ~Environment() = default;
  virtual const Clock& clock() const = 0;
  virtual Context describe() = 0;                     // at the start
  virtual void complete(Context& context) = 0;        // at the end: time, load, clocks, steal time since describe()
  virtual std::optional<CpuUse> cpu_use() const = 0;  // absent where it cannot be read
};

// This machine, read from /proc and /sys below `root` (empty = the real ones; tests give captured ones).
std::unique_ptr<Environment> this_machine(std::string root = {});

}  // namespace trunkline::measure
