#include "predict/formats.hpp"

#include <fmt/format.h>

#include "base/quantity_text.hpp"
#include "predict/settled.hpp"

namespace trunkline::predict {

using catalog::Precision;

namespace {

// The widest of the narrow formats that the GPU has; bf16 is there from Ampere on.
Precision next_best(const catalog::Gpu& gpu) {
  for (const Precision p : {Precision::fp8, Precision::bf16}) {
    if (gpu.supports(p)) return p;
  }
  return Precision::fp16;
}

}  // namespace

Result<void> settle_format(workload::Job& job, const catalog::Gpu& gpu) {
  auto& compute = job.precision.compute;
  if (gpu.supports(compute)) return {};
  const std::string name = catalog::name_of(compute);
  if (job.open.precision && gpu.supports(Precision::fp16)) {
    compute = Precision::fp16;
    job.precision.parameters = workload::parameter_habit(job.framework, compute);
    note(job, "training.precision.parameters", catalog::name_of(job.precision.parameters) + " (the framework's habit)");
    note(job, "training.precision", fmt::format("fp16, as {} has no units for {} (not stated)", gpu.name, name));
    return {};
  }
  if (compute == Precision::fp8 || compute == Precision::fp4) {
    return bad_input({job.file, 0},
                     fmt::format("training.precision: {} has no units for {} (trunkline catalog {})", gpu.name, name, gpu.id),
                     fmt::format("write precision: {{compute: {}}}, or choose a GPU that has {}", catalog::name_of(next_best(gpu)), name));
  }
  const Precision instead = gpu.computes_in(compute);
  if (instead == Precision::fp32 && compute != Precision::fp32) {
    note(job, "training.precision",
         fmt::format("{} has no units for {}: its products run at the rate of fp32, {}; fp16 would have {}", gpu.name, name,
                     to_text(gpu.rate(instead)), to_text(gpu.rate(Precision::fp16))));
  } else if (instead != compute) {
    note(job, "training.precision",
         fmt::format("the catalogue has no rate of {} for {}: taken as that of {}, {}", name, gpu.name, catalog::name_of(instead),
                     to_text(gpu.rate(instead))));
  }
  return {};
}

}  // namespace trunkline::predict
