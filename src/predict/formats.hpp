// Number formats against what a GPU can compute in.
#pragma once

#include "predict/prediction.hpp"

namespace trunkline::predict {

// Settles the format that `job` computes in on `gpu`. Left open: bf16, or fp16 where the GPU has no bf16. Stated and not there: fp8 and
// fp4 are refused, as every framework does; bf16 and tf32 run in what the GPU has instead (Gpu::computes_in), and are said to.
Result<void> settle_format(workload::Job& job, const catalog::Gpu& gpu);

}  // namespace trunkline::predict
