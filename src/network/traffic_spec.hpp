// The traffic that a fabric file asks for, before it is drawn.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "io/spec.hpp"
#include "network/collective_run.hpp"
#include "network/fabric.hpp"
#include "network/traffic.hpp"
#include "network/traffic_ring.hpp"

namespace trunkline::network {

enum class Pattern {
  permutation,      // every host to one other, outside its leaf where there is more than one
  random,           // `count` pairs drawn independently
  incast,           // `fan_in` hosts to the first
  all_to_all,       // each to every other
  ring,             // each to the next
  ring_all_reduce,  // each to the next, 2(n − 1) steps (traffic_ring.hpp)
  collective,       // stages of flows (collective_run.hpp)
  matrix,           // bytes from row to column
  flows,            // a .flows file
};

std::string name_of(Pattern pattern);

struct TrafficSpec {
  Pattern pattern = Pattern::permutation;
  Bytes size;      // of one demand
  int hosts = 0;   // the first so many take part
  int count = 0;   // of random
  int fan_in = 0;  // of incast
  RingSteps steps = RingSteps::folded;
  Seconds over;  // starts are drawn evenly from 0 to this
  std::uint64_t seed = 0;
  CollectiveTask task;         // of collective
  Machines machines;           // of collective
  std::string file;            // of flows: where they were read
  std::vector<Demand> listed;  // of flows and matrix

  bool drawn() const { return pattern == Pattern::permutation || pattern == Pattern::random || over.si() > 0; }
  std::string words() const;  // "permutation, 2.00 MB each"
};

const io::ObjectSpec& traffic_spec();

// Checked against the fabric: hosts that it has, sizes above zero.
Result<TrafficSpec> traffic_from(const io::Value& value, const Fabric& fabric, const std::string& folder);

std::vector<Demand> demands_of(const TrafficSpec& traffic, const Fabric& fabric, std::uint64_t seed);

}  // namespace trunkline::network
