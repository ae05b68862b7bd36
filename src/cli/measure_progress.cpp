#include "cli/measure_progress.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include "base/quantity_text.hpp"
#include "report/measure_report.hpp"

namespace trunkline::cli {
namespace {

// The first metric of a probe in a few words, or why there is none.
std::string outcome(const measure::ProbeResult& probe) {
  if (probe.status != measure::Status::ok) return fmt::format("{}: {}", name_of(probe.status), probe.reason);
  if (probe.metrics.empty() || !probe.metrics[0].median()) return "ok";
  const measure::Metric& m = probe.metrics[0];
  const auto unit = report::readable_unit(m);
  return fmt::format("{} {} {} (n {})", m.name, significant(*m.median() * unit.scale), unit.unit, m.samples.size());
}

class Progress : public measure::Observer {
 public:
  explicit Progress(const Output& output) : output_(output), terminal_(::isatty(STDERR_FILENO) == 1) {}

  void began(const measure::Probe& probe, std::size_t index, std::size_t count) override {
    head_ = fmt::format("[{}/{}] {}", index + 1, count, probe.name());
    if (terminal_) show(head_);
  }

  void progressed(Seconds elapsed, Seconds budget, Seconds left) override {
    if (!terminal_) return;
    const double now = elapsed.si();
    if (now >= shown_at_ && now - shown_at_ < 0.2) return;  // five times a second is enough to read
    shown_at_ = now;
    show(fmt::format("{}  {:.0f} of at most {:.0f} s, all done in at most {:.0f} s", head_, now, budget.si(), left.si()));
  }

  void ended(const measure::ProbeResult& probe) override {
    if (terminal_) say("\r\033[K");
    shown_at_ = 0;
    output_.progress(fmt::format("{}: {}", head_, outcome(probe)));
  }

 private:
  void show(const std::string& text) {
    const int width = output_.error_style().width;
    say("\r\033[K" + text.substr(0, std::size_t(std::max(1, width - 1))));
    std::fflush(stderr);
  }

  const Output& output_;
  bool terminal_;
  std::string head_;
  double shown_at_ = 0;
};

}  // namespace

std::unique_ptr<measure::Observer> measure_progress(const Output& output) { return std::make_unique<Progress>(output); }

}  // namespace trunkline::cli
