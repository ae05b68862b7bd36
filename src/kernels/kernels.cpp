#include "kernels/kernels.hpp"

#include <algorithm>
#include <cmath>

namespace trunkline::kernels {

Seconds Kernels::memory_bound(double bytes, MemoryKind kind) const {
  if (bytes <= 0) return {};
  return seconds(bytes / memory_rate(kind) + efficiencies_.memory_latency_s);
}

Seconds Kernels::cast(double elements, catalog::Precision to, bool current_scaling) const {
  constexpr double kWide = 2;  // bytes of what comes in
  return memory_bound(elements * (kWide + 2 * catalog::bytes_per_element(to))) +
         (current_scaling ? memory_bound(elements * kWide) : Seconds{});
}

double Kernels::sustained(catalog::Precision precision) const {
  const double limit = efficiencies_.power[std::size_t(precision)];
  if (limit <= 0) return 1;
  const double watts_per_sm = gpu_.tdp_w > 0 ? gpu_.tdp_w / sms_ : efficiencies_.watts_per_sm;
  const double burst = efficiencies_.matrix[std::size_t(precision)] * gpu_.rate(precision).si() / sms_;
  return std::min(1.0, limit * std::cbrt(watts_per_sm) / burst);
}

}  // namespace trunkline::kernels
