#include "backends/storage/storage.hpp"

#include "backends/storage/bench.hpp"
#include "backends/storage/probes.hpp"

namespace trunkline::backends::storage {
namespace {

measure::Need uring_need() {
  measure::Need out{"io_uring", "storage.* (without it: threads keep requests in flight)", true, "the kernel takes it", {}};
  const auto engine = uring_engine({1, kContentPage, false});
  if (engine) return out;
  out.present = false;
  out.found = engine.error().message;
  out.fix = built_with_uring() ? "a container may forbid it: allow its calls, or sysctl kernel.io_uring_disabled=0"
                               : "apt-get install liburing-dev, then build again";
  return out;
}

measure::Need xxhash_need() {
#ifdef TRUNKLINE_HAS_XXHASH
  return {"xxhash", "storage.checkpoint", true, "built in", {}};
#else
  return {"xxhash", "storage.checkpoint", false, "built without it", "apt-get install libxxhash-dev, then build again"};
#endif
}

}  // namespace

measure::Backend backend() {
  measure::Backend out;
  out.name = "storage";
  out.options = storage_options();
  out.probes = [] {
    measure::Probes probes;
    probes.push_back(write_probe());
    probes.push_back(read_probe());
    probes.push_back(random_read_probe());
    probes.push_back(checkpoint_probe());
    return probes;
  };
  out.needs = [] { return std::vector<measure::Need>{uring_need(), xxhash_need()}; };
  return out;
}

}  // namespace trunkline::backends::storage
