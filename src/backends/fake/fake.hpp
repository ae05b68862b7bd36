// A machine that does not exist, answering probes as the models say its platform would.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "measure/environment.hpp"
#include "measure/probe.hpp"
#include "topology/platform.hpp"

namespace trunkline::backends::fake {

enum class FaultKind {
  slow_link,     // one link (a NIC where there are several nodes, else a GPU's link) gives `left` of its rate
  dying_rank,    // a rank of each collective ends after some repetitions
  full_disk,     // writes end with "No space left on device"
  wrong_numa,    // host memory is reached across the link between sockets
  busy_machine,  // other processes take `left` of the CPU time and disturb every probe
};

struct Fault {
  FaultKind kind;
  double left;  // a share
};

const std::vector<std::string>& fault_names();
// "slow-link", "slow-link=0.95". Errors: unknown (with the nearest), a share outside 0…1.
Result<Fault> fault_from(std::string_view text);

struct Machine {
  std::unique_ptr<measure::Environment> environment;
  measure::Probes probes;  // refer to the environment's clock
};
Machine machine(const topology::Platform& platform, std::optional<Fault> fault = {});

}  // namespace trunkline::backends::fake
