#include <algorithm>

#include "backends/fake/probe.hpp"

namespace trunkline::backends::fake {
namespace {

namespace condition = measure::condition;

// What plain loops reach of a socket's memory channels.
constexpr double kReadShare = 0.85, kCopyShare = 0.80;

// `traffic` = bytes that the memory moves for each byte that counts: a copy reads and writes.
Result<Answer> memory(const Model& model, double share, double traffic) {
  const topology::NodeType& node = model.platform.node;
  const double sockets = std::max(1, node.sockets);
  const Bandwidth limit = node.memory_bandwidth * (sockets / traffic);
  Bandwidth rate = limit * share;
  measure::Conditions conditions = {{"cpu_node", std::string("all")}, {"memory_node", std::string("local")}};
  if (model.has(FaultKind::wrong_numa) && node.sockets > 1) {
    rate = std::min(rate, node.socket_bandwidth * (sockets * share));
    measure::set(conditions, "memory_node", std::string("remote"));
  }
  Answer answer;
  answer.points.push_back(
      {{bandwidth("bandwidth", limit, "host memory of all sockets, from the platform file or the node's catalogue", conditions)},
       {rate.si()},
       milliseconds(300)});
  return answer;
}

Result<Answer> memory_copy(const Model& model, const measure::Settings&) { return memory(model, kCopyShare, 2); }
Result<Answer> memory_read(const Model& model, const measure::Settings&) { return memory(model, kReadShare, 1); }

}  // namespace

std::vector<Description> host_probes() {
  return {{"host.memory_copy", "how fast host memory is copied", "nothing", memory_copy},
          {"host.memory_read", "how fast host memory is read", "nothing", memory_read}};
}

}  // namespace trunkline::backends::fake
