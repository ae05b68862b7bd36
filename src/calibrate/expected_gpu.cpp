// What a GPU's kernels should give.
#include <fmt/format.h>

#include "calibrate/expected.hpp"

namespace trunkline::calibrate {
namespace {

using catalog::Precision;
using kernels::MemoryKind;
using measure::Metric;

std::optional<Precision> precision_named(std::string_view name) {
  for (std::size_t p = 0; p < kernels::kPrecisions; ++p) {
    if (catalog::name_of(Precision(p)) == name) return Precision(p);
  }
  return std::nullopt;
}

struct Kind {
  const char* point;
  MemoryKind kind;
};
// Probes of kernels bound by memory, by what stands behind the @.
constexpr Kind kKinds[] = {{"rms_norm", MemoryKind::norm_forward},
                           {"gelu", MemoryKind::math},
                           {"swiglu", MemoryKind::elementwise},
                           {"adamw", MemoryKind::optimizer}};

}  // namespace

Result<Expectation> expected_gemm(const Machine& machine, const std::string& probe, const Metric& metric) {
  if (quantity_of(metric) != "rate") return no_promise("no rate of products");
  const auto m = number_of(metric, "m"), n = number_of(metric, "n"), k = number_of(metric, "k");
  if (!m || !n || !k) return no_promise("the result does not record the shape of the product");
  std::string name = text_of(metric, "precision");
  if (name.empty()) name = point_of(metric).substr(0, point_of(metric).find('_'));
  const auto precision = precision_named(name);
  if (!precision) return no_promise(fmt::format("precision \"{}\" is not known", name));
  const Seconds time = machine.kernels.gemm({*m, *n, *k, 1, *precision, 2});
  if (!std::isfinite(time.si()) || time.si() <= 0) return no_promise("the catalogue knows no rate of this precision");
  const bool sustained = probe.ends_with(".sustained") || text_of(metric, "state") == "sustained";
  const double left = sustained ? machine.kernels.sustained(*precision) : 1;
  return Expectation{2 * *m * *n * *k / time.si() * left,
                     fmt::format("kernel model, {} {:.0f} x {:.0f} x {:.0f}{}", name, *m, *n, *k, sustained ? ", at the power limit" : "")};
}

Result<Expectation> expected_memory_bound(const Machine& machine, const std::string& probe, const Metric& metric) {
  if (quantity_of(metric) != "traffic") return no_promise("no traffic of the GPU's memory");
  MemoryKind kind = MemoryKind::copy;
  const std::string point = point_of(metric);
  if (probe == "gpu.memory_bound") {
    const Kind* found = nullptr;
    for (const Kind& k : kKinds) {
      if (point == k.point) found = &k;
    }
    if (!found) return no_promise(fmt::format("no model of the kernel \"{}\"", point));
    kind = found->kind;
  }
  constexpr double kLong = 4e9, kShort = 256e6;  // bytes moved where none are recorded; below, data stays in the GPU's cache
  const double moved = number_of(metric, measure::condition::kSize).value_or(kLong) * (probe == "gpu.memory_copy" ? 2 : 1);
  if (moved < kShort) return no_promise("so little data stays in the GPU's cache");
  return Expectation{moved / machine.kernels.memory_bound(moved, kind).si(), "kernel model, bound by memory"};
}

}  // namespace trunkline::calibrate
