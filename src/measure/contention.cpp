#include <fmt/format.h>

#include <algorithm>

#include "measure/environment.hpp"

namespace trunkline::measure {
namespace {

constexpr double kOthersDoubtful = 0.10;  // of all CPU time: a neighbour that moves medians by more than the 2 % we aim at
constexpr double kStealDoubtful = 0.02;

}  // namespace

Verdict contention_between(const std::optional<CpuUse>& before, const std::optional<CpuUse>& after) {
  Verdict out;
  if (!before || !after) return out;
  out.contention.load_before = before->load;
  const double total = after->total_s - before->total_s;
  if (total <= 0) return out;
  const auto share = [&](double seconds) { return std::clamp(seconds / total, 0.0, 1.0); };
  const double steal = share(after->steal_s - before->steal_s);
  const double own = (after->own_s - before->own_s) + (after->kernel_s - before->kernel_s);
  const double others = share(after->busy_s - before->busy_s - own);
  out.contention.steal_share = steal;
  out.contention.others_share = others;
  out.contention.noticed = others > kOthersDoubtful || steal > kStealDoubtful;
  if (others > kOthersDoubtful)
    out.warning = fmt::format("other processes used {:.0f} % of the CPU time meanwhile: repeat on an idle machine", 100 * others);
  if (steal > kStealDoubtful) {
    out.warning += fmt::format("{}the hypervisor took {:.0f} % of the CPU time: the host is shared and busy",
                               out.warning.empty() ? "" : "; ", 100 * steal);
  }
  return out;
}

}  // namespace trunkline::measure
