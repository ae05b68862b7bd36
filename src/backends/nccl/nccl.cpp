#include "backends/nccl/nccl.hpp"

#include "backends/nccl/collective.hpp"
#include "backends/nccl/options.hpp"

namespace trunkline::backends::nccl {
namespace {

using collectives::Collective;

struct Description {
  Collective collective;
  const char* answers;
};
constexpr Description kProbes[] = {
    {Collective::all_reduce, "how fast all GPUs sum a buffer"},
    {Collective::all_gather, "how fast all GPUs collect everyone's part"},
    {Collective::reduce_scatter, "how fast all GPUs sum, each keeping a part"},
    {Collective::broadcast, "how fast one GPU's buffer reaches all"},
    {Collective::reduce, "how fast all GPUs' buffers are summed on one"},
    {Collective::all_to_all, "how fast every GPU sends a part to every other"},
    {Collective::send_recv, "how fast every GPU sends to its neighbour in a ring"},
};

class CollectiveProbe : public measure::Probe {
 public:
  explicit CollectiveProbe(const Description& description) : description_(description) {}

  std::string name() const override { return "collective." + collectives::name_of(description_.collective); }
  std::string answers() const override { return description_.answers; }
  std::string needs() const override { return "two NVIDIA GPUs or more, NCCL"; }

  Result<measure::Estimate> estimate(const measure::Settings& settings, Seconds budget) const override {
    TRUNKLINE_TRY(ready(settings));
    TRUNKLINE_ASSIGN(sizes, sizes_from(settings));
    measure::Estimate out;
    out.memory = sizes.back() * 2;
    out.time = budget;
    out.note = "memory of each GPU";
    return out;
  }

  Result<void> run([[maybe_unused]] const measure::Settings& settings, [[maybe_unused]] measure::Sampler& sampler) override {
    TRUNKLINE_TRY(ready(settings));
#ifdef TRUNKLINE_HAS_CUDA
    return measure_collective(description_.collective, settings, sampler);
#else
    return {};
#endif
  }

 private:
  static Result<void> ready([[maybe_unused]] const measure::Settings& settings) {
#ifdef TRUNKLINE_HAS_CUDA
    return expect_ranks(settings);
#else
    return fail({ErrorKind::missing, "built without CUDA", {}, "install NVIDIA's CUDA toolkit (12 or later), then build again"});
#endif
  }

  Description description_;
};

}  // namespace

measure::Backend backend() {
  measure::Backend out;
  out.name = "nccl";
  out.options = options();
  out.probes = [] {
    measure::Probes probes;
    for (const Description& description : kProbes) probes.push_back(std::make_unique<CollectiveProbe>(description));
    return probes;
  };
#ifdef TRUNKLINE_HAS_CUDA
  out.describe = describe_here;
  out.needs = needs_here;
#endif
  return out;
}

}  // namespace trunkline::backends::nccl
