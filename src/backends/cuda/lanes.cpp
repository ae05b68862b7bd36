#include "backends/cuda/lanes.hpp"

#include <fmt/format.h>

#include <atomic>

#include "backends/cuda/error.hpp"
#include "backends/cuda/kernels.hpp"

namespace trunkline::backends::cuda {
namespace {

constexpr Seconds kPatience = seconds(10);
constexpr Seconds kWaking = milliseconds(300);  // an idle GPU clocks down, and needs some tenths of a second to come back

Result<void> wake(const Gpu& gpu, int* words) {
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_TRY(ok(kernels::hold(words, words + 1, kWaking, stream.get()), "waking the GPU"));
  return ok(cudaStreamSynchronize(stream.get()), fmt::format("waking GPU {}", gpu.index));
}

}  // namespace

Result<Lane> Lane::make(const Gpu& gpu, Work work) {
  Lane out;
  out.gpu_ = gpu;
  out.work_ = std::move(work);
  TRUNKLINE_TRY(use(gpu));
  // A kernel that is loaded only when first launched would have to wait for the kernel that holds the lane.
  TRUNKLINE_TRY(ok(kernels::load_all(), "loading kernels"));
  TRUNKLINE_ASSIGN(stream, make_stream());
  TRUNKLINE_ASSIGN(begin, make_event());
  TRUNKLINE_ASSIGN(end, make_event());
  out.stream_ = std::move(stream);
  out.begin_ = std::move(begin);
  out.end_ = std::move(end);
  return out;
}

Result<Start> Start::make(const Gpu& gpu) {
  TRUNKLINE_TRY(use(gpu));
  TRUNKLINE_ASSIGN(words, HostBuffer::make(kib(4), gpu));
  words.as<int>()[0] = 0;
  TRUNKLINE_TRY(wake(gpu, words.as<int>()));
  Start out;
  out.words_ = std::move(words);
  return out;
}

Result<void> Start::queue(Lane& lane, bool& begun) {
  int* words = words_.as<int>();
  TRUNKLINE_TRY(use(lane.gpu_));
  begun = true;
  TRUNKLINE_TRY(ok(kernels::hold(words, words + 1, kPatience, lane.stream()), "holding a stream back"));
  if (lane.lead_) TRUNKLINE_TRY(lane.lead_(lane.stream()));
  TRUNKLINE_TRY(ok(cudaEventRecord(lane.begin_.get(), lane.stream()), "recording an event"));
  TRUNKLINE_TRY(lane.work_(lane.stream()));
  return ok(cudaEventRecord(lane.end_.get(), lane.stream()), "recording an event");
}

Result<std::vector<Seconds>> Start::together(std::span<Lane* const> lanes) {
  int* words = words_.as<int>();
  std::atomic_ref gate(words[0]), gave_up(words[1]);
  gate.store(0);
  gave_up.store(0);
  std::size_t held = 0;
  Result<void> queued;
  for (Lane* lane : lanes) {
    bool begun = false;
    queued = queue(*lane, begun);
    held += begun;
    if (!queued) break;
  }
  gate.store(1);  // also after an error: what was queued must drain
  Result<void> done = queued;
  for (std::size_t i = 0; i < held; ++i) {
    const auto ended = ok(cudaStreamSynchronize(lanes[i]->stream()), "waiting for the GPU");
    if (done && !ended) done = ended;
  }
  if (!done) return fail(done.error());
  if (gave_up.load() != 0)
    return fail({ErrorKind::failed, fmt::format("queueing took longer than {:.0f} s", kPatience.si()), {}, "repeat on an idle machine"});
  std::vector<Seconds> out;
  for (const Lane* lane : lanes) {
    float ms = 0;
    TRUNKLINE_TRY(ok(cudaEventElapsedTime(&ms, lane->begin_.get(), lane->end_.get()), "reading the time"));
    out.push_back(milliseconds(ms));
  }
  return out;
}

Result<Seconds> Start::alone(Lane& lane) {
  Lane* one = &lane;
  TRUNKLINE_ASSIGN(times, together(std::span(&one, 1)));
  return times[0];
}

}  // namespace trunkline::backends::cuda
