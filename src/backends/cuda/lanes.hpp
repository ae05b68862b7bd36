// Work on several streams that starts at one moment. Internal to the backends that stand on CUDA.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "backends/cuda/resources.hpp"

namespace trunkline::backends::cuda {

// A stream of one GPU with what it has to do; between two events that take the time.
class Lane {
 public:
  using Work = std::function<Result<void>(cudaStream_t)>;
  static Result<Lane> make(const Gpu& gpu, Work work);

  const Gpu& gpu() const { return gpu_; }
  cudaStream_t stream() const { return stream_.get(); }
  void set_work(Work work) { work_ = std::move(work); }
  void set_lead(Work lead) { lead_ = std::move(lead); }  // queued before the time begins: what must be warm

 private:
  friend class Start;
  Gpu gpu_;
  Work work_, lead_;
  Stream stream_;
  Event begin_, end_;
};

// Holds lanes back until all of their work is queued, so that no queueing counts and all begin together: a kernel before each
// waits for a word in host memory. It gives up by itself after some seconds, so that nothing can hang, and then that is an error.
class Start {
 public:
  // Wakes this GPU; the word lies beside its CPUs.
  static Result<Start> make(const Gpu& gpu);

  // Queues all, lets them go, waits for the end. The time that each lane took on its GPU.
  Result<std::vector<Seconds>> together(std::span<Lane* const> lanes);
  Result<Seconds> alone(Lane& lane);

 private:
  Result<void> queue(Lane& lane, bool& begun);
  HostBuffer words_;  // [0] the gate, [1] set by a kernel that gave up
};

}  // namespace trunkline::backends::cuda
