// Time as probes see it. The fake backend has a clock of its own, so that its runs take no time and repeat exactly.
#pragma once

#include <chrono>

#include "base/units.hpp"

namespace trunkline::measure {

class Clock {
 public:
  virtual ~Clock() = default;
  virtual Seconds now() const = 0;  // since some fixed moment; never goes back
};

class SteadyClock : public Clock {
 public:
  Seconds now() const override {
    return seconds(std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
  }
};

class VirtualClock : public Clock {
 public:
  Seconds now() const override { return now_; }
  void advance(Seconds by) { now_ += by; }

 private:
  Seconds now_;
};

}  // namespace trunkline::measure
