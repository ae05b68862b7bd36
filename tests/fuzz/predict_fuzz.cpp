// A job and a platform in one text (`job: …`, `platform: …`): an error in words, or a prediction whose times are whole and not negative.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "predict/prediction.hpp"

using namespace trunkline;

namespace {

void demand(bool holds) {
  if (!holds) std::abort();
}

// The fuzzer looks for faults, not for the patience of whoever plays a hundred million micro-batches through.
bool small(const workload::Job& job) {
  const auto& p = job.parallelism;
  return double(job.batch.global) / double(job.batch.micro) * p.pp * p.vpp < 1e5 && !job.open.pp;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = io::parse_yaml({reinterpret_cast<const char*>(data), size}, "both.yaml");
  if (!value || !value->is_map()) return 0;
  const io::Value *first = value->find("job"), *second = value->find("platform");
  if (!first || !second) return 0;
  const auto job = workload::job_from(*first, "no/such/folder");
  const auto platform = topology::platform_from(*second);
  if (!job || !platform || !small(*job)) return 0;
  const auto p = predict::predict(*job, *platform);
  if (!p) {
    demand(!p.error().message.empty());
    return 0;
  }
  const auto& b = p->breakdown;
  for (const double part : {b.compute_s, b.exposed_comm_s, b.bubble_s, b.data_wait_s, b.checkpoint_s, b.other_s})
    demand(std::isfinite(part) && part >= 0);
  demand(p->step_s > 0 && b.sum() == p->step_s);
  demand(p->memory.per_gpu > Bytes(0));
  demand(!p->epoch || p->epoch->s > 0);
  demand(!p->run || p->run->total_s > 0);
  demand(!p->cost || p->cost->amount >= 0);
  return 0;
}
