// Ctrl-C as a question that long work asks, so that everything is cleaned up on the way out.
#pragma once

namespace trunkline::measure {

// While it lives, SIGINT, SIGTERM and SIGHUP are taken down instead of ending the process. A second one ends it at once.
class StopOnSignal {
 public:
  StopOnSignal();
  ~StopOnSignal();
  StopOnSignal(const StopOnSignal&) = delete;
  StopOnSignal& operator=(const StopOnSignal&) = delete;

  static bool requested();
};

}  // namespace trunkline::measure
