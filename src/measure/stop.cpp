#include "measure/stop.hpp"

#include <csignal>

namespace trunkline::measure {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
volatile std::sig_atomic_t stop_requested = 0;  // a signal handler can reach nothing but a global

void take_down(int) { stop_requested = 1; }

}  // namespace

StopOnSignal::StopOnSignal() {
  stop_requested = 0;
  struct sigaction action = {};
  action.sa_handler = take_down;
  action.sa_flags = int(SA_RESETHAND);  // the second one works as usual; without SA_RESTART, so that waiting calls return
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction before = {};
    // nohup and background jobs ignore some of them: that stays.
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
}

StopOnSignal::~StopOnSignal() {
  struct sigaction action = {};
  action.sa_handler = SIG_DFL;
  sigemptyset(&action.sa_mask);
  for (const int signal : kSignals) {
    struct sigaction now = {};
    if (sigaction(signal, nullptr, &now) == 0 && now.sa_handler == take_down) sigaction(signal, &action, nullptr);
  }
}

bool StopOnSignal::requested() { return stop_requested != 0; }

}  // namespace trunkline::measure
