// Any text as a job file: an error that names its line, or a job whose memory can be counted and never is negative.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "workload/job.hpp"
#include "workload/memory.hpp"

using namespace trunkline;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto value = io::parse_yaml({reinterpret_cast<const char*>(data), size}, "job.yaml");
  if (!value) return 0;
  const auto job = workload::job_from(*value, "no/such/folder");
  if (!job) {
    if (job.error().message.empty() || job.error().where.line < 1) std::abort();
    return 0;
  }
  const workload::MemoryParts m = workload::memory_of(*job, workload::memory_rules(*job));
  for (const Bytes part :
       {m.weights, m.gradients, m.optimizer, m.activations, m.logits, m.workspace, m.communication, m.framework, m.fragmentation}) {
    if (part < Bytes(0)) std::abort();
  }
  workload::what_would_fit(*job, gbytes(80), 8);
  return 0;
}
