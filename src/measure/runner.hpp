// Runs probes one after the other and writes down what they found, after every one.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "measure/environment.hpp"
#include "measure/probe.hpp"

namespace trunkline::measure {

struct RunOptions {
  std::string tool_version, command_line;
  std::string backend = "machine";
  std::vector<std::pair<std::string, std::string>> libraries = {};
  Seconds per_probe = seconds(20);
  Seconds quick_total = seconds(60);  // with Settings::quick, for all probes together
  double precision = 0.02;
  std::vector<std::function<void(Context&)>> describe = {}, complete = {};  // what backends add to the context
};

// What a run tells while it goes on.
class Observer {
 public:
  virtual ~Observer() = default;
  virtual void began(const Probe&, std::size_t /*index*/, std::size_t /*count*/) {}
  virtual void progressed(Seconds /*elapsed*/, Seconds /*budget*/, Seconds /*left of the whole run, at most*/) {}
  virtual void ended(const ProbeResult&) {}
};

// Called before the first probe and after every one, with what there is so far.
using Save = std::function<void(const Measurement&)>;

// An error as the reason why a probe was waived or failed, on one line.
std::string reason_of(const Error& error);

// Time for the next of `count` probes when `spent` of a quick run is gone: an equal part of what is left of it, with a margin for
// starting and cleaning up, so that a probe that needs less leaves more to the others.
Seconds quick_budget(Seconds total, Seconds spent, std::size_t count);

// Probes that are not reached are waived with the reason. `complete` in the answer is false where the run was interrupted.
Measurement run(Environment& environment, std::span<Probe* const> probes, const Settings& settings, const RunOptions& options,
                Observer& observer, const Save& save, const Sampler::Stopped& stopped);

}  // namespace trunkline::measure
