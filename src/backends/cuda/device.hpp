// The GPUs that CUDA shows, and what each can do at most. Internal to the backends that stand on CUDA.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "base/units.hpp"
#include "catalog/gpu.hpp"
#include "measure/result.hpp"
#include "measure/settings.hpp"

namespace trunkline::backends::cuda {

struct Gpu {
  int index = 0;          // as CUDA counts
  std::string name, pci;  // "NVIDIA H200", "0000:18:00.0"
  int sms = 0;
  int capability = 0;  // 90
  Bytes l2, memory;
  const catalog::Gpu* part = nullptr;  // nullptr: the catalogue does not know it

  std::string label() const;  // "gpu0", as in the names of metrics
};

// All visible GPUs, or the one that --gpu names. Makes sure that each still answers: after a fault of a GPU no later call of this
// process can use it, and that is said instead of failing somewhere.
Result<std::vector<Gpu>> gpus(const measure::Settings& settings);

Result<void> use(const Gpu& gpu);  // for the calls of this thread that follow

// What the hardware can give, and how that is known.
struct Limit {
  double value = 0;
  std::string source;
};
std::optional<Limit> memory_limit(const Gpu& gpu);
std::optional<Limit> matrix_limit(const Gpu& gpu, catalog::Precision precision);
std::optional<Limit> host_limit(const Gpu& gpu);                   // one direction
std::optional<Limit> peer_limit(const Gpu& gpu, const Gpu& peer);  // one direction

measure::Metric metric(std::string name, std::string unit, measure::Better better, const std::optional<Limit>& limit = {});

// While it lives, this thread runs on the CPUs beside the GPU, so that pinned memory that it asks for lies beside it.
class Beside {
 public:
  explicit Beside(const Gpu& gpu);
  ~Beside();
  Beside(const Beside&) = delete;
  Beside& operator=(const Beside&) = delete;

 private:
  std::vector<int> before_;
};

// "0-3,8" → 0 1 2 3 8; what cannot be read is left out.
std::vector<int> cpus_in(const std::string& list);

}  // namespace trunkline::backends::cuda
