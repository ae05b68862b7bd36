// Where threads and memory can be on this machine, and putting them there. Internal to this folder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"

namespace trunkline::backends::host {

// One memory node and the cores beside it: one CPU number a core, and only such CPUs as this process may use.
struct Node {
  int index = 0;
  std::vector<int> cpus;  // empty: memory only
  Bytes memory;
};

class Places {
 public:
  virtual ~Places() = default;
  virtual const std::vector<Node>& nodes() const = 0;
  virtual Bytes last_level_cache() const = 0;  // of all sockets together; zero = not known
  virtual Result<void> pin_this_thread(int cpu) const = 0;
  virtual Result<void> bind_memory(void* start, std::size_t size, int node) const = 0;
  // Whether the pages, once touched, lie on that node and nowhere else.
  virtual bool lies_on(const void* start, std::size_t size, int node) const = 0;
};

// Errors of the kind `missing`: built without hwloc, or hwloc cannot read this machine.
Result<std::unique_ptr<Places>> places();

std::string hwloc_version();  // empty: built without it

}  // namespace trunkline::backends::host
