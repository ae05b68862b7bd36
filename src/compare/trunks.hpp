// The parts of a platform that can be exchanged one by one for another's.
#pragma once

#include <span>
#include <string>

#include "compare/offer.hpp"

namespace trunkline::compare {

struct Trunk {
  const char* name;
  bool (*equal)(const calibrate::Applied& a, const calibrate::Applied& b);
  void (*take)(calibrate::Applied& into, const calibrate::Applied& from);
  std::string (*fact)(const Offer& offer);  // what it is there, in words
  std::vector<const char*> measured;        // what the keys of its measured values begin with
};

// Every field of a platform that a prediction depends on belongs to one trunk.
std::span<const Trunk> all_trunks();

// The trunks in which two platforms differ. Where their nodes hold different numbers of GPUs, links and size go together: a mesh is
// made for its number of GPUs.
std::vector<Trunk> differing(const calibrate::Applied& a, const calibrate::Applied& b);

}  // namespace trunkline::compare
