// Pinned threads that begin together. Internal to this folder.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "backends/host/places.hpp"
#include "base/units.hpp"

namespace trunkline::backends::host {

class Team {
 public:
  // One thread on each of these CPUs.
  static Result<std::unique_ptr<Team>> make(const Places& places, std::span<const int> cpus);
  virtual ~Team() = default;
  virtual int size() const = 0;

  // Every thread does `work` with its number; returns the time from the first beginning to the last end.
  virtual Seconds run(const std::function<void(int)>& work) = 0;
};

}  // namespace trunkline::backends::host
