#include "backends/cuda/cuda.hpp"

#include "backends/cuda/probes.hpp"

// Without NVIDIA's toolkit this file is all that is built of the folder.
#ifdef TRUNKLINE_HAS_CUDA
#define TRUNKLINE_CUDA_ONLY(what) what
#else
#define TRUNKLINE_CUDA_ONLY(what) nullptr
#endif

namespace trunkline::backends::cuda {
namespace {

constexpr char kBuiltWithout[] = "built without CUDA";
constexpr char kBuildWith[] =
    "install NVIDIA's CUDA toolkit (12 or later), then build again: cmake finds nvcc on the PATH or in /usr/local/cuda";

struct Description {
  const char *name, *answers;
  int gpus;    // at least so many
  double gib;  // of each GPU's memory, at most
  Result<void> (*run)(const Settings&, Sampler&);
};

// Hotter ones later: a chip at its power limit is slower for a while.
const Description kProbes[] = {
    {"gpu.memory_copy", "how fast a GPU's memory is read and written", 1, 2, TRUNKLINE_CUDA_ONLY(memory_copy)},
    {"gpu.h2d", "how fast data moves from pinned host memory to each GPU, and to all at once", 1, 0.25,
     TRUNKLINE_CUDA_ONLY(host_to_device)},
    {"gpu.d2h", "how fast data moves from each GPU to pinned host memory, and from all at once", 1, 0.25,
     TRUNKLINE_CUDA_ONLY(device_to_host)},
    {"gpu.h2d_d2h", "how fast data moves between host and GPU in each direction while the other direction is busy", 1, 0.5,
     TRUNKLINE_CUDA_ONLY(both_ways)},
    {"gpu.p2p.read", "how fast every GPU reads from every other", 2, 0.5, TRUNKLINE_CUDA_ONLY(peer_read)},
    {"gpu.p2p.write", "how fast every GPU writes to every other", 2, 0.5, TRUNKLINE_CUDA_ONLY(peer_write)},
    {"gpu.p2p.bidirectional", "how fast pairs of GPUs exchange data, both directions added up", 2, 0.5,
     TRUNKLINE_CUDA_ONLY(peer_bidirectional)},
    {"gpu.p2p.latency", "how long one dependent read of another GPU's memory takes", 2, 0.1, TRUNKLINE_CUDA_ONLY(peer_latency)},
    {"gpu.memory_bound", "how much of the memory bandwidth norms, activations and the optimizer reach", 1, 2,
     TRUNKLINE_CUDA_ONLY(memory_bound)},
    {"gpu.launch", "what starting a kernel costs", 1, 0.1, TRUNKLINE_CUDA_ONLY(launch)},
    {"gpu.gemm", "how fast matrices of the shapes of training are multiplied, cool chip", 1, 5, TRUNKLINE_CUDA_ONLY(gemm)},
    {"gpu.overlap", "how much matrix products and copies slow each other down", 1, 2.5, TRUNKLINE_CUDA_ONLY(overlap)},
    {"gpu.gemm.sustained", "what is left of the matrix rate after 20 s without a pause: clocks, power, what holds them down", 1, 0.6,
     TRUNKLINE_CUDA_ONLY(gemm_sustained)},
};

class CudaProbe : public measure::Probe {
 public:
  explicit CudaProbe(const Description& description) : description_(description) {}

  std::string name() const override { return description_.name; }
  std::string answers() const override { return description_.answers; }
  std::string needs() const override { return description_.gpus > 1 ? "two NVIDIA GPUs or more" : "an NVIDIA GPU"; }

  Result<measure::Estimate> estimate(const Settings& settings, Seconds budget) const override {
    TRUNKLINE_TRY(ready(settings));
    measure::Estimate out;
    out.memory = scaled(gib(1), description_.gib);
    out.time = budget;
    out.note = "memory of each GPU";
    return out;
  }

  Result<void> run(const Settings& settings, Sampler& sampler) override {
    TRUNKLINE_TRY(ready(settings));
    return description_.run(settings, sampler);
  }

 private:
  Result<void> ready([[maybe_unused]] const Settings& settings) const {
#ifdef TRUNKLINE_HAS_CUDA
    return expect_gpus(settings, description_.gpus);
#else
    return fail({ErrorKind::missing, kBuiltWithout, {}, kBuildWith});
#endif
  }

  Description description_;
};

measure::Probes probes() {
  measure::Probes out;
  for (const Description& description : kProbes) out.push_back(std::make_unique<CudaProbe>(description));
  return out;
}

}  // namespace

measure::Backend backend() {
  measure::Backend out;
  out.name = "cuda";
  out.options = {{"--gpu", measure::OptionKind::integer, "N", "of gpu: this GPU only, as CUDA counts them; default: all", {}, 0}};
  out.probes = probes;
#ifdef TRUNKLINE_HAS_CUDA
  out.describe = describe_here;
  out.needs = needs_here;
#else
  out.needs = []() -> std::vector<measure::Need> { return {{"CUDA", "gpu, collective", false, kBuiltWithout, kBuildWith}}; };
#endif
  return out;
}

}  // namespace trunkline::backends::cuda
